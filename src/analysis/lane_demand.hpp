// Lane demand: for each value, the lanes in which some observer can tell it (docs/lane-demand.md).
//
// Observers are memory, branch conditions, cross-lane reads and uniform values. Demand flows backwards; the
// result is the least solution around loops, that is, the most that can be dropped. Formulas are those of
// MaskAlgebra, said at the value's own definition.
//
// The promise: changing a value in lanes outside its demand changes nothing that an observer sees. It holds
// for all values at once, so passes may act on every value's demand without asking again.
#pragma once

#include "analysis/entered_masks.hpp"
#include "analysis/mask_algebra.hpp"
#include "analysis/users.hpp"

#include <map>
#include <queue>

namespace lanewise::analysis {

/// The masks that reach a lane in a block by way of other lanes: u1 results of dpp and permute.
class GatheredMasks {
 public:
  explicit GatheredMasks(const ir::Function& f);
  /// Those of one block that came from the lanes that `gather`, a dpp or permute in it, reads too; with
  /// `other_pattern` (a broken rule) all of the block.
  [[nodiscard]] std::vector<ir::Value> beside(ir::Value gather, uint32_t block,
                                              bool other_pattern = false) const;

 private:
  const ir::Function& f_;
  std::map<uint32_t, std::vector<ir::Value>> masks_; ///< by block
};

/// Whether a uniform value is demanded by the whole wave or not at all, or lane by lane as any other: at
/// invocation level every invocation has its own.
enum class UniformValues : uint8_t { one_for_the_wave, lane_by_lane };

class LaneDemand {
 public:
  /// Of all values. Near-linear: blocks are visited again only when the demand of a value in them grew, inner
  /// loops first.
  LaneDemand(const ir::Function& function, MaskAlgebra& masks,
             UniformValues uniform = UniformValues::one_for_the_wave);
  /// Of values that are asked for (`ask_for`) and those that it depends on. All others count as demanded
  /// everywhere.
  LaneDemand(const ir::Function& function, MaskAlgebra& masks, UniformValues uniform, const Users& users);

  /// Solves the demand of a value, at the cost of what leads from it to observers. What was solved before
  /// stays.
  void ask_for(ir::Value v);
  [[nodiscard]] Formula demand(ir::Value v) const { return demand_[v.index]; }
  [[nodiscard]] UniformValues uniform_values() const { return uniform_; }
  /// Nobody can tell the value in any lane.
  [[nodiscard]] bool dead(ir::Value v) const { return demand_[v.index] == kFalse; }
  /// The demanded lanes of a select are all in its condition, or none of them is.
  bool reads_only_first(ir::Value select);
  bool reads_only_second(ir::Value select);

  /// Nothing else depends on the select's condition, a compare of data: no demand can lie inside or outside
  /// it, and it need not be told which of the two values a lane takes. Without this the demand of a value
  /// that many choices on data lead to would name all of them.
  [[nodiscard]] bool chooses_alone(ir::Value select) const;

  /// The use that first asked for lanes outside `mask`, for reports; none if there is none.
  ir::Value observer(ir::Value v, ir::Value mask, const Users& users);

 private:
  struct MaskUses {
    ir::Value last_choice{}; ///< that a select makes by it
    bool read = false,
         others = false; ///< a choice was read; there are uses that are no choices beside each other
  };

  LaneDemand(const ir::Function& function, MaskAlgebra& masks, UniformValues uniform, const Users* users);
  void note_mask_uses(ir::Value user);
  void tell_operands_of(ir::Value user);
  void solve();
  void visit(ir::Value user, ir::Block block);
  void visit_phi(ir::Value phi, ir::Block block);
  void want(ir::Value v, Formula lanes, ir::Block use);
  void want_all_operands(ir::Value user, Formula lanes, ir::Block block);
  /// Calls `each(operand index, lanes)` for every operand of a user that is no phi.
  template <class Each>
  void for_each_demand(ir::Value user, const Each& each);
  Formula lanes_read_by_pattern(ir::Value user);
  Formula masks_read_in(ir::Value user);
  /// Some lane is in the mask wherever the block runs, or comes to its end.
  bool has_lane(ir::Value mask, ir::Block block);
  bool has_lane(ir::Value mask, std::optional<ir::Value> entered, ir::Block block,
                std::vector<ir::Value>& assumed);

  const ir::Function& function_;
  MaskAlgebra& masks_;
  UniformValues uniform_;
  const Users* users_; ///< null: the demand of all values is solved
  GatheredMasks gathered_;
  EnteredMasks entered_;
  ir::Value initial_exec_; ///< none: the program does not ask for it
  std::vector<Formula> demand_;
  std::vector<MaskUses> mask_uses_; ///< of each u1 value
  /// What a visit found out about a select, if it did; true of its demand at that time, which is the last.
  enum class Reads : uint8_t { unknown, first, second, both };
  std::vector<Reads> reads_;            ///< of each select
  std::vector<uint8_t> dirty_;          ///< of each value: its operands have to be told
  std::vector<bool> solved_;            ///< of each value, where not all are
  std::vector<uint8_t> visits_;         ///< of each value, up to the patience with it
  std::priority_queue<uint32_t> queue_; ///< places in the reverse post-order
  std::vector<uint32_t> place_of_;      ///< of each block; none if nothing leads there
  std::vector<bool> waiting_;           ///< by place: in the queue
};

} // namespace lanewise::analysis
