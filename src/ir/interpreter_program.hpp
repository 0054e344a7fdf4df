// Internal to ir/interpreter: a function with operands as places in a wave's array of 64-bit slots.
#pragma once

#include "ir/evaluate.hpp"

#include <unordered_map>

namespace lanewise::ir::interpreter {

/// Where a value lies. A per-lane value has `lanes` slots in a row for each component, a uniform one a single
/// slot; `stride` is 1 or 0, so that slot + lane * stride is right for both.
struct Place {
  uint32_t slot = 0;
  uint8_t stride = 0;
};

struct Code {
  Op op{};
  Type type{}, operand_type{};
  uint8_t components = 1;
  bool uniform = false;
  uint16_t operand_count = 0;
  uint32_t first_operand = 0;
  uint32_t slot = 0;
  uint32_t pc = 0;
  uint64_t imm = 0;
  Evaluator evaluate = nullptr;
};

/// One phi's copy on an edge.
struct Move {
  Place from;
  uint32_t slot = 0;
  bool uniform = false;
};

struct Edge {
  uint32_t target = 0; ///< index into Program::code
  uint32_t first_move = 0, move_count = 0;
};

struct Program {
  /// `f` must be verified. Values that live in one block share slots. `apart`: lanes may execute one after
  /// the other.
  Program(const Function& f, unsigned lanes, bool apart);

  unsigned lanes;
  bool apart;
  bool alone = false; ///< apart, and no lane has to do with another between barriers
  /// Lanes take branches of their own: every value is per lane, and blocks lie in the order in which lanes
  /// wait for each other, loops before what follows them.
  bool divergent;
  uint32_t slots = 0;
  std::vector<Code> code;
  std::vector<Place> operands;
  std::vector<std::pair<uint32_t, uint64_t>> constants; ///< slot, bits
  std::vector<Edge> edges;                              ///< of terminators: Code::slot is the first edge
  std::vector<Move> moves;
};

/// Operations that a lane executes by itself.
[[nodiscard]] bool is_single(const Code& c);

} // namespace lanewise::ir::interpreter
