#include "v3d/depend.hpp"

#include <algorithm>

namespace lanewise::v3d {

namespace {

// Things other than registers that instructions read and write; they follow the registers' names.
enum Resource : std::uint32_t { flags, rtop, tmu, tlb, vpm, msf, varying, resource_count };

constexpr std::uint8_t tmu_latency = 100, sfu_latency = 2;

struct Access {
  std::uint32_t name;
  bool writes;
};

class Builder {
 public:
  Builder(Gpu gpu, const std::vector<Inst>& insts, std::uint32_t temps, const Relaxed& relaxed)
      : gpu_(gpu), insts_(insts) {
    names_.temps = temps;
    const auto ignore = [&](bool is_relaxed, Resource r) {
      if (is_relaxed) {
        ignored_.push_back(names_.count() + r);
      }
    };
    ignore(relaxed.flags, flags);
    ignore(relaxed.rtop, rtop);
    ignore(relaxed.tmu, tmu);
    stores_commute_ = relaxed.vpm_stores;
    if (relaxed.coefficient) {
      ignored_.push_back(names_.of(implicit_reg(gpu)));
    }
    last_edge_.assign(insts.size(), no_index);
    edges_.reserve(insts.size() * 4);
    graph_.pred_count.resize(insts.size());
  }

  DependenceGraph run() {
    // The block's own numbering of what it touches: a block costs what it is long, not what the program has
    // names.
    for (const Inst& i : insts_) {
      collect_all(i);
      for (const Access& a : accesses_) {
        touched_.push_back(a.name);
      }
    }
    std::ranges::sort(touched_);
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    writer_.assign(touched_.size(), no_index);
    readers_.resize(touched_.size());
    for (std::uint32_t n = 0; n < insts_.size(); ++n) {
      collect_all(insts_[n]);
      // Reads first: an instruction's own write does not order its reads.
      for (const Access& a : accesses_) {
        if (!a.writes) {
          read(n, a.name);
        }
      }
      for (const Access& a : accesses_) {
        if (a.writes) {
          write(n, a.name);
        }
      }
      if (insts_[n].is_branch) {
        for (std::uint32_t m = 0; m < n; ++m) {
          add(m, n, Dependence::reuse, 0, 0);
        }
      }
    }
    graph_.succs = Groups<Edge>(
        insts_.size(), edges_, [](const auto& e) { return e.first; }, [](const auto& e) { return e.second; });
    return std::move(graph_);
  }

 private:
  [[nodiscard]] std::size_t slot(std::uint32_t name) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(touched_, name) - touched_.begin());
  }

  void collect_all(const Inst& i) {
    accesses_.clear();
    collect(i);
    if (!ignored_.empty()) {
      std::erase_if(accesses_,
                    [&](const Access& a) { return std::ranges::find(ignored_, a.name) != ignored_.end(); });
    }
  }

  void collect(const Inst& i) {
    for_uses(names_, i, [&](std::uint32_t u) { accesses_.push_back({u, false}); });
    for (const Definition& d : definitions(gpu_, names_, i)) {
      if (d.partial) {
        accesses_.push_back({d.name, false});
      }
      accesses_.push_back({d.name, true});
    }
    const auto touch = [&](Resource r, bool writes) { accesses_.push_back({names_.count() + r, writes}); };
    const Alu& a = i.alu;
    if (reads_flags_of(a) || (i.is_branch && i.branch.cond != BranchCond::always)) {
      touch(flags, false);
    }
    if (writes_flags(a)) {
      touch(flags, true);
    }
    if (has(a.op, reads_rtop)) {
      touch(rtop, false);
    }
    if (has(a.op, writes_rtop)) {
      touch(rtop, true);
    }
    // Inputs and outputs lie in one space: loads keep in front of stores.
    if (has(a.op, vpm_load)) {
      touch(vpm, false);
    }
    if (has(a.op, vpm_store) || has(a.op, vpm_wait)) {
      touch(vpm, true);
    }
    if (has(a.op, touches_msf)) {
      touch(msf, true);
    }
    if (has(a.op, tmu_wait) || (i.sigs & (sig::ldtmu | sig::wrtmuc)) != 0) {
      touch(tmu, true);
    }
    if ((i.sigs & sig::ldvary) != 0) {
      touch(varying, true);
    }
    if (a.dst.kind == Reg::magic) {
      const auto address = static_cast<std::uint8_t>(a.dst.index);
      if (is_tmu_write(address)) {
        touch(tmu, true);
      } else {
        touch(tlb, true);
        touch(msf, false);
      }
    }
    if (i.is_branch && i.branch.msfign != Msfign::none) {
      touch(msf, false);
    }
    if ((i.sigs & sig::thrsw) != 0) {
      for (const Resource r : {rtop, tmu, tlb}) {
        touch(r, true);
      }
      // What the switch destroys or the hardware wants settled before it.
      const auto lost = [&](std::uint32_t name) { accesses_.push_back({name, true}); };
      if (gpu_ == Gpu::v42) {
        for (std::uint32_t r = 0; r < 6; ++r) {
          lost(names_.of(acc(r)));
        }
      }
    }
  }

  static bool is_tmu_write_of(const Inst& i, bool (*is)(std::uint8_t)) {
    return i.alu.dst.kind == Reg::magic && is(static_cast<std::uint8_t>(i.alu.dst.index));
  }

  // The coefficient of an ldvary arrives a word after its result.
  [[nodiscard]] bool is_coefficient(std::uint32_t writer, std::uint32_t name) const {
    return (insts_[writer].sigs & sig::ldvary) != 0 && name == names_.of(implicit_reg(gpu_));
  }

  [[nodiscard]] bool is_tmu(std::uint32_t name) const { return name == names_.count() + tmu; }

  static std::uint8_t latency(const Inst& from, const Inst& to) {
    if ((from.sigs & sig::thrsw) != 0 && (to.sigs & sig::ldtmu) != 0) {
      return tmu_latency;
    }
    return has(from.alu.op, sfu) ? sfu_latency : std::uint8_t{1};
  }

  // Loads, then stores in any order: all loads so far before a store, all stores so far before a load.
  bool commuting(std::uint32_t n, std::uint32_t name, bool writes) {
    if (!stores_commute_ || name != names_.count() + vpm || has(insts_[n].alu.op, vpm_wait)) {
      return false;
    }
    const std::size_t at = slot(name);
    for (const std::uint32_t m : writes ? readers_[at] : stores_) {
      add(m, n, Dependence::output, 1, 1);
    }
    if (writer_[at] != no_index) {
      add(writer_[at], n, Dependence::output, 1, 1);
    }
    (writes ? stores_ : readers_[at]).push_back(n);
    return true;
  }

  void read(std::uint32_t n, std::uint32_t name) {
    if (commuting(n, name, false)) {
      return;
    }
    const std::size_t at = slot(name);
    if (writer_[at] != no_index) {
      const std::uint32_t w = writer_[at];
      const std::uint8_t least = is_coefficient(w, name) ? 2 : 1;
      add(w, n, Dependence::result, std::max(least, latency(insts_[w], insts_[n])), least);
    }
    readers_[at].push_back(n);
  }

  void write(std::uint32_t n, std::uint32_t name) {
    if (commuting(n, name, true)) {
      return;
    }
    if (stores_commute_ && name == names_.count() + vpm) {
      for (const std::uint32_t m : stores_) {
        add(m, n, Dependence::output, 1, 1);
      }
      stores_.clear();
    }
    const std::size_t at = slot(name);
    for (const std::uint32_t r : readers_[at]) {
      add(r, n, Dependence::reuse, 0, 0);
    }
    readers_[at].clear();
    if (writer_[at] != no_index) {
      const std::uint32_t w = writer_[at];
      // The parts of a TMU sequence may share words; what follows the last of them may not.
      if (is_tmu(name) && !is_tmu_write_of(insts_[w], is_tmu_trigger) && (insts_[w].sigs & sig::thrsw) == 0) {
        add(w, n, Dependence::reuse, 0, 0);
      } else if (is_tmu(name) && (insts_[n].sigs & sig::thrsw) != 0) {
        add(w, n, Dependence::reuse, 0, 0);
      } else {
        const std::uint8_t least = is_coefficient(w, name) ? 2 : 1;
        add(w, n, Dependence::output, std::max(least, latency(insts_[w], insts_[n])), least);
      }
    }
    writer_[at] = n;
  }

  void add(std::uint32_t from, std::uint32_t to, Dependence kind, std::uint8_t latency,
           std::uint8_t at_least) {
    if (from == to) {
      return;
    }
    // One edge for each pair: the strictest, which comes first in the order result, output, reuse.
    std::uint32_t& last = last_edge_[from];
    if (last != no_index && edges_[last].second.to == to) {
      Edge& e = edges_[last].second;
      e.kind = std::min(e.kind, kind);
      e.latency = std::max(e.latency, latency);
      e.at_least = std::max(e.at_least, at_least);
      return;
    }
    last = static_cast<std::uint32_t>(edges_.size());
    edges_.push_back({from, {to, kind, latency, at_least}});
    ++graph_.pred_count[to];
  }

  Gpu gpu_;
  const std::vector<Inst>& insts_;
  Names names_;
  std::vector<std::uint32_t> touched_, writer_, last_edge_;
  std::vector<std::pair<std::uint32_t, Edge>> edges_;
  std::vector<std::vector<std::uint32_t>> readers_;
  std::vector<Access> accesses_;
  std::vector<std::uint32_t> ignored_, stores_;
  bool stores_commute_ = false;
  DependenceGraph graph_;
};

} // namespace

DependenceGraph build_dependences(Gpu gpu, const std::vector<Inst>& insts, std::uint32_t temp_count,
                                  const Relaxed& relaxed) {
  return Builder(gpu, insts, temp_count, relaxed).run();
}

} // namespace lanewise::v3d
