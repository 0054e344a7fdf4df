#include "spirv/scratch_in_frame.hpp"

#include "ir/builder.hpp"

#include <array>
#include <optional>

namespace lanewise::spirv {

using ir::Block;
using ir::Function;
using ir::MemoryAccess;
using ir::Op;
using ir::Space;
using ir::Type;
using ir::Value;

namespace {

/// Users that LLVM sees of one component's access, for a subgroup of 8: a vector at a known address; a
/// pointer and a load or store for each lane, and the base of them all.
constexpr uint64_t kUsersKnown = 2, kUsersComputed = 17;
/// From here on the question takes longer than a tenth of a second (0.13 us a pair).
constexpr uint64_t kMany = 1000;

uint64_t scratch_users(const Function& f) {
  uint64_t users = 0;
  for (const ir::BasicBlock& b : f.blocks)
    for (const Value v : b.instructions) {
      const Op op = f[v].op;
      if (op != Op::load && op != Op::store && op != Op::atomic) continue;
      const Space space = MemoryAccess::unpack(f[v].imm).space;
      if (space != Space::scratch && space != Space::flat) continue;
      const unsigned components = op == Op::store ? f[v].operand_count - 2u : f[v].components;
      users += components * (f.is_constant(f.operand(v, 0)) ? kUsersKnown : kUsersComputed);
    }
  return users;
}

/// The block that every wave ends in, if there is one.
std::optional<Block> only_end(const Function& f) {
  std::optional<Block> end;
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    if (f.blocks[b].instructions.empty() || f.blocks[b].successor_count != 0) continue;
    if (end || f[f.blocks[b].instructions.back()].op != Op::ret) return {};
    end = Block{b};
  }
  return end;
}

} // namespace

bool keep_scratch_in_frame(ir::Program& program) {
  Function& f = program.main;
  uint64_t users = scratch_users(f);
  for (const ir::CalleeFunction& c : program.callees) users += scratch_users(c.function);
  const auto end = only_end(f);
  if (f.scratch_bytes < 4 || users < kMany || !end) return false;

  auto& list = f[*end].instructions;
  const Value ret = list.back();
  list.pop_back();
  ir::Builder b(f, *end);
  b.append(Op::barrier, {}, Type::none, ir::kBarrierLdsOnly);
  b.append(Op::store, std::array{b.i32(0), b.u1(true), b.i32(0)}, Type::none,
           MemoryAccess{.space = Space::scratch}.pack());
  list.push_back(ret);
  return true;
}

} // namespace lanewise::spirv
