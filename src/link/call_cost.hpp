// Which callees of fixed calls become functions of the module, and which are inlined (docs/calls.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lanewise::link {

/// A function of a program, as the cost rule sees it.
struct CallNode {
  uint32_t instructions = 0;   ///< guest instructions of its own
  std::vector<uint32_t> calls; ///< by call site: the function called
  bool callable = false;       ///< false: it has to be inlined
  uint32_t scratch = 0;        ///< accesses of private memory among the instructions
};

/// Costs in guest instructions. Measured on the corpus: see docs/calls.md.
struct CallCosts {
  /// One call: operands, results, and the exec mask, which inlining often knows to be what it was.
  uint32_t call = 24;
  /// A function: its parameters, and that what its callers know - constants, masks, scratch addresses - is
  /// not known in it.
  uint32_t function = 64;
  /// What an access of private memory costs more where anything is called: where nothing is, stack pointers
  /// are numbers and memory becomes values (passes::scratch_values).
  uint32_t scratch_access = 8;
  bool always = false; ///< every callable function becomes one, whatever it costs
};

/// For each function, whether calls of it stay calls: where
///   copies x size > size + function + copies x call
/// `copies` are what inlining would make, below those callers that are functions themselves; the size has
/// what it calls inlined. None if the program is not smaller for it, `scratch_access` counted. Function 0 is
/// the kernel. None if the calls are recursive: inlining says so. Growth: linear in call sites.
[[nodiscard]] std::vector<bool> choose_functions(std::span<const CallNode> nodes, const CallCosts& costs);

} // namespace lanewise::link
