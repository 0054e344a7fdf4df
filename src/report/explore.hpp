// One page for one kernel: machine code, IR and SPIR-V beside each other, masks, live values, control flow
// (docs/explore.md).
#pragma once

#include "analysis/pressure.hpp"
#include "report/guest_code.hpp"
#include "report/measure.hpp"

#include <array>
#include <string>
#include <vector>

namespace lanewise::report {

inline constexpr uint32_t kNoIndex = ~0u;

/// A line of one of the three columns.
struct ExploreLine {
  std::string text;
  uint32_t guest = kNoIndex; ///< instruction that it comes from, in ExploreData::code
  uint32_t value = 0;        ///< lowered IR and SPIR-V: number that counterparts share; 0: none
};

/// What is known of one machine instruction.
struct ExploreGuest {
  uint32_t exec = kNoIndex;                 ///< in ExploreData::formulas; none: the IR never gets there
  uint32_t depth = 0;                       ///< masks around it, the launched lanes not counted
  bool begins = false;                      ///< EXEC differs from the line before
  uint32_t block = kNoIndex;                ///< in ExploreData::blocks, where one starts here
  analysis::LiveWords before, after, bound; ///< live at most in what it became
};

struct ExploreKept {
  uint32_t select = kNoIndex, observer = kNoIndex; ///< instructions
  std::string_view operation, why;
};

/// A basic block of the IR after the passes.
struct ExploreBlock {
  uint32_t guest = kNoIndex; ///< first instruction
  uint32_t pc = 0, instructions = 0, loop_depth = 0;
  std::vector<uint32_t> successors; ///< of a condition: if it holds, if not
};

struct ExploreData {
  std::string title; ///< kernel
  ShaderRecord record;
  GuestCode code;
  std::vector<ExploreGuest> guest;   ///< by instruction
  std::vector<std::string> formulas; ///< E0, E1, ...; later ones may name those before them
  std::vector<ExploreLine> optimised, lowered, spirv;
  std::vector<ExploreKept> kept;
  std::vector<ExploreBlock> blocks;
};

/// Compiles the kernel and gathers all that the page shows. Errors: as measure().
[[nodiscard]] Expected<ExploreData> explore(const container::ShaderBinary& binary,
                                            const container::Kernel& kernel, const MeasureOptions& options);

/// The page: one HTML document that needs nothing from outside.
[[nodiscard]] std::string to_html(const ExploreData& data);

} // namespace lanewise::report
