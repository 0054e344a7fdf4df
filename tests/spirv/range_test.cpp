// What the emitter makes cheap: LDS accesses that need no bounds, and ldexp and frexp of usual numbers.
#include "ir/interpreter.hpp"
#include "support.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace lanewise::spirv {
namespace {

size_t count(const std::string& text, const std::string& word) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) ++n;
  return n;
}

EmitOptions options(uint32_t items) {
  return {.seating = {.wave_size = 32, .host_lanes = 1, .workgroup = {items, 1, 1}},
          .device = test::Device::get().traits()};
}

/// An access is kept inside LDS by one minimum, and by none where its address is bounded.
TEST(Range, MinimaOfLdsAccesses) {
  struct {
    const char* name;
    const char* access; ///< at %a: 4 bytes for each of 32 lanes; %x is any number
    unsigned lds, minima;
  } const table[]{
      {"all inside", "%v = i32 load.lds.4 %a, u1 true", 128, 0},
      {"the last one outside", "%v = i32 load.lds.4 %a, u1 true", 120, 1},
      {"four words inside", "%v = i32x4 load.lds.4 %a, u1 true", 144, 0},
      {"four words, of which the last may be outside", "%v = i32x4 load.lds.4 %a, u1 true", 128, 1},
      {"any address, four words", "%v = i32x4 load.lds.4 %x, u1 true", 128, 1},
      {"a byte anywhere", "%v = i32 load.lds.1 %x, u1 true", 128, 1},
      {"a store inside", "store.lds.4 %a, u1 true, %x", 128, 0},
      {"a store anywhere", "store.lds.4 %x, u1 true, %a, %a", 128, 1},
      {"an atomic inside", "%v = i32 atomic.add.lds.4 %a, u1 true, %x", 128, 0},
      {"an atomic on the last word", "%v = i32 atomic.add.lds.4 %x, u1 true, %a", 128, 1},
  };
  for (const auto& row : table) {
    const std::string text = fmt::format(R"(function "f" wave32 lds {} scratch 0 {{
b0:
  %l = i32 lane_id
  %a = i32 shl %l, i32 2
  %p = uniform i64 input.kernarg_ptr
  %q = uniform i32 load.global.4 %p, u1 true
  %x = uniform i32 shl %q, i32 2
  {}
  ret
}})",
                                         row.lds, row.access);
    EmitOptions o = options(32);
    o.seating.host_lanes = 32;
    const auto module = test::build(test::parse(text), o);
    EXPECT_EQ(count(test::disassemble(module.words), "UMin"), row.minima) << row.name << '\n' << text;
  }
}

/// Words at one base and different distances are read by one helper, without a sum for each address.
TEST(Range, LdsAccessesShareTheirBase) {
  const std::string text = R"(function "f" wave32 lds 512 scratch 0 {
b0:
  %l = i32 lane_id
  %a = i32 shl %l, i32 2
  %a1 = i32 add %a, i32 128
  %a2 = i32 add %a, i32 132
  %a3 = i32 add %a, i32 256
  %v1 = i32 load.lds.4 %a1, u1 true
  %v2 = i32 load.lds.4 %a2, u1 true
  %v3 = i32 load.lds.4 %a3, u1 true
  %b = i32 add %a, i32 2
  %v4 = i32 load.lds.2 %b, u1 true
  store.lds.4 %a, u1 true, %v1, %v2, %v3, %v4
  ret
})";
  EmitOptions o = options(32);
  o.seating.host_lanes = 32;
  const std::string module = test::disassemble(test::build(test::parse(text), o).words);
  const std::string main = module.substr(module.rfind("= OpFunction "));
  EXPECT_EQ(count(main, "OpFunctionCall"), 3u) << main;
  EXPECT_EQ(count(module, "OpFunctionEnd"), 2u) << module;
}

constexpr unsigned range_lanes = 32;
/// At all borders.
const std::vector<uint32_t> border_numbers{
    0,          0x80000000, 1,          0x80000001, 0x00400000, 0x007fffff, 0x00800000, 0x80800001,
    0x00ffffff, 0x0b800000, 0x3f800000, 0xbf800001, 0x34800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
    0xff800000, 0x7fc00000, 0x00000fff, 0x01000003, 0x7f000000, 0x40490fdb, 0x00c00001, 0x80ffffff,
    0x17000001, 0x68000001, 0x00000003, 0x00600001, 0x3effffff, 0x4b000001, 0x7e800001, 0x01800001};

/// %f: the number of lane %l.
constexpr std::string_view kHead = R"(function "f" wave32 lds 0 scratch 0 {
b0:
  %l = i32 lane_id
  %in = uniform i64 input.kernarg_ptr
  %out = uniform i64 input.dispatch_ptr
  %at = i32 shl %l, i32 2
  %at64 = i64 zext %at
  %p = i64 add %in, %at64
  %x = i32 load.global.4 %p, u1 true
  %f = f32 bitcast %x
)";

/// Runs the program, whose lane l reads number l at kernarg_ptr and writes `shown` words, here and on the
/// device.
void compare_with_interpreter(const std::string& text, unsigned shown) {
  const ir::Function f = test::parse(text);
  std::vector<uint8_t> in(4 * range_lanes), out(4 * range_lanes * shown);
  std::memcpy(in.data(), border_numbers.data(), in.size());
  class Memory final : public ir::InterpreterMemory {
   public:
    Memory(std::span<uint8_t> in_, std::span<uint8_t> out_) : in(in_), out(out_) {}
    bool load(uint64_t a, unsigned n, uint64_t& v) override {
      v = 0;
      if (a < 0x1000 || a - 0x1000 + n > in.size()) return false;
      std::memcpy(&v, &in[a - 0x1000], n);
      return true;
    }
    bool store(uint64_t a, unsigned n, uint64_t v) override {
      if (a < 0x9000 || a - 0x9000 + n > out.size()) return false;
      std::memcpy(&out[a - 0x9000], &v, n);
      return true;
    }
    std::span<uint8_t> in, out;
  };
  std::vector<uint8_t> expected = out;
  Memory memory(in, expected);
  const auto done = ir::interpret(f,
                                  {.grid = {range_lanes, 1, 1},
                                   .workgroup = {range_lanes, 1, 1},
                                   .kernarg_ptr = 0x1000,
                                   .dispatch_ptr = 0x9000},
                                  memory);
  ASSERT_TRUE(done) << done.error().to_string();
  ASSERT_TRUE(test::run(test::build(f, options(range_lanes)), in, out, 1));
  const auto word = [&](const std::vector<uint8_t>& from, unsigned lane, unsigned n) {
    uint32_t w = 0;
    std::memcpy(&w, &from[4 * (lane * shown + n)], 4);
    return w;
  };
  for (unsigned lane = 0; lane < range_lanes; ++lane)
    for (unsigned n = 0; n < shown; ++n) {
      const uint32_t a = word(expected, lane, n), b = word(out, lane, n);
      const bool both_nan = std::isnan(std::bit_cast<float>(a)) && std::isnan(std::bit_cast<float>(b));
      EXPECT_TRUE(a == b || both_nan)
          << fmt::format("result {} of 0x{:08x}: 0x{:08x}, expected 0x{:08x}", n, border_numbers[lane], b, a);
    }
}

/// ldexp by constants, by one of two constants (as square roots scale) and by a number, and frexp, of numbers
/// at all borders.
TEST(Range, ScalesLikeTheInterpreter) {
  if (!test::Device::get().device()) GTEST_SKIP() << test::Device::get().reason();
  ASSERT_EQ(border_numbers.size(), range_lanes);
  std::string body;
  unsigned shown = 0;
  const auto show = [&](const std::string& type, const std::string& value) {
    const unsigned n = shown++;
    body += fmt::format("  %v{} = {}\n", n, value);
    const std::string word = type == "i32" ? fmt::format("%v{}", n) : fmt::format("%b{}", n);
    if (type != "i32") body += fmt::format("  %b{0} = i32 bitcast %v{0}\n", n);
    body += fmt::format(
        "  %i{0} = i32 add %row, i32 {1}\n  %w{0} = i64 zext %i{0}\n  %o{0} = i64 add %out, %w{0}\n"
        "  store.global.4 %o{0}, u1 true, {2}\n",
        n, 4 * n, word);
  };
  for (const int by : {0, 1, -1, 5, 32, -16, 126, -126, 127, -127, 149, -149, 300, -300})
    show("f32", fmt::format("f32 fldexp %f, i32 {}", by));
  body += "  %k = i32 select %c, i32 1, i32 0\n  %k5 = i32 shl %k, i32 5\n  %k16 = i32 select %c, i32 -16, "
          "i32 0\n";
  for (const char* by : {"%k5", "%k16", "%r"}) show("f32", fmt::format("f32 fldexp %f, {}", by));
  // A square root as OpenCL scales it.
  body += "  %least = u1 fcmp.g f32 1.1754944e-38, %f\n  %up1 = i32 select %least, i32 32, i32 0\n"
          "  %down1 = i32 select %least, i32 -16, i32 0\n  %up = f32 fldexp %f, %up1\n"
          "  %root = f32 fsqrt %up\n";
  show("f32", "f32 fldexp %root, %down1");
  show("f32", "f32 ffrexp_mant %f");
  show("i32", "i32 ffrexp_exp %f");
  const std::string text = std::string(kHead) + fmt::format(R"(  %c = u1 ult %x, i32 0x10000000
  %r0 = i32 mul %l, i32 37
  %r = i32 sub %r0, i32 500
  %row = i32 mul %l, i32 {}
{}  ret
}})",
                                                            4 * shown, body);
  compare_with_interpreter(text, shown);
}

/// Quotients as OpenCL scales them, of every number by every other, and by itself.
TEST(Range, DividesLikeTheInterpreter) {
  if (!test::Device::get().device()) GTEST_SKIP() << test::Device::get().reason();
  // Lane l divides by number (l + n) % 32 and writes the result to n of its row.
  const std::string text = std::string(kHead) + R"(  %row = i32 shl %l, i32 5
  br b1
b1: from b0, b1
  %n = uniform i32 phi i32 0, %next
  %next = uniform i32 add %n, i32 1
  %j = i32 add %l, %n
  %k = i32 and %j, i32 31
  %kb = i32 shl %k, i32 2
  %kw = i64 zext %kb
  %kp = i64 add %in, %kw
  %y = i32 load.global.4 %kp, u1 true
  %g = f32 bitcast %y
  %mf = f32 ffrexp_mant %f
  %mg = f32 ffrexp_mant %g
  %ef = i32 ffrexp_exp %f
  %eg = i32 ffrexp_exp %g
  %r = f32 frcp %mg
  %q = f32 fmul %mf, %r
  %d = i32 sub %ef, %eg
  %v = f32 fldexp %q, %d
  %b = i32 bitcast %v
  %i = i32 add %row, %n
  %ib = i32 shl %i, i32 2
  %iw = i64 zext %ib
  %o = i64 add %out, %iw
  store.global.4 %o, u1 true, %b
  %more = uniform u1 ult %next, i32 32
  cond_br %more, b1, b2
b2: from b1
  ret
})";
  const std::string module = test::disassemble(test::build(test::parse(text), options(range_lanes)).words);
  EXPECT_EQ(count(module, "OpFDiv"), 2u) << "the reciprocals of one quotient\n" << module;
  compare_with_interpreter(text, range_lanes);
}

} // namespace
} // namespace lanewise::spirv
