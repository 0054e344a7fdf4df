// SGPRs that were spilled to lanes of a VGPR and come back through phis:
//
//   v1 = select(lane_id == c, x, v0)                 (v_writelane)
//   v2 = phi v1, v3                           ->     p = phi x, q          x, q uniform: lane c of v1 and v3
//   y = read_lane v2, c      (v_readlane)            y = p
//
// Only where every way leads to a write of that lane or to a constant. Straight lines fold in ir/fold_lanes.
#include "passes/passes.hpp"
#include "passes/replacements.hpp"

#include <unordered_map>

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
    for (uint32_t b = 0; b < f_.blocks.size(); ++b)
      for (const Value v : f_.blocks[b].instructions) {
        if (f_[v].op != Op::phi) break;
        home_.emplace(v.index, b);
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
    for (auto& [block, phis] : new_phis_) {
      auto& list = f_.blocks[block].instructions;
      list.insert(list.begin(), phis.begin(), phis.end());
    }
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
    std::vector<Value> work{source(v, lane)}, seen;
    bool all = true;
    while (!work.empty() && all) {
      const Value x = work.back();
      work.pop_back();
      if (is_plain(x)) continue;
      const auto [it, is_new] = known_.try_emplace(key(x, lane), true); // true until refuted
      if (!is_new) {
        all = it->second;
        continue;
      }
      seen.push_back(x);
      all = f_[x].op == Op::phi;
      if (!all) break;
      for (const Value o : f_.operands(x)) work.push_back(source(o, lane));
    }
    if (!all)
      for (const Value x : seen) known_[key(x, lane)] = false;
    return all;
  }

  Value value(Value v, uint32_t lane) {
    const Value x = source(v, lane);
    if (is_plain(x)) return x;
    const auto [it, is_new] = phi_.try_emplace(key(x, lane));
    if (is_new) {
      it->second = f_.create(Op::phi, {}, f_[x].type, 0, 1, f_[x].pc);
      f_[it->second].uniform = true;
      new_phis_[home_.at(x.index)].push_back(it->second);
      unfilled_.push_back({x, it->second, lane});
    }
    return it->second;
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

  struct Unfilled {
    Value of, phi;
    uint32_t lane;
  };
  Function& f_;
  Replacements replaced_;
  std::vector<Value> reads_;
  std::unordered_map<uint32_t, uint32_t> home_;               ///< block of each phi
  std::unordered_map<uint64_t, bool> known_;                  ///< by value and lane
  std::unordered_map<uint64_t, Value> phi_;                   ///< by value and lane
  std::unordered_map<uint32_t, std::vector<Value>> new_phis_; ///< by block
  std::vector<Unfilled> unfilled_;
};

} // namespace

bool lane_spills(Function& f) { return LaneSpills(f).run(); }

} // namespace lanewise::passes
