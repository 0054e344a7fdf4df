// How it proves. Each block of the listing and its counterpart are evaluated from symbols for the values that
// are live into it. For each such value the checker keeps the set of places (registers, accumulators, slots)
// that hold it on every path so far; at the end of a block a place holds what its expression says. The sets
// only shrink; at the fixed point every effect of every block must be the same expression on both sides, but
// for what is undefined in the listing. A value that is the same constant (uniforms and arithmetic on them)
// on every path into a block is that expression there, so that making it again needs no help.
#include "v3d/checker.hpp"

#include "v3d/checker_eval.hpp"
#include "v3d/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>
#include <unordered_map>

namespace lanewise::v3d {

using namespace checking;

namespace {

using Set = std::vector<std::uint64_t>;

class Checker {
 public:
  Checker(const Program& listing, Side other)
      : p_(listing), reference_(side_of(listing)), other_(std::move(other)), names_{listing.temp_count},
        a_(x_, listing.gpu, reference_), b_(x_, listing.gpu, other_) {}

  static Side side_of(const Program& p) {
    Side s;
    s.uniforms = &p.uniforms;
    for (const Block& b : p.blocks) {
      auto& steps = s.blocks.emplace_back();
      for (const Inst& i : b.insts) {
        steps.push_back({{i.alu, {}}, i.sigs, i.sig_dst, i.uniform, i.is_branch, i.branch});
      }
    }
    return s;
  }

  Expected<void> run() {
    if (other_.blocks.size() != p_.blocks.size()) {
      return bad(0, "another number of blocks");
    }
    find_slots();
    find_live();
    places_.assign(p_.blocks.size(), {});
    start();
    std::vector<char> queued(p_.blocks.size());
    std::vector<std::uint32_t> work{0};
    queued[0] = 1;
    while (!work.empty()) {
      const auto it = std::ranges::min_element(work); // layout order converges fastest
      const std::uint32_t b = *it;
      work.erase(it);
      queued[b] = 0;
      const auto [r, o] = evaluate(b);
      for (const std::uint32_t s : p_.blocks[b].succs) {
        if (flow(r.state, o.state, s) && queued[s] == 0) {
          queued[s] = 1;
          work.push_back(s);
        }
      }
    }
    for (std::uint32_t b = 0; b < p_.blocks.size(); ++b) {
      if (places_[b].reached) {
        if (auto r = compare(b); !r) {
          return r;
        }
      }
    }
    return {};
  }

 private:
  struct Places {
    bool reached = false;
    std::vector<Set> of;        ///< per live name; empty: nothing known against any place
    std::vector<Node> constant; ///< per live name; undefined: none on any path so far
  };

  [[nodiscard]] std::unexpected<Error> bad(std::uint32_t b, std::string what) const {
    return fail(ErrorKind::check, std::move(what), fmt::format("block {}", p_.blocks[b].label));
  }

  // The layout of the slots is that of the base that the entry block works out; any multiple of four may then
  // be a slot's offset, and the words behind it belong to it.
  void find_slots() {
    State nothing;
    nothing.temps.assign(p_.temp_count, Expressions::undefined);
    if (!other_.blocks.empty()) {
      (void)b_.run(0, std::move(nothing));
    }
    const std::size_t before = x_.size();
    b_.set_rows(true);
    const bool rows = b_.spill_base() < before;
    b_.set_rows(rows);
    const std::uint32_t step = rows ? 4 : 64;
    for (const Uniform& u : *other_.uniforms) {
      for (std::uint32_t k = 0; u.is_literal && u.value % step == 0 && k < (rows ? 4u : 1u); ++k) {
        if (u.value + 4 * k < 64 * 4096) {
          slots_.push_back(u.value + 4 * k);
        }
      }
    }
    std::ranges::sort(slots_);
    slots_.erase(std::unique(slots_.begin(), slots_.end()), slots_.end());
    place_count_ = 70 + slots_.size();
  }

  // Plain liveness: read before written in full. More than is live, never less.
  void find_live() {
    const std::size_t n = p_.blocks.size(), words = (names_.count() + 63) / 64;
    std::vector<Set> use(n, Set(words)), def(n, Set(words)), in(n, Set(words));
    const auto set = [](Set& s, std::uint32_t k) { s[k / 64] |= 1ull << (k % 64); };
    const auto test = [](const Set& s, std::uint32_t k) { return (s[k / 64] >> (k % 64) & 1) != 0; };
    for (std::size_t b = 0; b < n; ++b) {
      for (const Inst& i : p_.blocks[b].insts) {
        for_uses(names_, i, [&](std::uint32_t u) {
          if (!test(def[b], u)) {
            set(use[b], u);
          }
        });
        for (const Definition& d : definitions(p_.gpu, names_, i)) {
          if (!d.partial) {
            set(def[b], d.name);
          }
        }
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t b = n; b-- > 0;) {
        for (std::size_t w = 0; w < words; ++w) {
          std::uint64_t out = 0;
          for (const std::uint32_t s : p_.blocks[b].succs) {
            out |= in[s][w];
          }
          const std::uint64_t v = use[b][w] | (out & ~def[b][w]);
          changed = changed || v != in[b][w];
          in[b][w] = v;
        }
      }
    }
    find_flags();
    live_.resize(n);
    for (std::size_t b = 0; b < n; ++b) {
      for (std::uint32_t k = 0; k < names_.count(); ++k) {
        if (test(in[b], k)) {
          live_[b].push_back(k);
        }
      }
      live_[b].push_back(names_.count()); // the spill base
    }
    base_ = b_.spill_base();
  }

  // Blocks that look at the flags they are entered with, or pass them on to such.
  void find_flags() {
    const std::size_t n = p_.blocks.size();
    reads_flags_.assign(n, 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t b = n; b-- > 0;) {
        bool live = flags_leave(b);
        for (auto it = p_.blocks[b].insts.rbegin(); it != p_.blocks[b].insts.rend(); ++it) {
          live = (live && it->alu.push == Push::none) || reads_flags_of(it->alu) ||
                 (it->is_branch && it->branch.cond != BranchCond::always);
        }
        changed = changed || live != (reads_flags_[b] != 0);
        reads_flags_[b] = live;
      }
    }
  }

  [[nodiscard]] bool flags_leave(std::size_t b) const {
    return std::ranges::any_of(p_.blocks[b].succs, [&](std::uint32_t s) { return reads_flags_[s] != 0; });
  }

  // Payload stands in its own registers.
  void start() {
    Places& e = places_[0];
    e.reached = true;
    for (const std::uint32_t n : live_[0]) {
      Set s;
      if (n >= names_.temps && n < names_.count()) {
        s.assign((place_count_ + 63) / 64, 0);
        const std::uint32_t place = n - names_.temps;
        s[place / 64] |= 1ull << (place % 64);
      }
      if (n == names_.count()) {
        s.assign((place_count_ + 63) / 64, 0); // nowhere yet
      }
      e.of.push_back(std::move(s));
      e.constant.push_back(n == names_.count() ? base_ : varies);
    }
  }

  /// Stands in Places::constant for what is no constant, or another one on another path.
  static constexpr Node varies = ~Node{0};

  [[nodiscard]] Node symbol(std::uint32_t b, std::uint32_t k) {
    const Node c = places_[b].constant[k];
    if (c != varies && c != Expressions::undefined) {
      return c;
    }
    return x_.make(1ull << 58 | static_cast<std::uint64_t>(b) << 32 | live_[b][k], {});
  }

  std::pair<Outcome, Outcome> evaluate(std::uint32_t b) {
    const Places& e = places_[b];
    const auto& live = live_[b];
    // Values in one place are one value: name k is joined with whoever shares a place with it.
    std::vector<std::uint32_t> parent(live.size());
    for (std::uint32_t k = 0; k < parent.size(); ++k) {
      parent[k] = k;
    }
    const auto find = [&](std::uint32_t k) {
      while (parent[k] != k) {
        k = parent[k] = parent[parent[k]];
      }
      return k;
    };
    std::vector<std::uint32_t> holder(place_count_, no_index);
    const auto is_constant = [&](std::uint32_t k) {
      return e.constant[k] != varies && e.constant[k] != Expressions::undefined;
    };
    for (std::uint32_t k = 0; k < live.size(); ++k) {
      for (std::size_t w = 0; w < e.of[k].size(); ++w) {
        for (std::uint64_t bits = e.of[k][w]; bits != 0; bits &= bits - 1) {
          const auto place = w * 64 + static_cast<std::size_t>(std::countr_zero(bits));
          if (holder[place] == no_index) {
            holder[place] = k;
            continue;
          }
          std::uint32_t to = find(holder[place]), from = find(k);
          if (is_constant(from)) {
            std::swap(to, from);
          }
          parent[from] = to;
        }
      }
    }
    State r, o;
    r.temps.assign(p_.temp_count, Expressions::undefined);
    for (std::uint32_t k = 0; k < live.size(); ++k) {
      // No path so far has defined it: undefined here too.
      const Node n = e.of[k].empty() ? Expressions::undefined : symbol(b, find(k));
      const std::uint32_t name = live[k];
      if (name < names_.temps) {
        r.temps[name] = n;
      } else if (name < names_.temps + 64) {
        r.rf[name - names_.temps] = n;
      } else if (name < names_.count()) {
        r.acc[name - names_.temps - 64] = n;
      }
    }
    for (std::size_t place = 0; place < place_count_; ++place) {
      const Node n = holder[place] != no_index ? symbol(b, find(holder[place])) : x_.fresh();
      if (place < 64) {
        o.rf[place] = n;
      } else if (place < 70) {
        o.acc[place - 64] = n;
      } else {
        o.slots[slots_[place - 70]] = n;
      }
    }
    // Flags do not cross blocks in what is allocated here: on entry they are anything, and the same on both
    // sides.
    r.flags_a = o.flags_a = x_.make(1ull << 57 | b, {});
    r.flags_b = o.flags_b = x_.make(1ull << 56 | b, {});
    return {a_.run(b, std::move(r)), b_.run(b, std::move(o))};
  }

  [[nodiscard]] Node at(const State& s, std::uint32_t name) const {
    if (name == names_.count()) {
      return base_;
    }
    if (name < names_.temps) {
      return s.temps[name];
    }
    return name < names_.temps + 64 ? s.rf[name - names_.temps] : s.acc[name - names_.temps - 64];
  }

  bool flow(const State& r, const State& o, std::uint32_t to) {
    Places& e = places_[to];
    bool changed = !e.reached;
    if (!e.reached) {
      e.reached = true;
      e.of.assign(live_[to].size(), {});
      e.constant.assign(live_[to].size(), Expressions::undefined);
    }
    std::vector<Node> held;
    held.insert(held.end(), o.rf.begin(), o.rf.end());
    held.insert(held.end(), o.acc.begin(), o.acc.end());
    for (const auto& [offset, n] : o.slots) {
      held.push_back(n);
    }
    for (std::size_t k = 0; k < live_[to].size(); ++k) {
      const Node n = at(r, live_[to][k]);
      if (n == Expressions::undefined) {
        continue; // no definition has reached it on this path
      }
      const Node c = x_.is_constant(n) || live_[to][k] == names_.count() ? n : varies;
      const Node joined = e.constant[k] == Expressions::undefined || e.constant[k] == c ? c : varies;
      changed = changed || joined != e.constant[k];
      e.constant[k] = joined;
      Set now((place_count_ + 63) / 64);
      for (std::size_t place = 0; place < held.size(); ++place) {
        if (x_.refines(n, held[place])) {
          now[place / 64] |= 1ull << (place % 64);
        }
      }
      if (e.of[k].empty()) {
        e.of[k] = std::move(now);
        changed = true;
        continue;
      }
      for (std::size_t w = 0; w < now.size(); ++w) {
        const std::uint64_t v = e.of[k][w] & now[w];
        changed = changed || v != e.of[k][w];
        e.of[k][w] = v;
      }
    }
    return changed;
  }

  // As multisets: equal nodes first, then what may stand for a value with undefined parts.
  Expected<void> same_in_any_order(std::uint32_t b, const std::vector<Node>& x, const std::vector<Node>& y,
                                   std::string_view unit) {
    if (x.size() != y.size()) {
      return bad(b, fmt::format("{} {} operations became {}", x.size(), unit, y.size()));
    }
    std::unordered_map<Node, unsigned> left;
    for (const Node n : y) {
      ++left[n];
    }
    std::vector<std::size_t> unmatched;
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (const auto it = left.find(x[k]); it != left.end() && it->second != 0) {
        --it->second;
      } else {
        unmatched.push_back(k);
      }
    }
    for (const std::size_t k : unmatched) {
      const auto it = std::ranges::find_if(
          left, [&](const auto& e) { return e.second != 0 && x_.refines(x[k], e.first); });
      if (it == left.end()) {
        return bad(b, fmt::format("{} operation {} of the block reads another value ({})", unit, k,
                                  x_.difference(x[k], y[k])));
      }
      --it->second;
    }
    return {};
  }

  Expected<void> compare(std::uint32_t b) {
    const auto [r, o] = evaluate(b);
    if (!o.fault.empty() && r.fault.empty()) {
      return bad(b, o.fault);
    }
    const auto same = [&](const std::vector<Node>& x, const std::vector<Node>& y,
                          std::string_view unit) -> Expected<void> {
      if (x.size() != y.size()) {
        return bad(b, fmt::format("{} {} operations became {}", x.size(), unit, y.size()));
      }
      for (std::size_t k = 0; k < x.size(); ++k) {
        if (!x_.refines(x[k], y[k])) {
          return bad(b, fmt::format("{} operation {} of the block reads another value ({})", unit, k,
                                    x_.difference(x[k], y[k])));
        }
      }
      return {};
    };
    if (auto c = same(r.tmu_stores, o.tmu_stores, "TMU"); !c) {
      return c;
    }
    for (const auto& [x, y, unit] :
         {std::tuple{&r.lookups, &o.lookups, "lookup"}, std::tuple{&r.vpm, &o.vpm, "VPM"}}) {
      if (auto c = same_in_any_order(b, *x, *y, unit); !c) {
        return c;
      }
    }
    if (auto c = same(r.tlb, o.tlb, "tile buffer"); !c) {
      return c;
    }
    if (flags_leave(b) &&
        !(x_.refines(r.state.flags_a, o.state.flags_a) && x_.refines(r.state.flags_b, o.state.flags_b))) {
      return bad(b, "other flags leave the block");
    }
    return same(r.branches, o.branches, "branch");
  }

  const Program& p_;
  Expressions x_;
  Side reference_, other_;
  Names names_;
  Evaluator a_, b_;
  std::vector<std::uint32_t> slots_;
  std::size_t place_count_ = 70;
  std::vector<std::vector<std::uint32_t>> live_;
  std::vector<Places> places_;
  std::vector<char> reads_flags_;
  Node base_ = 0;
};

} // namespace

Expected<void> check_allocation(const Program& listing, const Program& allocated) {
  return Checker(listing, Checker::side_of(allocated)).run();
}

Expected<void> check_words(const Program& listing, const QpuProgram& q) {
  Side s;
  s.uniforms = &q.uniforms;
  s.delayed = true;
  for (std::size_t b = 0; b < q.block_starts.size(); ++b) {
    const std::size_t end = b + 1 < q.block_starts.size() ? q.block_starts[b + 1] : q.words.size();
    auto& steps = s.blocks.emplace_back();
    for (std::size_t n = q.block_starts[b]; n < end; ++n) {
      const auto w = unpack(q.gpu, q.bits[n]);
      if (!w) {
        return std::unexpected(w.error());
      }
      steps.push_back({{w->add, w->mul}, w->sigs, w->sig_dst, q.words[n].uniform, w->is_branch, w->branch});
    }
  }
  return Checker(listing, std::move(s)).run();
}

} // namespace lanewise::v3d
