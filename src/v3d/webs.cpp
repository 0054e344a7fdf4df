// Webs: definitions that reach a common use share a name, others get their own.
#include "v3d/spill.hpp"

#include <algorithm>
#include <numeric>

namespace lanewise::v3d {

namespace {

class Webs {
 public:
  explicit Webs(Program& p) : p_(p), l_(analyse_liveness(p)), current_(p.temp_count, no_index) {}

  void run() {
    // Nodes of the names live into each block stand first, so that predecessors can be joined at the end.
    entry_.resize(p_.blocks.size());
    for (std::size_t b = 0; b < p_.blocks.size(); ++b) {
      for (const std::uint32_t n : l_.live_in[b]) {
        entry_[b].push_back(l_.names.is_temp(n) ? make(n) : no_index);
      }
    }
    for (std::size_t b = 0; b < p_.blocks.size(); ++b) {
      walk(b);
    }
    rename();
  }

 private:
  std::uint32_t make(std::uint32_t) {
    parent_.push_back(static_cast<std::uint32_t>(parent_.size()));
    return parent_.back();
  }

  std::uint32_t find(std::uint32_t n) {
    while (parent_[n] != n) {
      n = parent_[n] = parent_[parent_[n]];
    }
    return n;
  }

  void walk(std::size_t b) {
    std::vector<std::uint32_t> touched;
    const auto set = [&](std::uint32_t name, std::uint32_t node) {
      current_[name] = node;
      touched.push_back(name);
    };
    for (std::size_t k = 0; k < entry_[b].size(); ++k) {
      if (entry_[b][k] != no_index) {
        set(l_.live_in[b][k], entry_[b][k]);
      }
    }
    for (Inst& i : p_.blocks[b].insts) {
      for_sources(i, [&](Src& s) {
        if (s.reg.kind == Reg::temp) {
          if (current_[s.reg.index] == no_index) {
            set(s.reg.index, make(s.reg.index)); // read without a definition
          }
          uses_.push_back(current_[s.reg.index]);
        }
      });
      const auto define = [&](Reg& r, bool partial) {
        if (r.kind != Reg::temp) {
          return;
        }
        if (!partial || current_[r.index] == no_index) {
          set(r.index, make(r.index));
        }
        uses_.push_back(current_[r.index]);
      };
      define(i.alu.dst, is_partial(i.alu));
      define(i.sig_dst, false);
    }
    for (const std::uint32_t s : p_.blocks[b].succs) {
      for (std::size_t k = 0; k < entry_[s].size(); ++k) {
        if (entry_[s][k] != no_index && current_[l_.live_in[s][k]] != no_index) {
          parent_[find(current_[l_.live_in[s][k]])] = find(entry_[s][k]);
        }
      }
    }
    for (const std::uint32_t n : touched) {
      current_[n] = no_index;
    }
  }

  // The operands are visited in the order in which walk() numbered them.
  void rename() {
    std::vector<std::uint32_t> number(parent_.size(), no_index);
    std::uint32_t count = 0;
    std::size_t at = 0;
    const auto rename = [&](Reg& r) {
      if (r.kind != Reg::temp) {
        return;
      }
      std::uint32_t& n = number[find(uses_[at++])];
      n = n == no_index ? count++ : n;
      r.index = n;
    };
    for (Block& b : p_.blocks) {
      for (Inst& i : b.insts) {
        for_sources(i, [&](Src& s) { rename(s.reg); });
        rename(i.alu.dst);
        rename(i.sig_dst);
      }
    }
    p_.temp_count = count;
  }

  Program& p_;
  Liveness l_;
  std::vector<std::uint32_t> current_, parent_, uses_;
  std::vector<std::vector<std::uint32_t>> entry_;
};

// An instruction that only computes a temporary that nobody reads.
bool is_removable(const Inst& i) {
  constexpr std::uint32_t loads = sig::ldunif | sig::ldunifrf;
  if (i.is_branch || (i.sigs & ~loads) != 0 || writes_flags(i.alu)) {
    return false;
  }
  if ((i.sigs & loads) != 0) {
    return i.alu.op == Op::nop;
  }
  constexpr std::uint16_t effects =
      vpm_load | vpm_store | tmu_wait | vpm_wait | tsy | touches_msf | writes_rtop;
  return i.alu.dst.kind == Reg::temp && (info(i.alu.op).properties & effects) == 0;
}

void remove_dead(Program& p) {
  std::vector<std::uint32_t> uses(p.temp_count);
  for (const Block& b : p.blocks) {
    for (const Inst& i : b.insts) {
      for (unsigned s = 0; s < source_count(i.alu); ++s) {
        if (i.alu.src[s].reg.kind == Reg::temp) {
          ++uses[i.alu.src[s].reg.index];
        }
      }
    }
  }
  for (Block& b : p.blocks) {
    std::vector<char> dead(b.insts.size());
    for (std::size_t n = b.insts.size(); n-- > 0;) {
      const Inst& i = b.insts[n];
      const Reg& d = i.sig_dst.kind == Reg::temp ? i.sig_dst : i.alu.dst;
      if (d.kind == Reg::temp && uses[d.index] == 0 && is_removable(i)) {
        dead[n] = 1;
        for_sources(i, [&](const Src& s) {
          if (s.reg.kind == Reg::temp) {
            --uses[s.reg.index];
          }
        });
      }
    }
    std::size_t kept = 0;
    for (std::size_t n = 0; n < b.insts.size(); ++n) {
      if (dead[n] == 0) {
        b.insts[kept++] = b.insts[n];
      }
    }
    b.insts.resize(kept);
  }
}

} // namespace

void split_webs(Program& p) {
  remove_dead(p);
  Webs(p).run();
}

} // namespace lanewise::v3d
