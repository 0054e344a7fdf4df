// Inputs, the host subgroup, order, and the ends of a program.
#include "spirv/emitter.hpp"

#include <bit>

namespace lanewise::spirv {
namespace {

using ir::Input;
using ir::Op;
using ir::Type;
using ir::Value;

constexpr uint32_t acquire_release = 0x8, uniform_memory = 0x40, subgroup_memory = 0x80,
                   workgroup_memory = 0x100;

void write_input(Emitter& e, Value v) {
  const auto which = static_cast<Input>(e.f[v].imm);
  if (const auto offset = push_offset(which)) return e.bind(v, e.load_push(e.code, *offset));
  if (which > Input::workgroup_id_z) return e.refuse(v, "wave-level input", "lower waves first");
  const Id all = e.load_builtin(e.code, spv::BuiltIn::WorkgroupId, e.types.tuple(Type::i32, 3));
  e.make(v, spv::Op::OpCompositeExtract,
         {all, static_cast<uint32_t>(which) - static_cast<uint32_t>(Input::workgroup_id_x)});
}

// -- the host subgroup
// ------------------------------------------------------------------------------------------------

bool one_invocation(const Emitter& e) { return e.options.seating.host_lanes == 1; }

void write_host_lane(Emitter& e, Value v) {
  if (one_invocation(e)) return e.bind(v, e.module.u32(0));
  if (e.options.seating.independent)
    return e.make(v, spv::Op::OpBitwiseAnd,
                  {e.load_builtin(e.code, spv::BuiltIn::LocalInvocationIndex, e.types[Type::i32]),
                   e.module.u32(e.options.seating.host_lanes - 1)});
  e.module.capability(spv::Capability::GroupNonUniform);
  e.bind(v, e.load_builtin(e.code, spv::BuiltIn::SubgroupLocalInvocationId, e.types[Type::i32]));
}

void write_host_wave(Emitter& e, Value v) {
  if (e.options.seating.waves() == 1) return e.bind(v, e.module.u32(0));
  if (one_invocation(e))
    return e.bind(v, e.load_builtin(e.code, spv::BuiltIn::LocalInvocationIndex, e.types[Type::i32]));
  if (e.options.seating.independent)
    return e.make(v, spv::Op::OpShiftRightLogical,
                  {e.load_builtin(e.code, spv::BuiltIn::LocalInvocationIndex, e.types[Type::i32]),
                   e.module.u32(static_cast<uint32_t>(std::countr_zero(e.options.seating.host_lanes)))});
  e.module.capability(spv::Capability::GroupNonUniform);
  e.bind(v, e.load_builtin(e.code, spv::BuiltIn::SubgroupId, e.types[Type::i32]));
}

void write_host_ballot(Emitter& e, Value v) {
  if (one_invocation(e)) {
    e.make(v, spv::Op::OpSelect, {e.operand_id(v, 0), e.module.u64(1), e.module.u64(0)});
    return;
  }
  e.module.capability(spv::Capability::GroupNonUniformBallot);
  const bool wide = e.options.seating.host_lanes > 32;
  const auto body = [&](Code& c, std::span<const Expr> x) {
    const Id words = c.op(spv::Op::OpGroupNonUniformBallot, c.types.tuple(Type::i32, 4),
                          {e.scope(spv::Scope::Subgroup), x[0].id});
    if (!wide) {
      const Id low = c.op(spv::Op::OpCompositeExtract, c.types[Type::i32], {words, 0});
      return resize(c.expr(low, Type::i32), Type::i64);
    }
    const Id pair = c.op(spv::Op::OpVectorShuffle, c.types.tuple(Type::i32, 2), {words, words, 0, 1});
    return c.expr(c.op(spv::Op::OpBitcast, c.types[Type::i64], {pair}), Type::i64);
  };
  const Helpers::Key key{static_cast<uint8_t>(Helper::lane), index_of(Op::host_ballot)};
  e.make_call(v, e.helpers.get(key, "ballot", e.types[Type::i64], std::array{Type::u1}, body),
              {e.operand_id(v, 0)});
}

void write_host_any(Emitter& e, Value v) {
  if (one_invocation(e)) return e.bind(v, e.operand_id(v, 0));
  e.module.capability(spv::Capability::GroupNonUniformVote);
  e.make(v, spv::Op::OpGroupNonUniformAny, {e.scope(spv::Scope::Subgroup), e.operand_id(v, 0)});
}

void write_host_shuffle(Emitter& e, Value v) {
  if (one_invocation(e)) return e.bind(v, e.operand_id(v, 0));
  e.module.capability(spv::Capability::GroupNonUniformShuffle);
  e.make(v, spv::Op::OpGroupNonUniformShuffle,
         {e.scope(spv::Scope::Subgroup), e.operand_id(v, 0), e.operand_id(v, 1)});
}

void write_host_broadcast(Emitter& e, Value v) {
  if (one_invocation(e)) return e.bind(v, e.operand_id(v, 0));
  e.module.capability(spv::Capability::GroupNonUniformBallot);
  e.make(v, spv::Op::OpGroupNonUniformBroadcast,
         {e.scope(spv::Scope::Subgroup), e.operand_id(v, 0), e.operand_id(v, 1)});
}

// -- order
// ----------------------------------------------------------------------------------------------------------------

/// Workgroups of one wave need no barrier among waves, only order among its invocations.
void write_barrier(Emitter& e, Value v) {
  const Id workgroup = e.scope(spv::Scope::Workgroup);
  const uint32_t memory =
      e.f[v].imm == ir::kBarrierLdsOnly ? workgroup_memory : uniform_memory | workgroup_memory;
  e.code.effect(spv::Op::OpControlBarrier, {workgroup, workgroup, e.module.u32(acquire_release | memory)});
}

void write_wave_fence(Emitter& e, Value) {
  if (one_invocation(e)) return;
  const Id subgroup = e.scope(spv::Scope::Subgroup);
  e.code.effect(spv::Op::OpControlBarrier,
                {subgroup, subgroup,
                 e.module.u32(acquire_release | uniform_memory | subgroup_memory | workgroup_memory)});
}

void write_group_fence(Emitter& e, Value) {
  e.code.effect(spv::Op::OpMemoryBarrier,
                {e.scope(spv::Scope::Workgroup), e.module.u32(acquire_release | uniform_memory)});
}

void write_memory_fence(Emitter& e, Value) {
  e.code.effect(spv::Op::OpMemoryBarrier,
                {e.scope(spv::Scope::Device), e.module.u32(acquire_release | uniform_memory)});
}

void write_clock(Emitter& e, Value v) {
  if (!e.options.device.shader_clock)
    return e.refuse(v, "the device has no shader clock", "VK_KHR_shader_clock, shaderSubgroupClock");
  e.module.capability(spv::Capability::ShaderClockKHR);
  e.module.extension("SPV_KHR_shader_clock");
  e.make(v, spv::Op::OpReadClockKHR, {e.scope(spv::Scope::Subgroup)});
}

// -- ends
// -----------------------------------------------------------------------------------------------------------------------

void write_return(Emitter& e, Value) { e.code.effect(spv::Op::OpReturn, {}), e.code.block = 0; }

/// The first trap of a dispatch writes the StatusBlock.
Expr trap_body(Emitter& e, Code& c, std::span<const Expr> x) {
  const Id u32 = c.types[Type::i32];
  const Id pointer = e.module.type_pointer(spv::StorageClass::PhysicalStorageBuffer, u32);
  const Expr base = e.load_push(c, offsetof(DispatchBlock, status_ptr));
  const auto at = [&](uint32_t offset) {
    return c.op(spv::Op::OpConvertUToPtr, pointer, {(base + offset).id});
  };
  const Id relaxed = e.module.u32(0), device = e.scope(spv::Scope::Device);
  const Id old = c.op(spv::Op::OpAtomicCompareExchange, u32,
                      {at(0), device, relaxed, relaxed, x[0].id, e.module.u32(0)});
  const Id then = e.module.new_id(), merge = e.module.new_id();
  const Expr first = c.expr(old, Type::i32) == 0;
  c.selection(merge);
  c.branch_if(first.id, then, merge);
  c.start(then);
  const auto store = [&](uint32_t offset, Id value) {
    c.effect(spv::Op::OpStore, {at(offset), value, static_cast<uint32_t>(spv::MemoryAccessMask::Aligned), 4});
  };
  store(offsetof(StatusBlock, pc), x[1].id);
  const Id group = e.load_builtin(c, spv::BuiltIn::WorkgroupId, c.types.tuple(Type::i32, 3));
  for (uint32_t i = 0; i < 3; ++i)
    store(offsetof(StatusBlock, workgroup) + 4 * i, c.op(spv::Op::OpCompositeExtract, u32, {group, i}));
  const Id index = e.load_builtin(c, spv::BuiltIn::LocalInvocationIndex, u32);
  store(offsetof(StatusBlock, wave),
        c.op(spv::Op::OpUDiv, u32, {index, e.module.u32(e.options.seating.host_lanes)}));
  c.branch(merge);
  c.start(merge);
  return {};
}

void write_trap(Emitter& e, Value v) {
  const Helpers::Key key{static_cast<uint8_t>(Helper::trap), 0};
  const Id function = e.helpers.get(key, "trap", e.types[Type::none], std::array{Type::i32, Type::i32},
                                    [&](Code& c, std::span<const Expr> x) { return trap_body(e, c, x); });
  e.code.op(spv::Op::OpFunctionCall, e.types[Type::none],
            {function, e.module.u32(static_cast<uint32_t>(e.f[v].imm) + 1), e.module.u32(e.f[v].pc)});
  write_return(e, v);
}

} // namespace

void add_lane_handlers(HandlerTable& t) {
  t[index_of(Op::input)] = write_input;
  t[index_of(Op::host_lane)] = write_host_lane;
  t[index_of(Op::host_wave)] = write_host_wave;
  t[index_of(Op::host_ballot)] = write_host_ballot;
  t[index_of(Op::host_any)] = write_host_any;
  t[index_of(Op::host_shuffle)] = write_host_shuffle;
  t[index_of(Op::host_broadcast)] = write_host_broadcast;
  t[index_of(Op::barrier)] = write_barrier;
  t[index_of(Op::wave_fence)] = write_wave_fence;
  t[index_of(Op::memory_fence)] = write_memory_fence;
  t[index_of(Op::group_fence)] = write_group_fence;
  t[index_of(Op::clock)] = write_clock;
  t[index_of(Op::ret)] = write_return;
  t[index_of(Op::trap)] = write_trap;
}

} // namespace lanewise::spirv
