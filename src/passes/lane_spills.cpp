// SGPRs that were spilled to lanes of a VGPR and come back through phis:
//
//   v1 = select(lane_id == c, x, v0)                 (v_writelane)
//   v2 = phi v1, v3                           ->     p = phi x, q          x, q uniform: lane c of v1 and v3
//   y = read_lane v2, c      (v_readlane)            y = p
//
// Only where every way leads to a write of that lane or to a constant. Straight lines fold in ir/fold_lanes.
#include "passes/passes.hpp"
#include "passes/replacements.hpp"
#include "support/flat_map.hpp"

#include <algorithm>
#include <utility>

namespace lanewise::passes {

using namespace ir;

namespace {

class LaneSpills {
 public:
  explicit LaneSpills(Function& f) : f_(f), replaced_(f) {}

  bool run() {
    for (const BasicBlock& b : f_.blocks)
      for (const Value v : b.instructions)
        if (f_[v].op == Op::read_lane && f_.is_constant(f_.operand(v, 1))) reads_.push_back(v);
    if (reads_.empty()) return false;
    home_.resize(f_.value_count());
    for (uint32_t b = 0; b < f_.blocks.size(); ++b)
      for (const Value v : f_.blocks[b].instructions) {
        if (f_[v].op != Op::phi) break;
        home_[v.index] = b;
      }
    bool changed = false;
    for (const Value read : reads_) {
      const auto lane = static_cast<uint32_t>(f_[f_.operand(read, 1)].imm & (f_.wave_size - 1));
      if (!known(f_.operand(read, 0), lane)) continue;
      replaced_.set(read, value(f_.operand(read, 0), lane));
      changed = true;
    }
    if (!changed) return false;
    fill_phis();
    insert_phis();
    replaced_.apply(f_);
    return true;
  }

 private:
  [[nodiscard]] static uint64_t key(Value v, uint32_t lane) { return uint64_t{v.index} << 6 | lane; }

  /// The lane that a select with this condition writes, or none.
  [[nodiscard]] bool writes_lane(Value v, uint32_t& lane) const {
    if (f_[v].op != Op::select) return false;
    const Value condition = f_.operand(v, 0);
    if (f_[condition].op != Op::eq) return false;
    for (const unsigned i : {0u, 1u}) {
      const Value a = f_.operand(condition, i), b = f_.operand(condition, 1 - i);
      if (f_[a].op != Op::lane_id || !f_.is_constant(b)) continue;
      lane = static_cast<uint32_t>(f_[b].imm);
      return true;
    }
    return false;
  }

  /// Behind all writes of other lanes: a uniform value, a phi, or something else.
  [[nodiscard]] Value source(Value v, uint32_t lane) {
    v = replaced_(v);
    for (uint32_t written = 0; writes_lane(v, written);) {
      if (written == lane) return replaced_(f_.operand(v, 1));
      v = replaced_(f_.operand(v, 2));
    }
    return v;
  }

  [[nodiscard]] bool is_plain(Value v) const { return f_[v].uniform || f_.is_constant(v); }

  /// Every way to `v` ends in a uniform value for this lane.
  bool known(Value v, uint32_t lane) {
    work_.assign(1, source(v, lane));
    seen_.clear();
    bool all = true;
    while (!work_.empty() && all) {
      const Value x = work_.back();
      work_.pop_back();
      if (is_plain(x)) continue;
      const auto [facts, is_new] = facts_.insert(key(x, lane));
      if (!is_new) {
        all = facts.known;
        continue;
      }
      seen_.push_back(x);
      all = f_[x].op == Op::phi;
      if (!all) break;
      for (const Value o : f_.operands(x)) work_.push_back(source(o, lane));
    }
    if (!all)
      for (const Value x : seen_) facts_.insert(key(x, lane)).first.known = false;
    return all;
  }

  Value value(Value v, uint32_t lane) {
    const Value x = source(v, lane);
    if (is_plain(x)) return x;
    Value& phi = facts_.insert(key(x, lane)).first.phi;
    if (!phi) {
      phi = f_.create(Op::phi, {}, f_[x].type, 0, 1, f_[x].pc);
      f_[phi].uniform = true;
      new_phis_.emplace_back(home_[x.index], phi);
      unfilled_.push_back({x, phi, lane});
    }
    return phi;
  }

  void fill_phis() {
    std::vector<Value> incoming;
    for (size_t i = 0; i < unfilled_.size(); ++i) { // grows on the way
      const Unfilled u = unfilled_[i];
      incoming.clear();
      for (unsigned e = 0; e < f_[u.of].operand_count; ++e)
        incoming.push_back(value(f_.operand(u.of, e), u.lane));
      f_.set_operands(u.phi, incoming);
    }
  }

  /// In front of the instructions of their blocks, in the order in which they were made.
  void insert_phis() {
    std::ranges::stable_sort(new_phis_, {}, &std::pair<uint32_t, Value>::first);
    std::vector<Value> phis;
    for (size_t i = 0; i < new_phis_.size();) {
      const uint32_t block = new_phis_[i].first;
      phis.clear();
      for (; i < new_phis_.size() && new_phis_[i].first == block; ++i) phis.push_back(new_phis_[i].second);
      auto& list = f_.blocks[block].instructions;
      list.insert(list.begin(), phis.begin(), phis.end());
    }
  }

  /// Of a value and a lane.
  struct Facts {
    bool known = true; ///< until refuted
    Value phi;         ///< that stands for it
  };
  struct Unfilled {
    Value of, phi;
    uint32_t lane;
  };
  Function& f_;
  Replacements replaced_;
  std::vector<Value> reads_, work_, seen_;
  std::vector<uint32_t> home_; ///< block of each phi
  FlatMap<Facts> facts_;
  std::vector<std::pair<uint32_t, Value>> new_phis_; ///< block and phi
  std::vector<Unfilled> unfilled_;
};

} // namespace

bool lane_spills(Function& f) { return LaneSpills(f).run(); }

} // namespace lanewise::passes
