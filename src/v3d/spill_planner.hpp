// The planner's state and steps. The walk through the blocks stands in spill.cpp, what holds between blocks
// in spill_edges.cpp.
#pragma once

#include "v3d/spill_plan.hpp"

#include <algorithm>

namespace lanewise::v3d::spilling {

class Planner {
 public:
  Planner(const Program& p, const SpillOptions& o)
      : p_(p), o_(o), l_(analyse_liveness(p)), next_(find_next_uses(p, l_)), places_(switch_places(p)),
        remat_(find_rematerialisable(p, o)), stored_(p.temp_count), due_(p.temp_count) {
    const auto segments = live_segments(p, l_);
    // Fixed registers that are taken in each gap; 4.2's accumulators are not of the register file.
    std::vector<std::int32_t> change(l_.gap_count + 1);
    for (std::uint32_t r = l_.names.temps; r < l_.names.temps + 64; ++r) {
      for (const Segment& s : segments[r]) {
        ++change[s.begin];
        --change[s.end];
      }
    }
    fixed_.resize(l_.gap_count);
    std::int32_t now = 0;
    for (std::size_t g = 0; g < fixed_.size(); ++g) {
      now += change[g];
      fixed_[g] = static_cast<unsigned>(now);
    }
    pressure_ = temp_pressure(segments);
    find_switches();
    find_late_blocks();
  }

  /// Plans for the options' registers, which may change from one call to the next.
  bool run(Plan& plan, std::string& why);
  [[nodiscard]] const std::vector<Remat>& rematerialisable() const { return remat_; }

 private:
  std::vector<unsigned> temp_pressure(const std::vector<std::vector<Segment>>& segments) const;

  void find_late_blocks();

  [[nodiscard]] bool is_remat(std::uint32_t t) const { return remat_[t].kind != Remat::none; }
  [[nodiscard]] bool in(std::uint32_t t) const { return where_[t] != never; }

  void add(std::uint32_t t, std::uint32_t next);

  void remove(std::uint32_t t);

  [[nodiscard]] unsigned capacity(std::uint32_t gap) const;
  // The same for what lives across a thread switch.
  [[nodiscard]] unsigned capacity_over_switch(std::uint32_t gap) const;
  void find_switches();

  bool no(std::string why);

  // One value leaves. Values that the rest of the unit needs or that it defined stay.
  bool evict(std::uint32_t b, std::uint32_t now, std::uint32_t unit_end, bool at_boundary);

  bool make_room(std::uint32_t b, std::uint32_t now, std::uint32_t gap, unsigned extra,
                 std::uint32_t unit_end, bool at_boundary = false);

  // Puts a value that can be made again in front of instruction n.
  bool make_again(std::uint32_t b, std::uint32_t n, std::uint32_t t, std::uint32_t unit_end,
                  std::uint32_t next);

  bool entry(std::uint32_t b);

  [[nodiscard]] unsigned header_room(std::uint32_t, std::size_t candidates) const;

  // How many values may stay in registers through a loop that does not use them.
  [[nodiscard]] unsigned through_room(std::uint32_t header) const;

  // Values that must be in registers when the block is left to a block that is entered elsewhere too.
  std::vector<std::uint32_t> wanted_at_exit(std::uint32_t b) const;

  bool needs_old_value(std::uint32_t b, const Inst& i) const;

  // Something may have defined the temporary before this point of the block.
  [[nodiscard]] bool is_known(std::uint32_t b, std::uint32_t t) const;

  bool block(std::uint32_t b);

  bool unit(std::uint32_t b, std::uint32_t s, std::uint32_t e, const std::vector<std::uint32_t>& at_exit);

  // Everything that the unit reads and that is in a slot comes back in front of it.
  bool bring_in(std::uint32_t b, std::uint32_t s, std::uint32_t e, const std::vector<std::uint32_t>& at_exit);

  bool instruction(std::uint32_t b, std::uint32_t n, std::uint32_t e);

  bool simulate();

  // What a successor expects in registers and this block does not leave there.
  bool edges(std::uint32_t b);

  void make_at_end(std::uint32_t b, std::uint32_t at, std::uint32_t t);

  // Behind the unit of each definition, or where the block ends in a branch at the start of what follows.
  bool stores();

  // What was put in moves, within its bounds, to places that have thread switches already (spill_batch.cpp).
  void share_switches();
  void gather_stores(std::uint32_t b);
  void gather_fills(std::uint32_t b);
  [[nodiscard]] bool may_switch(std::uint32_t b, std::uint32_t place) const;
  [[nodiscard]] bool has_room(std::uint32_t b, std::uint32_t from, std::uint32_t to, unsigned more) const;

  struct Candidate {
    std::uint32_t block, index, temp;
    std::uint32_t until; ///< last place of the block where the value is still in its register
  };

  const Program& p_;
  const SpillOptions& o_;
  Liveness l_;
  NextUses next_;
  std::vector<std::vector<char>> places_;
  std::vector<Remat> remat_;
  std::vector<char> stored_, due_, late_;
  std::vector<unsigned> fixed_, pressure_;
  Place last_;
  std::string why_;
  // The state of the walk.
  std::vector<std::uint32_t> set_, where_, next_use_, held_, wanted_, defined_in_, defined_early_, known_in_,
      defined_;
  std::uint32_t hold_ = 0, want_ = 0, unit_ = 0;
  bool pin_out_ = false;
  std::vector<std::vector<Insertion>> insertions_;
  std::vector<std::vector<std::uint32_t>> entry_, exit_;
  std::vector<Candidate> candidates_;
  std::vector<std::uint32_t> open_; ///< per temporary: candidate of this block
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      left_;                                ///< per temporary: block and place it last left at
  std::uint32_t leaves_at_ = 0, block_ = 0; ///< where the walk is
  std::vector<char> switches_;              ///< per gap: directly behind a thread switch
  std::vector<unsigned> used_;              ///< registers taken, per gap
};

} // namespace lanewise::v3d::spilling
