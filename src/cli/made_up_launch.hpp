// Launches made up from what a kernel's metadata says of its arguments, spelled as the options that run them
// again.
#pragma once

#include "runtime/launch.hpp"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lanewise::cli {

/// What buffers hold.
enum class Fill : uint8_t {
  any,   ///< random: the whole range of an integer type, floats in [0, 1)
  small, ///< random below 64; floats below 4
  ones,
  iota,
  zeros
};

/// How many work-items there are. `cut` leaves the last workgroup smaller where the kernel allows it.
enum class Shape : uint8_t {
  cut_row,   ///< two workgroups in a row, the second cut
  row,       ///< two whole workgroups in a row
  cut_plane, ///< two by two workgroups in a plane, cut on both sides
  one,       ///< a single workgroup
  few        ///< four work-items
};

/// How to make up a launch. The same recipe and seed make the same launch of a kernel.
struct Recipe {
  std::string_view name;
  Fill fill = Fill::any;
  uint32_t elements = 4096; ///< of each buffer
  /// Of integers by value, struct members included (32 bits each); floats are half above. Empty: each is
  /// varied.
  std::optional<uint32_t> number = 7;
  Shape shape = Shape::cut_row;
};

/// A launch as the options of `lanewise run`.
struct MadeUpLaunch {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::vector<std::string> arguments; ///< of --arg
};

/// Spelled for a shell.
[[nodiscard]] std::string command_line(const MadeUpLaunch& launch);

/// Texts for --arg, one for each explicit argument of the kernel.
[[nodiscard]] std::vector<std::string> make_up_arguments(const container::Kernel& kernel,
                                                         const Recipe& recipe, uint64_t seed);
/// The same with grid and block. Workgroups have 64 work-items where the kernel does not want others.
[[nodiscard]] MadeUpLaunch make_up(const container::Kernel& kernel, const Recipe& recipe, uint64_t seed);

[[nodiscard]] Expected<runtime::Launch>
launch_of(const container::ShaderBinary& binary, const container::Kernel& kernel, const MadeUpLaunch& launch);

/// The recipes that find_launch tries, in order.
[[nodiscard]] std::span<const Recipe> recipes();

struct FindOptions {
  uint64_t seed = 1;
  uint64_t most_instructions = 1 << 16; ///< of a wave
};
/// A launch that runs.
struct FoundLaunch {
  MadeUpLaunch launch;
  std::string_view recipe;
  bool wrote = false; ///< it changes its buffers
  /// What it writes does not depend on the order of waves, on addresses or the clock, as far as other choices
  /// tell.
  bool determined = true;
  uint64_t instructions = 0; ///< executed, of all waves
};
/// The first launch that ends on the emulator, changes memory and is determined; without one, one that
/// changes memory, or else one that ends; of those the longest. Errors: `unsupported` for arguments that
/// cannot be passed, else what ended the last launch.
[[nodiscard]] Expected<FoundLaunch> find_launch(const container::ShaderBinary& binary,
                                                const container::Kernel& kernel, const FindOptions& options);

} // namespace lanewise::cli
