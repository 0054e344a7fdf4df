// Writes what the planner decided into the program.
//
//   store:  mov tmud, v ; ldunif o ; add tmuau, base, o ; ... ; thrsw ; tmuwt
//   fill:   ldunif o ; add tmuau, base, o ; ... ; thrsw ; ldtmu v ; ...
//
// Several of one kind at one place share the thread switch. A slot is 64 bytes, a word for each lane:
//   base = tidx * spill_size_per_thread + eidx * 4 + spill_offset
#include "v3d/spill_plan.hpp"

#include <algorithm>

namespace lanewise::v3d::spilling {

namespace {

constexpr std::uint32_t per_quad_word =
    0xffffff7fu; // 32-bit word, regular access, per quad: helper lanes take part
constexpr std::uint32_t slot_bytes = 64;

class Writer {
 public:
  Writer(Program& p, Plan plan, const std::vector<Remat>& remat, const SpillOptions& o, SpillResult& r)
      : p_(p), plan_(std::move(plan)), remat_(remat), o_(o), r_(r), original_(p.blocks) {}

  void run() {
    for (auto& list : plan_.insertions) {
      // At one place: stores free registers, then fills, then what is made again.
      std::ranges::stable_sort(list, [](const Insertion& a, const Insertion& b) {
        return a.index != b.index ? a.index < b.index : a.kind < b.kind;
      });
      const auto same = [](const Insertion& a, const Insertion& b) {
        return a.index == b.index && a.kind == b.kind && a.temp == b.temp && a.kind == Insertion::store;
      };
      list.erase(std::unique(list.begin(), list.end(), same), list.end());
    }
    drop_unread_stores();
    assign_slots();
    if (r_.spills + r_.fills != 0) {
      base_ = p_.temp_count++;
    }
    for (std::uint32_t b = 0; b < p_.blocks.size(); ++b) {
      write(b);
    }
    if (base_ != no_index) {
      write_base();
    }
  }

 private:
  // Slots live backwards: a fill reads, a store ends. Also tells, for the sharing of slots, who meets whom.
  void drop_unread_stores() {
    number_.assign(plan_.is_stored.size(), no_index);
    for (std::uint32_t t = 0; t < plan_.is_stored.size(); ++t) {
      if (plan_.is_stored[t] != 0) {
        number_[t] = static_cast<std::uint32_t>(stored_.size());
        stored_.push_back(t);
      }
    }
    const std::size_t n = stored_.size(), count = p_.blocks.size();
    live_in_.assign(count, std::vector<char>(n));
    for (bool changed = n != 0; changed;) {
      changed = false;
      for (std::size_t b = count; b-- > 0;) {
        std::vector<char> live = live_out(b);
        for (auto it = plan_.insertions[b].rbegin(); it != plan_.insertions[b].rend(); ++it) {
          if (it->kind != Insertion::remat) {
            live[number_[it->temp]] = it->kind == Insertion::fill;
          }
        }
        changed = changed || live != live_in_[b];
        live_in_[b] = std::move(live);
      }
    }
    for (std::size_t b = 0; b < count && n != 0; ++b) {
      std::vector<char> live = live_out(b);
      auto& list = plan_.insertions[b];
      std::vector<Insertion> kept;
      for (auto it = list.rbegin(); it != list.rend(); ++it) {
        if (it->kind == Insertion::remat) {
          kept.push_back(*it);
          continue;
        }
        char& l = live[number_[it->temp]];
        if (it->kind == Insertion::fill || l != 0) {
          kept.push_back(*it);
          count_access(b, it->kind);
        }
        l = it->kind == Insertion::fill;
      }
      std::ranges::reverse(kept);
      list = std::move(kept);
    }
  }

  std::vector<char> live_out(std::size_t b) const {
    std::vector<char> live(stored_.size());
    for (const std::uint32_t s : p_.blocks[b].succs) {
      for (std::size_t k = 0; k < live.size(); ++k) {
        live[k] |= live_in_[s][k];
      }
    }
    return live;
  }

  void count_access(std::size_t b, Insertion::Kind kind) {
    (kind == Insertion::store ? r_.spills : r_.fills) += 1;
    unsigned weight = 1;
    for (unsigned d = 0; d < std::min(p_.blocks[b].loop_depth, 6u); ++d) {
      weight *= 10;
    }
    r_.weighted += weight;
  }

  // Slots whose contents are never needed at the same time are one: greedy colouring of that graph.
  void assign_slots() {
    const std::size_t n = stored_.size();
    slot_.assign(n, no_index);
    std::vector<std::vector<char>> meets(n, std::vector<char>(n));
    for (std::size_t b = 0; b < p_.blocks.size() && n != 0; ++b) {
      std::vector<char> live = live_out(b);
      const auto all = [&](std::size_t k) {
        for (std::size_t m = 0; m < n; ++m) {
          if (live[m] != 0 && m != k) {
            meets[k][m] = meets[m][k] = 1;
          }
        }
      };
      for (std::size_t k = 0; k < n; ++k) {
        if (live[k] != 0) {
          all(k);
        }
      }
      for (auto it = plan_.insertions[b].rbegin(); it != plan_.insertions[b].rend(); ++it) {
        if (it->kind == Insertion::remat) {
          continue;
        }
        const std::size_t k = number_[it->temp];
        all(k);
        live[k] = it->kind == Insertion::fill;
      }
    }
    for (std::size_t k = 0; k < n; ++k) {
      std::vector<char> taken(n + 1);
      for (std::size_t m = 0; m < k; ++m) {
        if (meets[k][m] != 0 || !o_.share_slots) {
          taken[slot_[m]] = 1;
        }
      }
      slot_[k] = static_cast<std::uint32_t>(std::ranges::find(taken, 0) - taken.begin());
      r_.slots = std::max(r_.slots, slot_[k] + 1);
    }
  }

  Inst& emit(std::vector<Inst>& out, Role role) {
    Inst& i = out.emplace_back();
    i.role = role;
    i.alu.dst = {Reg::null};
    return i;
  }

  void alu(std::vector<Inst>& out, Role role, Op op, Reg dst, Reg a, Reg b = {}) {
    Inst& i = emit(out, role);
    i.alu.op = op;
    i.alu.dst = dst;
    i.alu.src[0].reg = a;
    i.alu.src[1].reg = b;
  }

  Reg uniform(std::vector<Inst>& out, Role role, std::uint32_t u) {
    Inst& i = emit(out, role);
    i.sigs = sig::ldunif;
    i.sig_dst = temp(p_.temp_count++);
    i.uniform = u;
    return i.sig_dst;
  }

  void address(std::vector<Inst>& out, Role role, std::uint32_t t) {
    const Reg o = uniform(out, role, intern_literal(p_, slot_[number_[t]] * slot_bytes));
    alu(out, role, Op::add, peripheral(magic::tmuau), temp(base_), o);
    out.back().uniform = intern_literal(p_, per_quad_word);
    out.back().origin = slot_[number_[t]];
  }

  void thread_switch(std::vector<Inst>& out, Role role) {
    emit(out, role).sigs = sig::thrsw;
    ++r_.switches;
  }

  void write_stores(std::vector<Inst>& out, const std::vector<std::uint32_t>& temps) {
    for (const std::uint32_t t : temps) {
      alu(out, Role::store, Op::mov, peripheral(magic::tmud), temp(t));
      address(out, Role::store, t);
    }
    thread_switch(out, Role::store);
    alu(out, Role::store, Op::tmuwt, {Reg::null}, {});
  }

  void write_fills(std::vector<Inst>& out, const std::vector<std::uint32_t>& temps) {
    for (const std::uint32_t t : temps) {
      address(out, Role::fill, t);
    }
    thread_switch(out, Role::fill);
    for (const std::uint32_t t : temps) {
      Inst& i = emit(out, Role::fill);
      i.sigs = sig::ldtmu;
      i.sig_dst = temp(t);
      i.origin = slot_[number_[t]];
    }
  }

  void write(std::uint32_t b) {
    const auto& list = plan_.insertions[b];
    if (list.empty()) {
      return;
    }
    const auto& old = original_[b].insts;
    std::vector<Inst> out;
    std::size_t k = 0;
    // The TMU's output FIFO holds 16 words for all threads, and at most 8 operations queue.
    const std::size_t most = o_.batch ? std::min<std::size_t>(8, 16 / p_.threads) : 1;
    const auto group = [&](std::uint32_t index, Insertion::Kind kind, auto&& write) {
      while (k < list.size() && list[k].index == index && list[k].kind == kind) {
        std::vector<std::uint32_t> temps;
        while (temps.size() < most && k < list.size() && list[k].index == index && list[k].kind == kind) {
          temps.push_back(list[k++].temp);
        }
        write(temps);
      }
    };
    for (std::uint32_t n = 0; n <= old.size(); ++n) {
      group(n, Insertion::store, [&](const auto& t) { write_stores(out, t); });
      group(n, Insertion::fill, [&](const auto& t) { write_fills(out, t); });
      for (; k < list.size() && list[k].index == n; ++k) {
        const Remat& r = remat_[list[k].temp];
        out.push_back(original_[r.block].insts[r.index]);
        out.back().role = Role::remat;
        ++r_.remats;
      }
      if (n < old.size()) {
        out.push_back(old[n]);
      }
    }
    p_.blocks[b].insts = std::move(out);
  }

  void write_base() {
    std::vector<Inst> out;
    constexpr Role role = Role::spill_base;
    const auto fresh = [&] { return temp(p_.temp_count++); };
    const Reg thread = fresh(), lane = fresh(), product = fresh(), bytes = fresh(), sum = fresh();
    alu(out, role, Op::tidx, thread, {});
    const Reg size = uniform(out, role, intern_uniform(p_, "spill_size_per_thread"));
    alu(out, role, Op::multop, {Reg::null}, thread, size);
    alu(out, role, Op::umul24, product, thread, size);
    alu(out, role, Op::eidx, lane, {});
    alu(out, role, Op::shl, bytes, lane, {Reg::imm, 2});
    alu(out, role, Op::add, sum, product, bytes);
    const Reg offset = uniform(out, role, intern_uniform(p_, "spill_offset"));
    alu(out, role, Op::add, temp(base_), sum, offset);
    auto& first = p_.blocks[0].insts;
    first.insert(first.begin(), out.begin(), out.end());
  }

  Program& p_;
  Plan plan_;
  const std::vector<Remat>& remat_;
  const SpillOptions& o_;
  SpillResult& r_;
  std::vector<Block> original_;
  std::vector<std::uint32_t> number_, stored_, slot_;
  std::vector<std::vector<char>> live_in_;
  std::uint32_t base_ = no_index;
};

} // namespace

void write_plan(Program& p, Plan plan, const std::vector<Remat>& remat, const SpillOptions& options,
                SpillResult& result) {
  Writer(p, std::move(plan), remat, options, result).run();
}

} // namespace lanewise::v3d::spilling
