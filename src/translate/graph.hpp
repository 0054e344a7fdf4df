// The control flow of a kernel with its calls inlined. A node is a block of code in a context, and a context
// is a chain of call sites: a function that is called twice has two sets of nodes.
//
// Where s_swappc_b64 and s_setpc_b64 lead is found by following code addresses through scalar registers,
// lanes of VGPRs (where clang keeps saved return addresses) and tables of the image, optimistically along the
// graph as it grows (Wegman and Zadeck, "Constant propagation with conditional branches", 1991).
#pragma once

#include "translate/code.hpp"
#include "translate/entry.hpp"
#include "translate/unlinked.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace lanewise::translate {

struct Context {
  uint32_t parent = 0;      ///< context of the caller; context 0 is the kernel
  uint32_t function_pc = 0; ///< entry of the function that runs
  uint32_t return_pc = 0;   ///< behind the call
  uint32_t depth = 0;
};

inline constexpr uint32_t no_slot = UINT32_MAX;

struct Node {
  uint32_t block = 0; ///< of Code::blocks()
  uint32_t context = 0;
  uint8_t successor_count = 0;
  std::array<uint32_t, 2> successors{}; ///< nodes; of Exit::cond: if taken, if not
  /// The target of the call or jump is compared with this address at run time, because it could not be
  /// proved.
  bool checked = false;
  uint32_t expected_pc = 0;
  bool is_return = false; ///< Exit::jump that goes back to the caller
  bool leaves =
      false; ///< Exit::jump that ends a callee: to the address that registers `link` had at its entry
  uint8_t link = 0;
  uint32_t slot = no_slot; ///< of Graph::slots: calls code that is not known yet
};

struct Graph {
  Code code;
  std::vector<Node> nodes; ///< 0 is the entry; all are reachable
  std::vector<Context> contexts{1};
  std::unique_ptr<Origins> origins = std::make_unique<Origins>();
  std::vector<CallSlot> slots{};
  /// What has to hold for the graph to be right. Sorted; slots by number.
  std::vector<Preserved> preserved{};
  bool callee = false;
  std::span<const CalledFunction> functions{}; ///< that slots may lead to; sorted by entry
  unsigned vgprs = 0;                          ///< registers that calls through slots may read and write

  [[nodiscard]] const CodeBlock& block(const Node& n) const { return code.blocks()[n.block]; }
  /// The function of a slot; null for a pointer.
  [[nodiscard]] const CalledFunction* function_of(const CallSlot& slot) const {
    if (!slot.function) return nullptr;
    const auto at = std::ranges::lower_bound(functions, *slot.function, {}, &CalledFunction::entry);
    return at != functions.end() && at->entry == *slot.function ? &*at : nullptr;
  }
};

struct GraphOptions {
  /// What scalar registers hold at the start of a kernel; null for a callee.
  const std::array<EntryValue, 106>* entry = nullptr;
  unsigned vgprs = 256;
  /// Functions whose calls become slots; sorted by entry.
  std::span<const CalledFunction> functions{};
  bool all_functions = false; ///< the same for every function that a call leads to
  Code* explored = nullptr;   ///< code in which the entry was explored, to be moved from
};

/// Errors: what Code::explore reports, calls and jumps whose target the host cannot know, recursion, and the
/// limits max_call_depth, max_inlined_instructions and max_call_slots.
[[nodiscard]] Expected<Graph> build_graph(const container::ShaderBinary& binary, uint32_t entry,
                                          rdna2::WaveSize wave, const GraphOptions& options);

} // namespace lanewise::translate
