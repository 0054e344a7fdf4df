// All references against each other on one launch: the emulator on machine
// code, the interpreter on the IR after translation and after every pass, and
// the emitted SPIR-V on Vulkan.
#pragma once

#include <string>
#include <vector>

#include "runtime/compile.hpp"
#include "runtime/differences.hpp"
#include "runtime/execute.hpp"

namespace lanewise::runtime {

struct CheckOptions {
  VulkanDevice* device = nullptr; ///< null: no SPIR-V run
  WaveSeating seating = WaveSeating::automatic;
  unsigned subgroup_size = 0; ///< invocations to count on; 0: what the device has
  bool exact_nan = false;     ///< NaNs must agree in every bit; else any two NaNs
                              ///< of a float buffer are equal
  bool interpreter = true;
  std::vector<std::string> without; ///< passes left out (passes/pipeline.hpp)
  /// Compiled once more with each of these lists left out; the interpreter runs what the passes and wave
  /// lowering leave.
  std::vector<std::vector<std::string>> variants;
  Calls calls = Calls::by_cost;
  bool validate = true; ///< the SPIR-V validator
  ExecuteOptions execute;
};

struct CheckStep {
  /// What ran: the emulator on machine code, the interpreter on the IR of a stage, or SPIR-V.
  enum class By : uint8_t { emulator, translation, passes, lowering, spirv } by = By::emulator;
  std::string name; ///< "interpreter after pass 3 (simplify)"
  enum class Outcome : uint8_t {
    reference,
    equal,
    approximate,  ///< SPIR-V of a program with approximate instructions, whose accuracy is the driver's: only
                  ///< floats differ, by at most kApproximateUlps
    undetermined, ///< only elements differ that the program leaves to the order of waves, addresses or the
                  ///< clock
    different,
    failed
  } outcome = Outcome::equal;
  std::string text; ///< the first difference, or the error
  ErrorKind kind{}; ///< of the error
  double ms = 0;
  Distance distance{}; ///< of an approximate result
};

/// Results of approximate instructions may be so far from the reference. What Vulkan allows log2 near 1, an
/// absolute error of 2^-21, comes to some 170 there; what else was seen lies below 20 (docs/benchmarks.md).
inline constexpr double kApproximateUlps = 256;
/// How far results of programs with logarithms may lie apart anyway: Vulkan lets a logarithm of a number near
/// 1 be off by so much, which is many ulps of a result near 0 ("Precision of GLSL.std.450 Instructions").
inline constexpr double kApproximateNear0 = 0x1p-21;

struct CheckReport {
  std::vector<CheckStep> steps;
  [[nodiscard]] bool passed() const;
  bool changed_memory = false; ///< the emulator's run did
  uint64_t instructions = 0;   ///< that the emulator executed
};

/// Runs them all; goes on after a difference, so that the report shows where it
/// first appears. Errors only for what makes the comparison impossible: a
/// launch that does not fit the kernel, or a kernel that the reference refuses.
[[nodiscard]] Expected<CheckReport> check_references(const Launch& launch, const CheckOptions& options);

} // namespace lanewise::runtime
