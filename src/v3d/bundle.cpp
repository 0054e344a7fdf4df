#include "v3d/bundle.hpp"

#include "v3d/depend.hpp"
#include "v3d/tmu_operations.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

namespace lanewise::v3d {

namespace {

bool reads_b_flags(const Alu& a) {
  return a.cond == Cond::ifb || a.cond == Cond::ifnb || a.op == Op::flbpush || a.op == Op::vflb ||
         a.op == Op::vflnb || a.op == Op::flpop;
}

class Bundler {
 public:
  Bundler(const Program& p, std::uint32_t block, const Liveness& l, const Place& last)
      : p_(p), block_(block), l_(l), insts_(p.blocks[block].insts), parent_(insts_.size()),
        dropped_(insts_.size()) {
    std::iota(parent_.begin(), parent_.end(), 0u);
    last_ = last.block == block ? last.index : no_index;
  }

  Bundles run() {
    group_flags();
    group_products();
    group_coefficients();
    group_lookups();
    Relaxed relaxed;
    relaxed.flags = relaxed.rtop = true;
    relaxed.tmu = own_switches_;
    relaxed.coefficient = coefficients_;
    relaxed.vpm_stores = stores_apart();
    const DependenceGraph graph = build_dependences(p_.gpu, insts_, p_.temp_count, relaxed);
    for (std::uint32_t n = 0; n < insts_.size(); ++n) {
      for (const Edge& e : graph.succs[n]) {
        edge(n, e.to);
      }
    }
    merge_cycles();
    return finish();
  }

 private:
  std::uint32_t find(std::uint32_t n) {
    while (parent_[n] != n) {
      n = parent_[n] = parent_[parent_[n]];
    }
    return n;
  }
  void join(std::uint32_t a, std::uint32_t b) { parent_[find(a)] = find(b); }
  void edge(std::uint32_t from, std::uint32_t to) {
    if (from != to && dropped_[from] == 0 && dropped_[to] == 0) {
      edges_.emplace_back(from, to);
    }
  }

  // A push and its readers. What reads the flags that came into the block is first, what the branch reads is
  // last.
  void group_flags() {
    std::vector<std::uint32_t> heads, entry, group(insts_.size(), no_index);
    for (std::uint32_t n = 0; n < insts_.size(); ++n) {
      const Inst& i = insts_[n];
      const bool reads = reads_flags_of(i.alu) || (i.is_branch && i.branch.cond != BranchCond::always);
      if (reads && heads.empty()) {
        entry.push_back(n);
      }
      if (reads && !heads.empty()) {
        group[n] = static_cast<std::uint32_t>(heads.size()) - 1;
        if (!i.is_branch) {
          join(n, heads.back());
        }
        if (reads_b_flags(i.alu) && heads.size() > 1) {
          join(heads.back(), heads[heads.size() - 2]);
        }
      }
      if (i.alu.push != Push::none) {
        heads.push_back(n);
        group[n] = static_cast<std::uint32_t>(heads.size()) - 1;
      }
    }
    for (const std::uint32_t n : entry) {
      for (const std::uint32_t h : heads) {
        edge(n, h);
      }
    }
    if (heads.empty() || p_.blocks[block_].succs.empty()) {
      return;
    }
    for (std::uint32_t n = 0; n < insts_.size(); ++n) {
      if (group[n] != no_index && group[n] + 1 != heads.size()) {
        edge(n, heads.back());
      }
    }
  }

  void group_products() {
    std::uint32_t head = no_index;
    for (std::uint32_t n = 0; n < insts_.size(); ++n) {
      if (has(insts_[n].alu.op, reads_rtop) && head != no_index) {
        join(n, head);
      }
      if (has(insts_[n].alu.op, writes_rtop)) {
        head = n;
      }
    }
  }

  void group_coefficients() {
    const std::uint32_t c = l_.names.of(implicit_reg(p_.gpu));
    coefficients_ = !std::ranges::binary_search(l_.live_in[block_], c) &&
                    !std::ranges::binary_search(l_.live_out[block_], c);
    for (const Inst& i : insts_) {
      coefficients_ = coefficients_ && l_.names.of(i.alu.dst) != c && l_.names.of(i.sig_dst) != c;
    }
    std::uint32_t head = no_index;
    for (std::uint32_t n = 0; coefficients_ && n < insts_.size(); ++n) {
      for_uses(l_.names, insts_[n], [&](std::uint32_t u) {
        if (u == c && head != no_index) {
          join(n, head);
        }
      });
      if ((insts_[n].sigs & sig::ldvary) != 0) {
        head = n;
      }
    }
  }

  // Lookups and loads whose results all come in this block may change places: they have no effect.
  void group_lookups() {
    const auto operations = find_lookups(p_, insts_);
    if (!operations || operations->empty()) {
      return;
    }
    for (std::uint32_t n = 0; n < insts_.size(); ++n) {
      const Inst& i = insts_[n];
      if (has(i.alu.op, tsy) || has(i.alu.op, tmu_wait) ||
          ((i.sigs & sig::thrsw) != 0 && i.sigs != sig::thrsw) ||
          ((i.sigs & sig::thrsw) != 0 && i.alu.op != Op::nop)) {
        return;
      }
    }
    for (const TmuOperation& o : *operations) {
      if (last_ != no_index && (o.parameters.empty() ? o.trigger : o.parameters.front()) > last_) {
        return;
      }
    }
    own_switches_ = true;
    for (std::uint32_t n = 0; n < insts_.size(); ++n) {
      dropped_[n] = insts_[n].sigs == sig::thrsw && n != last_;
    }
    for (const TmuOperation& o : *operations) {
      for (const std::uint32_t n : o.parameters) {
        join(n, o.trigger);
      }
      for (const std::uint32_t n : o.results) {
        join(n, o.trigger);
      }
      if (last_ != no_index) {
        edge(o.trigger, last_);
        if (o.results.back() > last_) {
          join(last_, o.trigger);
        } else {
          edge(o.results.back(), last_);
        }
      }
    }
  }

  // Every VPM store goes to a place of its own, as literals say.
  bool stores_apart() const {
    std::unordered_map<std::uint32_t, std::uint32_t> literals;
    std::unordered_set<std::uint32_t> places;
    for (const Inst& i : insts_) {
      if (has(i.alu.op, vpm_store)) {
        const Reg& r = i.alu.src[0].reg;
        const auto it = r.kind == Reg::temp ? literals.find(r.index) : literals.end();
        if (it == literals.end() || !places.insert(it->second).second) {
          return false;
        }
      }
      for (const Reg* d : {&i.alu.dst, &i.sig_dst}) {
        if (d->kind == Reg::temp) {
          literals.erase(d->index);
        }
      }
      if ((i.sigs & (sig::ldunif | sig::ldunifrf)) != 0 && i.sig_dst.kind == Reg::temp &&
          p_.uniforms[i.uniform].is_literal) {
        literals[i.sig_dst.index] = p_.uniforms[i.uniform].value;
      }
    }
    return true;
  }

  // Strongly connected bundles become one (Tarjan, without recursion).
  void merge_cycles() {
    const auto n = static_cast<std::uint32_t>(insts_.size());
    std::vector<std::pair<std::uint32_t, std::uint32_t>> between;
    between.reserve(edges_.size());
    for (const auto& [from, to] : edges_) {
      if (find(from) != find(to)) {
        between.emplace_back(find(from), find(to));
      }
    }
    const Groups<std::uint32_t> succs(
        n, between, [](const auto& e) { return e.first; }, [](const auto& e) { return e.second; });
    std::vector<std::uint32_t> index(n, no_index), low(n), stack, at(n);
    std::vector<char> on(n);
    std::vector<std::uint32_t> path;
    std::uint32_t next = 0;
    for (std::uint32_t root = 0; root < n; ++root) {
      if (parent_[root] != root || index[root] != no_index) {
        continue;
      }
      path.push_back(root);
      while (!path.empty()) {
        const std::uint32_t v = path.back();
        if (index[v] == no_index) {
          index[v] = low[v] = next++;
          stack.push_back(v);
          on[v] = 1;
        }
        bool deeper = false;
        while (at[v] < succs[v].size()) {
          const std::uint32_t w = succs[v][at[v]];
          if (index[w] == no_index) {
            path.push_back(w);
            deeper = true;
            break;
          }
          if (on[w] != 0) {
            low[v] = std::min(low[v], low[w]);
          }
          ++at[v];
        }
        if (deeper) {
          continue;
        }
        path.pop_back();
        if (low[v] == index[v]) {
          std::uint32_t w = no_index;
          do {
            w = stack.back();
            stack.pop_back();
            on[w] = 0;
            component_.emplace_back(w, v);
          } while (w != v);
        }
      }
    }
    for (const auto& [w, v] : component_) {
      join(w, v);
    }
  }

  Bundles finish() {
    Bundles b;
    b.own_switches = own_switches_;
    std::vector<std::uint32_t> number(insts_.size(), no_index), kept;
    std::uint32_t count = 0;
    for (std::uint32_t n = 0; n < insts_.size(); ++n) {
      if (dropped_[n] != 0) {
        continue;
      }
      std::uint32_t& k = number[find(n)];
      k = k == no_index ? count++ : k;
      kept.push_back(n);
    }
    b.members = Groups<std::uint32_t>(
        count, kept, [&](std::uint32_t n) { return number[find(n)]; }, [](std::uint32_t n) { return n; });
    for (auto& [from, to] : edges_) {
      from = number[find(from)];
      to = number[find(to)];
    }
    std::erase_if(edges_, [](const auto& e) { return e.first == e.second; });
    b.succs = Groups<std::uint32_t>(
        count, edges_, [](const auto& e) { return e.first; }, [](const auto& e) { return e.second; });
    b.succs.make_sets();
    return b;
  }

  const Program& p_;
  std::uint32_t block_;
  const Liveness& l_;
  const std::vector<Inst>& insts_;
  std::vector<std::uint32_t> parent_;
  std::vector<char> dropped_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_, component_;
  std::uint32_t last_ = no_index;
  bool own_switches_ = false, coefficients_ = false;
};

} // namespace

Bundles make_bundles(const Program& p, std::uint32_t block, const Liveness& l, const Place& last) {
  return Bundler(p, block, l, last).run();
}

Bundles single_bundles(const Program& p, const std::vector<Inst>& insts) {
  const DependenceGraph graph = build_dependences(p.gpu, insts, p.temp_count);
  Bundles b;
  std::vector<std::uint32_t> all(insts.size());
  std::iota(all.begin(), all.end(), 0u);
  const auto itself = [](std::uint32_t n) { return n; };
  b.members = Groups<std::uint32_t>(all.size(), all, itself, itself);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (const std::uint32_t n : all) {
    for (const Edge& e : graph.succs[n]) {
      edges.emplace_back(n, e.to);
    }
  }
  b.succs = Groups<std::uint32_t>(
      all.size(), edges, [](const auto& e) { return e.first; }, [](const auto& e) { return e.second; });
  return b;
}

std::optional<std::vector<Inst>> unbundle(const Program& p, const std::vector<Inst>& insts, const Bundles& b,
                                          const std::vector<std::uint32_t>& order) {
  std::vector<Inst> out;
  out.reserve(insts.size());
  const Reg c = implicit_reg(p.gpu);
  for (const std::uint32_t k : order) {
    const auto members = b.members[k];
    bool pending = false;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const Inst& i = insts[members[m]];
      if (b.own_switches && pending && (i.sigs & sig::ldtmu) != 0) {
        // Neither the product register nor, on 4.2, a coefficient lives through a switch.
        for (std::size_t q = m; q < members.size(); ++q) {
          const Inst& later = insts[members[q]];
          const bool coefficient =
              p.gpu == Gpu::v42 && (later.alu.src[0].reg == c || later.alu.src[1].reg == c);
          if (has(later.alu.op, reads_rtop) || coefficient) {
            return std::nullopt;
          }
          if (has(later.alu.op, writes_rtop) || (later.sigs & sig::ldvary) != 0) {
            break;
          }
        }
        Inst& s = out.emplace_back();
        s.alu.dst = {Reg::null};
        s.sigs = sig::thrsw;
        s.role = Role::copy; // not of the program: never the last thread switch
        pending = false;
      }
      pending = pending || starts_lookup(i);
      pending = pending && (i.sigs & sig::thrsw) == 0;
      out.push_back(i);
    }
  }
  return out;
}

} // namespace lanewise::v3d
