// The control flow of a kernel with its calls inlined. A node is a block of code in a context, and a context
// is a chain of call sites: a function that is called twice has two sets of nodes.
//
// Where s_swappc_b64 and s_setpc_b64 lead is found by following code addresses through scalar registers,
// lanes of VGPRs (where clang keeps saved return addresses) and tables of the image, optimistically along the
// graph as it grows (Wegman and Zadeck, "Constant propagation with conditional branches", 1991).
#pragma once

#include "translate/code.hpp"

#include <array>

namespace lanewise::translate {

struct Context {
  uint32_t parent = 0;      ///< context of the caller; context 0 is the kernel
  uint32_t function_pc = 0; ///< entry of the function that runs
  uint32_t return_pc = 0;   ///< behind the call
  uint32_t depth = 0;
};

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
};

struct Graph {
  Code code;
  std::vector<Node> nodes; ///< 0 is the entry; all are reachable
  std::vector<Context> contexts{1};

  [[nodiscard]] const CodeBlock& block(const Node& n) const { return code.blocks()[n.block]; }
};

/// Errors: what Code::explore reports, calls and jumps whose target depends on data, recursion, and the
/// limits max_call_depth and max_inlined_instructions.
[[nodiscard]] Expected<Graph> build_graph(const container::ShaderBinary& binary, uint32_t entry,
                                          rdna2::WaveSize wave);

} // namespace lanewise::translate
