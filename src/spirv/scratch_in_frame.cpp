#include "spirv/scratch_in_frame.hpp"

#include <algorithm>

namespace lanewise::spirv {

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
/// The first pair is found behind about users / kStores rounds over all users.
constexpr uint32_t kStores = 128;

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

} // namespace

bool keep_scratch_in_frame(ir::Program& program) {
  Function& f = program.main;
  uint64_t users = scratch_users(f);
  for (const ir::CalleeFunction& c : program.callees) users += scratch_users(c.function);
  if (f.scratch_bytes < 4 || users < kMany) return false;

  const uint32_t words = f.scratch_bytes / 4, stores = std::min(words, kStores);
  const uint64_t access = MemoryAccess{.space = Space::scratch, .bytes = 4, .align = 4}.pack();
  std::vector<Value> head;
  for (uint32_t i = 0; i < stores; ++i) {
    const uint64_t word = uint64_t{i} * words / stores;
    const Value operands[] = {f.constant(Type::i32, 4 * word), f.constant(Type::u1, 1),
                              f.constant(Type::i32, 0)};
    head.push_back(f.create(Op::store, operands, Type::none, access));
  }
  head.push_back(f.create(Op::barrier, {}, Type::none, ir::kBarrierLdsOnly));
  auto& entry = f.blocks[0].instructions;
  entry.insert(entry.begin(), head.begin(), head.end());
  return true;
}

} // namespace lanewise::spirv
