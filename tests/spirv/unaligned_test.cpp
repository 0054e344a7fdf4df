// Memory at any byte: guests may (packed structures, arrays of small ones). In SPIR-V LDS and scratch are
// arrays of words, and pointers into global memory have to be aligned to what they point to.
#include <cstring>
#include <random>

#include <fmt/format.h>

#include "ir/builder.hpp"
#include "ir/interpreter.hpp"
#include "spirv/alignment.hpp"
#include "support.hpp"

namespace lanewise::spirv {
namespace {

using ir::Builder;
using ir::Function;
using ir::Input;
using ir::MemoryAccess;
using ir::Space;
using ir::Type;
using ir::Value;

constexpr unsigned lanes = 32, room = 64, shown = 12; ///< bytes of a lane; words of a lane's output
constexpr uint64_t unaligned_base = 0x10000;

struct Access {
  Space space;
  uint8_t bytes, components;
  bool sign_extend = false;
  [[nodiscard]] std::string name() const {
    const auto* where = space == Space::lds ? "LDS" : space == Space::scratch ? "scratch" : "global";
    return fmt::format("{} {} x {}{}", where, components, bytes, sign_extend ? " signed" : "");
  }
};

/// In each lane: fills its room, stores at one byte, loads at another; the whole room and what was loaded are
/// written out. Input: two offsets and four words of data for a lane.
Function unaligned_program(const Access& a) {
  Function f(lanes);
  f.lds_bytes = a.space == Space::lds ? lanes * room : 0;
  f.scratch_bytes = a.space == Space::scratch ? room : 0;
  f.blocks.resize(1);
  Builder b(f);
  b.block = ir::Block{0};
  const Value yes = b.u1(true), lane = b.lane_id();
  const auto word = [&](unsigned k) {
    const Value at = b.add(b.shl(lane, b.i32(5)), b.i32(4 * k));
    return b.load(Type::i32, b.add(b.input(Input::kernarg_ptr), b.zext(at, Type::i64)), yes, {});
  };
  unsigned out = 0;
  const auto show = [&](Value v) {
    const Value at = b.add(b.mul(lane, b.i32(4 * shown)), b.i32(4 * out++));
    b.store(b.add(b.input(Input::dispatch_ptr), b.zext(at, Type::i64)), yes, v, {});
  };
  // A room in global memory lies behind the output of all lanes.
  const Value rooms = b.add(b.input(Input::dispatch_ptr), b.i64(lanes * shown * 4));
  const Value offset = b.mul(lane, b.i32(room));
  const auto place = [&](Value at) {
    if (a.space == Space::scratch) return at;
    const Value byte = b.add(offset, at);
    return a.space == Space::lds ? byte : b.add(rooms, b.zext(byte, Type::i64));
  };
  const auto in_room = [&](uint32_t at) { return place(b.i32(at)); };
  const MemoryAccess whole{.space = a.space};
  for (unsigned k = 0; k < 8; ++k) b.store(in_room(4 * k), yes, word(2 + k % 4), whole);
  MemoryAccess m{.space = a.space, .bytes = a.bytes, .align = a.bytes, .sign_extend = false};
  const Type type = a.bytes == 8 ? Type::i64 : Type::i32;
  std::vector<Value> data;
  for (unsigned k = 0; k < a.components; ++k) {
    const Value w = b.xor_(word(2 + k), b.i32(0x5a5a5a5a));
    data.push_back(a.bytes == 8 ? b.pack64(w, word(3)) : w);
  }
  b.store(place(b.and_(word(0), b.i32(15))), yes, data, m);
  m.sign_extend = a.sign_extend;
  const Value loaded = b.load(type, place(b.and_(word(1), b.i32(15))), yes, m, a.components);
  for (unsigned k = 0; k < 8; ++k) show(b.load(Type::i32, in_room(4 * k), yes, whole));
  for (unsigned k = 0; k < a.components; ++k) {
    const Value v = b.extract(loaded, k);
    show(a.bytes == 8 ? b.lo32(v) : v);
    if (a.bytes == 8) show(b.hi32(v));
  }
  f.append(ir::Block{0}, ir::Op::ret, {});
  return f;
}

TEST(Unaligned, SpirvAndInterpreterAgree) {
  if (test::Device::get().device() == nullptr) GTEST_SKIP() << test::Device::get().reason();
  std::mt19937 random(5);
  using enum Space;
  for (const Access& a :
       {Access{lds, 2, 1, true}, Access{lds, 4, 1}, Access{lds, 4, 3}, Access{lds, 8, 1},
        Access{scratch, 2, 1, true}, Access{scratch, 4, 1}, Access{scratch, 4, 4}, Access{scratch, 8, 1},
        Access{global, 2, 1, true}, Access{global, 2, 1}, Access{global, 4, 1}, Access{global, 4, 2},
        Access{global, 4, 4}, Access{global, 8, 1}}) {
    SCOPED_TRACE(a.name());
    const Function f = unaligned_program(a);
    std::vector<uint8_t> in(lanes * 32), out(lanes * (shown * 4 + room));
    for (auto& byte : in) byte = static_cast<uint8_t>(random());

    ir::FlatMemory memory(unaligned_base, in.size() + out.size());
    std::ranges::copy(in, memory.bytes.begin());
    const ir::InterpreterDispatch d{.grid = {lanes, 1, 1},
                                    .workgroup = {lanes, 1, 1},
                                    .kernarg_ptr = unaligned_base,
                                    .dispatch_ptr = unaligned_base + in.size()};
    const auto ran = ir::interpret(f, d, memory);
    ASSERT_TRUE(ran) << ran.error().to_string();

    EmitOptions o{.device = test::Device::get().traits(), .zero_memory = true};
    o.device.unaligned_global = false; // also where the device would do it
    o.seating = {
        .wave_size = lanes, .host_lanes = test::Device::get().subgroup_size(), .workgroup = {lanes, 1, 1}};
    const auto module = test::build(f, o);
    ASSERT_TRUE(test::run(module, in, out, 1));
    for (size_t k = 0; k < out.size(); ++k)
      ASSERT_EQ(out[k], memory.bytes[in.size() + k])
          << (k < lanes * shown * 4
                  ? fmt::format("lane {}, word {}, byte {}", k / (4 * shown), k / 4 % shown, k % 4)
                  : fmt::format("room, byte {}", k - lanes * shown * 4));
  }
}

TEST(Unaligned, KnownLowZeros) {
  const Function f = test::parse(R"(function "f" wave32 lds 0 scratch 0 {
b0: @0x0
  %1 = i32 input.local_id_x
  %2 = i32 shl %1, i32 2
  %3 = i32 add %2, i32 8
  %4 = i32 add %3, i32 1
  %5 = i32 mul %1, i32 24
  %6 = i32 and %1, i32 0xfffffffe
  br b1
b1: from b0, b1
  %7 = i32 phi i32 0, %8
  %8 = i32 add %7, i32 4
  %9 = u1 eq %8, i32 64
  %10 = u1 any %9
  cond_br %10, b2, b1
b2: from b1
  ret
}
)");
  const auto known = known_low_zeros(f);
  for (uint32_t i = 0; i < f.value_count(); ++i) {
    const auto& inst = f[Value{i}];
    const unsigned zeros = known[i];
    if (inst.op == ir::Op::shl) {
      EXPECT_EQ(zeros, 2u);
    }
    if (inst.op == ir::Op::mul) {
      EXPECT_EQ(zeros, 3u);
    }
    if (inst.op == ir::Op::and_) {
      EXPECT_EQ(zeros, 1u);
    }
    if (inst.op == ir::Op::phi) {
      EXPECT_EQ(zeros, 2u);
    }
    if (inst.op == ir::Op::input) {
      EXPECT_EQ(zeros, 0u);
    }
  }
}

/// What is promised of pointers among the arguments goes on to addresses made of them.
TEST(KnownLowZeros, PointersAmongTheArguments) {
  const Function f = test::parse(R"(function "f" wave32 lds 0 scratch 0 {
b0: @0x0
  %1 = uniform i64 input.kernarg_ptr
  %2 = uniform i64 add %1, i64 8
  %3 = uniform i32x4 load.global.4.invariant %2, u1 true
  %4 = uniform i32 extract.0 %3
  %5 = uniform i32 extract.1 %3
  %6 = uniform i32 extract.2 %3
  %7 = uniform i32 extract.3 %3
  %8 = uniform i64 pack64 %4, %5
  %9 = uniform i64 pack64 %6, %7
  %10 = uniform i64 add %8, i64 4
  %11 = uniform i64 add %9, i64 4
  ret
}
)");
  const auto zeros_of_sums = [&](std::vector<uint32_t> aligned) {
    std::vector<unsigned> found;
    const auto known = known_low_zeros(f, aligned);
    for (const Value v : f.blocks[0].instructions)
      if (f[v].op == ir::Op::add && f[f.operand(v, 0)].op == ir::Op::pack64) found.push_back(known[v.index]);
    return found;
  };
  EXPECT_EQ(zeros_of_sums({}), (std::vector<unsigned>{0, 0}));
  EXPECT_EQ(zeros_of_sums({8}), (std::vector<unsigned>{2, 0}));
  EXPECT_EQ(zeros_of_sums({0, 16}), (std::vector<unsigned>{0, 2}));
}

} // namespace
} // namespace lanewise::spirv
