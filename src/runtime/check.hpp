// All references against each other on one launch: the emulator on machine
// code, the interpreter on the IR after translation and after every pass, and
// the emitted SPIR-V on Vulkan.
#pragma once

#include <string>
#include <vector>

#include "runtime/compile.hpp"
#include "runtime/execute.hpp"

namespace lanewise::runtime {

struct CheckOptions {
  VulkanDevice* device = nullptr; ///< null: no SPIR-V run
  WaveSeating seating = WaveSeating::automatic;
  unsigned subgroup_size = 0; ///< invocations to count on; 0: what the device has
  bool exact_nan = false; ///< NaNs must agree in every bit; else any two NaNs
                          ///< of a float buffer are equal
  bool interpreter = true;
  std::vector<std::string> without; ///< passes left out (passes/pipeline.hpp)
  Calls calls = Calls::by_cost;
  bool validate = true; ///< the SPIR-V validator
  ExecuteOptions execute;
};

struct CheckStep {
  std::string name; ///< "interpreter after pass 3 (simplify)"
  enum class Outcome : uint8_t { reference, equal, different, failed } outcome = Outcome::equal;
  std::string text; ///< the first difference, or the error
  double ms = 0;
};

struct CheckReport {
  std::vector<CheckStep> steps;
  [[nodiscard]] bool passed() const;
};

/// Runs them all; goes on after a difference, so that the report shows where it
/// first appears. Errors only for what makes the comparison impossible: a
/// launch that does not fit the kernel, or a kernel that the reference refuses.
[[nodiscard]] Expected<CheckReport> check_references(const Launch& launch, const CheckOptions& options);

/// The first difference of two buffers, as "out[17]: 3 and 4 (0x3 and 0x4), 5
/// of 64 elements differ"; empty if there is none.
[[nodiscard]] std::string first_difference(const Buffer& a, const Buffer& b, bool exact_nan);

} // namespace lanewise::runtime
