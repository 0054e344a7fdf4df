// The register allocator: from VIR to VIR over registers, by a few strategies over one analysis each.
#pragma once

#include "v3d/color.hpp"
#include "v3d/reorder.hpp"
#include "v3d/spill.hpp"

namespace lanewise::v3d {

struct AllocateOptions {
  unsigned threads = 0; ///< 0: as many as the program can have with the least loss
  SpillOptions spill;
  ColorOptions color;
  bool reorder = true;
  bool bundles = true; ///< orders of bundles, not only of instructions
};

/// Switches off a feature by name (feature_names()), for measurements. False if there is none of that name.
[[nodiscard]] bool switch_off(AllocateOptions& o, std::string_view feature);
[[nodiscard]] std::string feature_names();

struct Allocation {
  Program before;  ///< the listing that was chosen, in the order that was allocated, over temporaries
  Program program; ///< over registers
  unsigned threads = 4;
  std::size_t listing = 0; ///< which of the listings it is
  SpillResult spills;
  unsigned copies_removed = 0;
  unsigned max_temps = 0; ///< most values live at once
  std::string strategy;
};

/// Allocates one of the listings of a shader (the first that does best). Errors say why none could be.
[[nodiscard]] Expected<Allocation> allocate(const std::vector<Program>& listings,
                                            const AllocateOptions& options);

/// That allocation first, and where it needs no spills others with as many threads, of other orders or
/// listings, so that the one with the shortest words can be taken. Never empty.
[[nodiscard]] Expected<std::vector<Allocation>>
allocate_several(const std::vector<Program>& listings, const AllocateOptions& options, std::size_t most);

} // namespace lanewise::v3d
