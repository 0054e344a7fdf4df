// Where thread switches, branches and the end of the program are set, and what fills their slots.
#include "v3d/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::v3d::scheduling {

bool Scheduler::can_carry(std::uint32_t at, std::uint32_t s) const {
  QpuWord w = q_.words[at];
  if (w.word.is_branch || (w.word.sigs & sig::thrsw) != 0) {
    return false;
  }
  std::uint32_t imms = 0;
  constexpr std::array flags{sig::imm_a, sig::imm_b, sig::imm_c, sig::imm_d};
  unsigned operand = 0;
  for (const Alu* a : {&w.word.add, &w.word.mul}) {
    for (unsigned k = 0; k < 2; ++k, ++operand) {
      if (k < source_count(*a) && a->src[k].reg.kind == Reg::imm) {
        imms |= p_.gpu == Gpu::v42 ? sig::imm_b : flags[operand];
      }
    }
  }
  return signal_code(p_.gpu, w.word.sigs | s | imms).has_value();
}

void Scheduler::place_switch(std::uint32_t n) {
  const bool is_last = last_.block == block_ && last_.index == n;
  std::uint32_t at = now();
  for (unsigned up = 1; up <= 3 && at_or_after_start(up); ++up) {
    const std::uint32_t k = now() - up;
    bool ok = (switch_at_ == never || k >= switch_at_ + 3) && can_carry(k, sig::thrsw) && !in_branch_slots(k);
    for (std::uint32_t s = k + 1; s < now(); ++s) {
      ok = ok && valid_in_switch_slot(p_.gpu, q_.words[s].word, s - k);
    }
    if (is_last && up >= 2) {
      ok = ok && can_carry(k + 1, sig::thrsw);
    }
    if (ok) {
      at = k;
    }
  }
  if (at == now()) {
    while (switch_at_ != never && now() < switch_at_ + 3) {
      nop();
    }
    at = now();
    append({});
  }
  q_.words[at].word.sigs |= sig::thrsw;
  switch_at_ = at;
  if (is_last) {
    if (at + 1 < now()) {
      q_.words[at + 1].word.sigs |= sig::thrsw;
    } else {
      force_switch_ = at + 1;
    }
  }
  for (const Edge& e : graph_.succs[n]) {
    Node& to = nodes_[e.to];
    to.earliest = std::max(to.earliest, at + 3);
    if (--to.waiting == 0) {
      ready_.push_back(e.to);
    }
  }
}

bool Scheduler::at_or_after_start(unsigned up) const { return now() >= block_start_ + up; }

bool Scheduler::in_branch_slots(std::uint32_t k) const {
  for (std::uint32_t back = 1; back <= 3 && back <= k; ++back) {
    if (q_.words[k - back].word.is_branch) {
      return true;
    }
  }
  return false;
}

void Scheduler::drain_switch() {
  while (switch_at_ != never && now() < switch_at_ + 3) {
    nop();
  }
}

void Scheduler::branch(const Inst& i) {
  WordBuilder w(p_.gpu);
  (void)w.add(i);
  QpuWord b = w.word();
  b.target = p_.blocks[block_].succs.front();
  std::uint32_t at = now();
  for (unsigned up = 1; up <= 3 && at_or_after_start(up); ++up) {
    const std::uint32_t k = now() - up;
    if (!valid_in_branch_slot(q_.words[k].word, q_.words[k].uniform) ||
        (switch_at_ != never && k < switch_at_ + 3)) {
      break;
    }
    at = k;
  }
  while (p_.gpu == Gpu::v42 && i.branch.msfign != Msfign::none && at > block_start_ &&
         has(q_.words[at - 1].word.add.op, touches_msf)) {
    nop();
    at = now();
  }
  q_.words.insert(q_.words.begin() + at, b);
  while (now() < at + 4) {
    nop();
  }
}

void Scheduler::finish_program() {
  const std::uint32_t earliest = switch_at_ == never ? 0 : switch_at_ + 3;
  for (unsigned behind = 2;; --behind) {
    const std::uint32_t count = now();
    // The thrsw stands `behind` words before the present end; nops make up the rest.
    if (count >= behind + 1) {
      const std::uint32_t k = count - behind - 1;
      bool ok = k >= std::max(earliest, block_start_) && can_carry(k, sig::thrsw) && !in_branch_slots(k);
      for (std::uint32_t s = k; ok && s < count; ++s) {
        ok = valid_at_end(p_.gpu, q_.words[s].word, q_.words[s].uniform, s - k);
      }
      if (ok) {
        q_.words[k].word.sigs |= sig::thrsw;
        while (now() < k + 3) {
          append({});
        }
        return;
      }
    }
    if (behind == 0) {
      break;
    }
  }
  while (now() < earliest || in_branch_slots(now())) {
    append({});
  }
  append({});
  q_.words.back().word.sigs |= sig::thrsw;
  append({});
  append({});
}

Expected<void> Scheduler::resolve() {
  std::vector<std::uint32_t> uniforms_before(q_.words.size() + 1);
  for (std::size_t n = 0; n < q_.words.size(); ++n) {
    uniforms_before[n + 1] = uniforms_before[n] + (q_.words[n].uniform != no_index ? 1 : 0);
  }
  for (std::uint32_t n = 0; n < q_.words.size(); ++n) {
    QpuWord& w = q_.words[n];
    if (w.word.is_branch) {
      const std::uint32_t to = q_.block_starts[w.target];
      w.word.branch.offset = static_cast<std::int32_t>(to - (n + 4)) * 8;
      const auto distance = static_cast<std::int32_t>(uniforms_before[to] - uniforms_before[n + 1]) * 4;
      q_.stream.push_back({w.uniform, distance});
    } else if (w.uniform != no_index) {
      q_.stream.push_back({w.uniform, 0});
    }
    const auto bits = pack(p_.gpu, w.word);
    if (!bits) {
      return fail(ErrorKind::unsupported, bits.error().what,
                  fmt::format("word {}: {}", n, to_text(p_.gpu, w.word)));
    }
    q_.bits.push_back(*bits);
  }
  return {};
}

} // namespace lanewise::v3d::scheduling
