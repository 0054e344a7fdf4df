#include "ir/ir.hpp"

#include <bit>

#include <algorithm>

namespace lanewise::ir {

constexpr std::array<OpInfo, kOpCount> kOpInfos{{
#define LANEWISE_IR_OP(name, operands, result, kind)                                                         \
  OpInfo{#name, operands, ResultRule::result, OpKind::kind},
#include "ir/ops.def"
#undef LANEWISE_IR_OP
}};

bool is_uniform(Input input) { return input < Input::local_id_x; }

Type type_of(Input which) {
  switch (which) {
  case Input::kernarg_ptr:
  case Input::dispatch_ptr:
  case Input::queue_ptr:
  case Input::dispatch_id:
  case Input::image_base: return Type::i64;
  case Input::initial_exec: return Type::u1;
  default: return Type::i32;
  }
}

int LanePattern::source(unsigned lane) const {
  const unsigned row = lane & ~15u, in_row = lane & 15u, group32 = lane & ~31u, in32 = lane & 31u;
  switch (kind) {
  case Kind::quad_perm: return static_cast<int>((lane & ~3u) | (arg >> (2 * (lane & 3)) & 3));
  case Kind::row_shl: return in_row + arg <= 15 ? static_cast<int>(lane + arg) : -1;
  case Kind::row_shr: return in_row >= arg ? static_cast<int>(lane - arg) : -1;
  case Kind::row_ror: return static_cast<int>(row | ((in_row - arg) & 15));
  case Kind::row_mirror: return static_cast<int>(row | (15 - in_row));
  case Kind::row_half_mirror: return static_cast<int>((lane & ~7u) | (7 - (lane & 7)));
  case Kind::row_share: return static_cast<int>(row | arg);
  case Kind::row_xmask: return static_cast<int>(row | (in_row ^ arg));
  case Kind::dpp8: return static_cast<int>((lane & ~7u) | (arg >> (3 * (lane & 7)) & 7));
  case Kind::swizzle_xor:
    return static_cast<int>(group32 | (((in32 & (arg & 31)) | (arg >> 5 & 31)) ^ (arg >> 10 & 31)));
  case Kind::rotate32: {
    const unsigned kept = arg & 31, amount = arg >> 5 & 31;
    const unsigned turned = arg >> 10 & 1 ? in32 - amount : in32 + amount;
    return static_cast<int>(group32 | (in32 & kept) | (turned & ~kept & 31));
  }
  case Kind::fft: {
    unsigned reversed = 0;
    for (unsigned b = 0; b < 5; ++b) reversed |= (in32 >> b & 1) << (4 - b);
    const unsigned kept = arg & 31;
    return static_cast<int>(group32 | reversed >> std::popcount(kept) | (in32 & kept));
  }
  case Kind::half_swap: return static_cast<int>(lane ^ 16);
  }
  return -1;
}

Block Function::add_block(uint32_t pc) {
  blocks.emplace_back().pc = pc;
  return {static_cast<uint32_t>(blocks.size() - 1)};
}

void Function::add_edge(Block b, Block target) {
  BasicBlock& from = blocks[b.index];
  assert(from.successor_count < 2);
  from.successors[from.successor_count++] = target;
  blocks[target.index].predecessors.push_back(b);
}

Value Function::constant(Type type, uint64_t bits) {
  bits &= bit_width(type) >= 64 ? ~uint64_t{0} : (uint64_t{1} << bit_width(type)) - 1;
  auto [it, inserted] = constants_.try_emplace(ConstantKey{type, bits});
  if (inserted) {
    it->second = {static_cast<uint32_t>(insts_.size())};
    insts_.push_back({.op = Op::constant, .type = type, .uniform = true, .imm = bits});
  }
  return it->second;
}

bool Function::derive_uniform(Op op, std::span<const Value> ops, uint64_t imm) const {
  const auto all = [&] {
    for (const Value v : ops)
      if (!insts_[v.index].uniform) return false;
    return true;
  };
  switch (info(op).kind) {
  case OpKind::constant: return true;
  case OpKind::input:
    return op == Op::host_wave || op == Op::param_scalar ||
           (op == Op::input && is_uniform(static_cast<Input>(imm)));
  case OpKind::gather: return false;
  case OpKind::reduce: return true;
  case OpKind::effect: return true;
  case OpKind::atomic: return false;
  case OpKind::load: {
    // Scratch is each lane's own, a flat address may lead there, and a descriptor may add the lane.
    const Space space = MemoryAccess::unpack(imm).space;
    return op == Op::load && space != Space::scratch && space != Space::flat && all();
  }
  default: return all();
  }
}

Type Function::result_type(Op op, std::span<const Value> ops, Type type) const {
  switch (info(op).result) {
  case ResultRule::none: return Type::none;
  case ResultRule::same0: return insts_[ops[0].index].type;
  case ResultRule::same1: return insts_[ops[1].index].type;
  case ResultRule::u1: return Type::u1;
  case ResultRule::i32: return Type::i32;
  case ResultRule::i64: return Type::i64;
  case ResultRule::word: return word_type();
  case ResultRule::any: break;
  }
  return type;
}

Value Function::create(Op op, std::span<const Value> ops, Type type, uint64_t imm, uint8_t components,
                       uint32_t pc) {
  type = result_type(op, ops, type);
  const Value v{static_cast<uint32_t>(insts_.size())};
  const auto begin = static_cast<uint32_t>(operand_pool_.size());
  const bool uniform = derive_uniform(op, ops, imm);
  if (operand_pool_.capacity() - begin < ops.size()) {
    // `ops` may point into the pool itself.
    const Value* pool = operand_pool_.data();
    const bool inside = ops.data() >= pool && ops.data() < pool + begin;
    const size_t offset = inside ? static_cast<size_t>(ops.data() - pool) : 0;
    operand_pool_.reserve(2 * operand_pool_.capacity() + ops.size());
    if (inside) ops = {operand_pool_.data() + offset, ops.size()};
  }
  for (const Value o : ops) operand_pool_.push_back(o);
  insts_.push_back({.op = op,
                    .type = type,
                    .components = components,
                    .uniform = uniform,
                    .operand_count = static_cast<uint16_t>(ops.size()),
                    .operand_begin = begin,
                    .imm = imm,
                    .pc = pc});
  return v;
}

Value Function::append(Block b, Op op, std::span<const Value> ops, Type type, uint64_t imm,
                       uint8_t components, uint32_t pc) {
  const Value v = create(op, ops, type, imm, components, pc);
  blocks[b.index].instructions.push_back(v);
  return v;
}

void Function::set_operands(Value v, std::span<const Value> ops) {
  Inst& inst = insts_[v.index];
  if (ops.size() > inst.operand_count) {
    inst.operand_begin = static_cast<uint32_t>(operand_pool_.size());
    operand_pool_.resize(operand_pool_.size() + ops.size());
  }
  inst.operand_count = static_cast<uint16_t>(ops.size());
  std::ranges::copy(ops, operand_pool_.begin() + inst.operand_begin);
}

} // namespace lanewise::ir
