// Where a thread switch may stand: not where rtop or ldvary's coefficient are live, not inside a TMU sequence
// or while results are to come, not behind the last thread switch. Flags survive a switch from 4.2 on.
#include "v3d/spill.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::v3d {

namespace {

// Words that a sequence will return when its last write happens; configuration words and general accesses.
class Tmu {
 public:
  explicit Tmu(const Program& p) : p_(p) {}

  void step(const Inst& i) {
    if ((i.sigs & sig::wrtmuc) != 0) {
      if (configs_++ == 0) {
        words_ = static_cast<unsigned>(std::popcount(p_.uniforms[i.uniform].returned));
      }
    }
    if (i.alu.dst.kind == Reg::magic && is_tmu_write(static_cast<std::uint8_t>(i.alu.dst.index))) {
      write(i);
    }
    if ((i.sigs & sig::ldtmu) != 0 && outstanding_ > 0) {
      --outstanding_;
    }
  }

  [[nodiscard]] bool idle() const { return outstanding_ == 0 && !open_ && configs_ == 0; }

 private:
  void write(const Inst& i) {
    const auto address = static_cast<std::uint8_t>(i.alu.dst.index);
    open_ = true;
    has_data_ = has_data_ || address == magic::tmud;
    if (!is_tmu_trigger(address)) {
      return;
    }
    if (address == magic::tmua || address == magic::tmuau) {
      const std::uint32_t config = i.uniform != no_index ? p_.uniforms[i.uniform].value : ~0u;
      const std::uint32_t type = config & 7;
      const bool returns = !has_data_ || (config >> 3 & 15) != 15;
      outstanding_ += !returns ? 0 : !has_data_ && type >= 2 && type <= 4 ? type : 1;
    } else {
      outstanding_ += words_;
    }
    open_ = has_data_ = false;
    configs_ = 0;
  }

  const Program& p_;
  unsigned outstanding_ = 0, configs_ = 0, words_ = 0;
  bool open_ = false, has_data_ = false;
};

} // namespace

Place last_switch(const Program& p) {
  // The last thread switch stands outside loops and conditions; in layout order it is the last of all.
  Place r;
  for (std::uint32_t b = 0; b < p.blocks.size(); ++b) {
    for (std::uint32_t n = 0; n < p.blocks[b].insts.size(); ++n) {
      if ((p.blocks[b].insts[n].sigs & sig::thrsw) != 0 && p.blocks[b].insts[n].role == Role::program) {
        r = {b, n};
      }
    }
  }
  return r;
}

namespace {

// Every path from the entry to an end passes the block, and passes it once.
bool is_on_every_path(const Program& p, std::uint32_t block) {
  if (p.blocks[block].loop_depth != 0) {
    return false;
  }
  if (block == 0 || p.blocks[block].succs.empty()) {
    return true;
  }
  std::vector<char> seen(p.blocks.size());
  std::vector<std::uint32_t> work{0};
  while (!work.empty()) {
    const std::uint32_t b = work.back();
    work.pop_back();
    if (b == block || seen[b] != 0) {
      continue;
    }
    if (p.blocks[b].succs.empty()) {
      return false;
    }
    seen[b] = 1;
    work.insert(work.end(), p.blocks[b].succs.begin(), p.blocks[b].succs.end());
  }
  return true;
}

} // namespace

void drop_needless_switch(Program& p) {
  const Place last = last_switch(p);
  if (last.block == no_index) {
    return;
  }
  const Inst kept = p.blocks[last.block].insts[last.index];
  if (kept.alu.op != Op::nop || kept.sigs != sig::thrsw) {
    return;
  }
  auto& insts = p.blocks[last.block].insts;
  insts.erase(insts.begin() + last.index);
  const Place before = last_switch(p);
  const bool starts_behind = p.stage != Stage::fragment;
  const bool needless = before.block == no_index ? starts_behind : is_on_every_path(p, before.block);
  if (!needless) {
    insts.insert(insts.begin() + last.index, kept);
  }
}

std::vector<std::vector<char>> switch_places(const Program& p) {
  std::vector<std::vector<char>> ok(p.blocks.size());
  // Behind the last switch nothing may switch again.
  const Place last = last_switch(p);
  std::vector<char> is_late(p.blocks.size());
  if (last.block != no_index) {
    std::vector<std::uint32_t> work(p.blocks[last.block].succs);
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      if (is_late[b] == 0) {
        is_late[b] = 1;
        work.insert(work.end(), p.blocks[b].succs.begin(), p.blocks[b].succs.end());
      }
    }
  }
  Tmu tmu(p);
  const Names names{p.temp_count};
  const std::uint32_t coefficient = names.of(implicit_reg(p.gpu));
  for (std::size_t b = 0; b < p.blocks.size(); ++b) {
    const auto& insts = p.blocks[b].insts;
    auto& places = ok[b];
    places.assign(insts.size() + 1, 1);
    for (std::size_t n = 0; n < insts.size(); ++n) {
      places[n] = tmu.idle() ? 1 : 0;
      tmu.step(insts[n]);
    }
    places[insts.size()] = tmu.idle() ? 1 : 0;
    bool rtop = false, c = false;
    for (std::size_t n = insts.size() + 1; n-- > 0;) {
      if (n < insts.size()) {
        const Inst& i = insts[n];
        rtop = (rtop && !has(i.alu.op, writes_rtop)) || has(i.alu.op, reads_rtop);
        c = c && (i.sigs & sig::ldvary) == 0;
        for_uses(names, i, [&](std::uint32_t u) { c = c || u == coefficient; });
      }
      const bool late = is_late[b] != 0 || (last.block == b && n > last.index);
      places[n] = static_cast<char>(places[n] != 0 && !rtop && !c && !late);
    }
  }
  return ok;
}

} // namespace lanewise::v3d
