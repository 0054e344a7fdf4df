// Which values are in registers where: decided before colouring, from the pressure at each point.
//
// The planner walks the program once with a set of values that are in registers (Belady's rule: what is used
// furthest from here leaves), block by block. Values that can be made again (uniforms, constants, cheap
// arithmetic on them) leave for nothing. Others get a slot: stored once behind each definition, read back in
// front of the unit of instructions that needs them. A unit is a stretch without a place for a thread switch:
// a TMU sequence, a pair of multop and umul24, a use of flags, everything behind the last thread switch.
#pragma once

#include "v3d/liveness.hpp"

#include <memory>
#include <string>
#include <vector>

namespace lanewise::v3d {

struct SpillOptions {
  unsigned registers = 64; ///< values that may be in registers at once, the spill base among them
  unsigned file = 64; ///< those among them that may live across a thread switch (4.2's accumulators do not)
  bool allow_spills = true;
  bool rematerialise = true;    ///< uniforms and constants
  bool remat_arithmetic = true; ///< and cheap arithmetic on them
  unsigned max_remat_cost = 20; ///< instructions that making a value again may take
  bool share_slots = true;
  bool batch = true;         ///< several fills and stores behind one thread switch
  bool vectors = true;       ///< neighbouring slots in one access
  double vector_share = 0.5; ///< part of the words that vectors must move before slots lie in rows
  bool weigh_loops = true;
  double stored_bias = 6.0; ///< how much further away a value that already has a slot counts
  double remat_bias = 1e5;  ///< the same for a value that can be made again: it leaves first
};

struct SpillResult {
  bool fits = false;
  std::string why;       ///< why it does not fit
  unsigned spills = 0;   ///< values stored
  unsigned fills = 0;    ///< values read back
  unsigned weighted = 0; ///< each times ten for every loop around it
  unsigned remats = 0;   ///< values made again, in instructions
  unsigned switches = 0; ///< thread switches put in
  unsigned vectors = 0;  ///< accesses of two to four words
  unsigned slots = 0;
};

/// Facts about values that the planner and the reordering share.
struct Remat {
  enum Kind : std::uint8_t { none, load, arithmetic } kind = none;
  std::uint32_t block = 0, index = 0; ///< where the one definition stands
  unsigned cost = 0;                  ///< instructions, with those of the operands
};

/// What can be made again at any point, by temporary.
[[nodiscard]] std::vector<Remat> find_rematerialisable(const Program& p, const SpillOptions& options);

namespace spilling {
class Planner;
}

/// Plans one program for different numbers of registers; what does not depend on them is worked out once.
class SpillPlanner {
 public:
  SpillPlanner(const Program& p, const SpillOptions& options);
  SpillPlanner(SpillPlanner&&) noexcept;
  SpillPlanner& operator=(SpillPlanner&&) noexcept;
  ~SpillPlanner();

  /// The program with spills, in `out`; where it does not fit, that is left alone.
  [[nodiscard]] SpillResult plan(unsigned registers, Program& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Where in each block a thread switch may be put in, by index of the instruction behind it (size + 1
/// entries).
[[nodiscard]] std::vector<std::vector<char>> switch_places(const Program& p);

/// The last thread switch of the program: block and index, no_index if there is none.
struct Place {
  std::uint32_t block = no_index, index = no_index;
};
[[nodiscard]] Place last_switch(const Program& p);

/// Listings end in a thread switch that is there only so that all spills land before it. Without spills it
/// goes: if another switch on every path stands before it, or in a stage that starts behind its last switch.
void drop_needless_switch(Program& p);

/// Gives every web of definitions and uses a temporary of its own, so that the pieces of a value that was
/// stored and read back need not share a register. Removes what is defined and never read (loads, copies).
void split_webs(Program& p);

} // namespace lanewise::v3d
