// Every lane-local operation: the module is valid, and on a device it gives the bits of ir::evaluator.
#include <cmath>
#include <cstring>
#include <optional>
#include <random>

#include "ir/evaluate.hpp"
#include "spirv/code.hpp"
#include "support.hpp"

namespace lanewise::spirv {
namespace {

using ir::Builder;
using ir::FloatControl;
using ir::Op;
using ir::Type;
using ir::Value;

struct Case {
  Op op;
  Type result;
  std::vector<Type> operands;
  uint64_t imm = 0;
  std::optional<uint32_t> last; ///< the last operand, if it is this constant
  std::string name() const {
    std::string n = ir::info(op).name;
    for (const Type t : operands) n += " " + std::to_string(static_cast<int>(t));
    return n + " -> " + std::to_string(static_cast<int>(result)) + " imm " + std::to_string(imm) +
           (last ? " last " + std::to_string(*last) : "");
  }
};

constexpr std::array integers{Type::i16, Type::i32, Type::i64};
constexpr std::array floats{Type::f16, Type::f32, Type::f64};

void add_integer_cases(std::vector<Case>& c) {
  for (const Type t : integers) {
    for (const Op op : {Op::add, Op::sub, Op::mul, Op::mul_hi_u, Op::mul_hi_s, Op::and_, Op::or_, Op::xor_,
                        Op::shl, Op::lshr, Op::ashr, Op::umin, Op::umax, Op::smin, Op::smax})
      c.push_back({op, t, {t, t}});
    for (const Op op : {Op::eq, Op::ne, Op::ult, Op::ule, Op::slt, Op::sle})
      c.push_back({op, Type::u1, {t, t}});
    for (const Op op : {Op::not_, Op::bit_reverse}) c.push_back({op, t, {t}});
    for (const Op op : {Op::popcount, Op::find_lsb, Op::find_msb}) c.push_back({op, Type::i32, {t}});
    c.push_back({Op::select, t, {Type::u1, t, t}});
    c.push_back({Op::zext, t, {Type::u1}});
    c.push_back({Op::sext, t, {Type::u1}});
    c.push_back({Op::trunc, Type::u1, {t}});
  }
  for (const Type t : {Type::i32, Type::i64}) {
    for (const Op op : {Op::add_c, Op::sub_c}) c.push_back({op, t, {t, t, Type::u1}});
    for (const Op op : {Op::carry, Op::borrow}) c.push_back({op, Type::u1, {t, t, Type::u1}});
  }
  for (const Op op : {Op::and_, Op::or_, Op::xor_, Op::eq, Op::ne})
    c.push_back({op, Type::u1, {Type::u1, Type::u1}});
  c.push_back({Op::not_, Type::u1, {Type::u1}});
  for (const Op op : {Op::ubfe, Op::sbfe, Op::byte_perm})
    c.push_back({op, Type::i32, {Type::i32, Type::i32, Type::i32}});
  // Constant selectors have helpers of their own: swapped bytes of 16 and 32 bits, of either operand, and
  // mixtures.
  for (const uint32_t selectors : {0x0c0c'0001u, 0x0c0c'0405u, 0x0c0c'0100u, 0x0001'0203u, 0x0405'0607u,
                                   0x0203'0001u, 0x0c0c'0501u, 0x000c'0d04u, 0x0d0d'0001u, 0x0706'0100u})
    c.push_back({Op::byte_perm, Type::i32, {Type::i32, Type::i32, Type::i32}, 0, selectors});
  for (const Op op : {Op::zext, Op::sext}) {
    c.push_back({op, Type::i64, {Type::i32}});
    c.push_back({op, Type::i32, {Type::i16}});
    c.push_back({op, Type::i32, {Type::i8}});
  }
  c.push_back({Op::trunc, Type::i32, {Type::i64}});
  c.push_back({Op::trunc, Type::i16, {Type::i32}});
  c.push_back({Op::trunc, Type::i8, {Type::i32}});
  c.push_back({Op::pack64, Type::i64, {Type::i32, Type::i32}});
  c.push_back({Op::lo32, Type::i32, {Type::i64}});
  c.push_back({Op::hi32, Type::i32, {Type::i64}});
  c.push_back({Op::bitcast, Type::f32, {Type::i32}});
}

void add_float_cases(std::vector<Case>& c) {
  const uint64_t none = FloatControl{}.pack();
  const uint64_t flush = FloatControl{.flush_in = true, .flush_out = true}.pack();
  const uint64_t ieee = FloatControl{.ieee = true}.pack(), dx10 = FloatControl{.dx10_clamp = true}.pack();
  for (const Type t : floats) {
    for (const Op op : {Op::fadd, Op::fmul, Op::fmin, Op::fmax})
      for (const uint64_t imm : {none, flush}) c.push_back({op, t, {t, t}, imm});
    for (const Op op : {Op::fmin, Op::fmax}) c.push_back({op, t, {t, t}, ieee});
    for (const uint64_t imm : {none, flush}) c.push_back({Op::ffma, t, {t, t, t}, imm});
    for (const Op op : {Op::fneg, Op::fabs}) c.push_back({op, t, {t}});
    for (const Op op :
         {Op::fcanonicalize, Op::ftrunc, Op::ffloor, Op::fceil, Op::frndne, Op::ffract, Op::ffrexp_mant})
      c.push_back({op, t, {t}});
    c.push_back({Op::fcanonicalize, t, {t}, flush});
    c.push_back({Op::fclamp, t, {t}});
    c.push_back({Op::fclamp, t, {t}, dx10});
    c.push_back({Op::ffrexp_exp, Type::i32, {t}});
    c.push_back({Op::fldexp, t, {t, Type::i32}});
    c.push_back({Op::fclass, Type::u1, {t, Type::i32}});
    for (unsigned p = 0; p < 16; ++p) c.push_back({Op::fcmp, Type::u1, {t, t}, p << 8});
    c.push_back({Op::fdiv_fixup, t, {t, t, t}});
    for (const Type to : floats)
      if (to != t)
        for (unsigned round = 0; round < 4; ++round)
          if (ir::bit_width(to) < ir::bit_width(t) || round == 0)
            c.push_back({Op::f2f, to, {t}, FloatControl{.round = static_cast<uint8_t>(round)}.pack()});
    for (const Type i : {Type::i16, Type::i32})
      for (const Op op : {Op::f2s, Op::f2u}) c.push_back({op, i, {t}});
    for (const Op op : {Op::s2f, Op::u2f}) c.push_back({op, t, {Type::i32}});
  }
  for (const Type t : {Type::f32, Type::f64}) {
    c.push_back({Op::fdiv_fmas, t, {t, t, t, Type::u1}});
    c.push_back({Op::fdiv_scale, t, {t, t, t}});
    c.push_back({Op::fdiv_scale_flag, Type::u1, {t, t, t}});
  }
  for (const Op op : {Op::s2f, Op::u2f}) c.push_back({op, Type::f16, {Type::i16}});
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> c;
    add_integer_cases(c);
    add_float_cases(c);
    return c;
  }();
  return all;
}

constexpr uint32_t items = 1024;
constexpr uint32_t group = 64;
constexpr uint32_t stride = 32; // four operands of 8 bytes

/// Item i reads its operands at kernarg_ptr + 32 i and writes its result at dispatch_ptr + 8 i.
ir::Function function_of(const Case& c, unsigned wave_size) {
  ir::Function f(wave_size);
  f.name = "case";
  Builder b(f, f.add_block());
  const Value item =
      b.add(b.mul(b.input(ir::Input::workgroup_id_x), b.i32(group)), b.input(ir::Input::local_id_x));
  const Value wide = b.zext(item, Type::i64), yes = b.u1(true);
  const Value in = b.add(b.input(ir::Input::kernarg_ptr), b.mul(wide, b.i64(stride)));
  std::vector<Value> operands;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    const Type t = c.operands[i];
    const Value raw = b.load(Type::i64, b.add(in, b.i64(8 * i)), yes, {.bytes = 8, .align = 8});
    const Type as = ir::is_float(t) ? integer_like(t) : t;
    Value v = as == Type::i64 ? raw : b.trunc(raw, as);
    operands.push_back(ir::is_float(t) ? b.bitcast(v, t) : v);
  }
  if (c.last) operands.back() = b.i32(*c.last);
  Value r = b.emit(c.op, operands, c.result, c.imm);
  if (ir::is_float(c.result)) r = b.bitcast(r, integer_like(c.result));
  if (c.result != Type::i64 && c.result != Type::f64) r = b.zext(r, Type::i64);
  b.store(b.add(b.input(ir::Input::dispatch_ptr), b.mul(wide, b.i64(8))), yes, r, {.bytes = 8, .align = 8});
  b.ret();
  return f;
}

EmitOptions options_for(unsigned wave_size, unsigned host_lanes) {
  EmitOptions o;
  o.seating = {wave_size, host_lanes, {group, 1, 1}};
  o.device = test::Device::get().traits();
  return o;
}

TEST(Operations, AreValid) {
  for (const Case& c : cases()) {
    const auto m = test::build(function_of(c, 32), options_for(32, 32));
    EXPECT_FALSE(m.words.empty()) << c.name();
    if (testing::Test::HasFailure()) return;
  }
}

/// Numbers that make trouble, mixed with random ones.
uint64_t operand_bits(Type t, std::mt19937_64& rng) {
  const auto pick = [&](std::initializer_list<uint64_t> list) { return list.begin()[rng() % list.size()]; };
  if (t == Type::f32 && rng() % 2)
    return pick({0,           0x8000'0000, 1,           0x8000'0001, 0x007f'ffff, 0x0080'0000,
                 0x3f80'0000, 0xbf80'0000, 0x3f00'0000, 0x4b00'0000, 0x4f00'0000, 0xcf00'0000,
                 0x4f80'0000, 0x7f7f'ffff, 0x7f80'0000, 0xff80'0000, 0x7fc0'0000, 0x7f80'0001,
                 0x477f'e000, 0x3f7f'ffff, 0x3380'0000, 0x4020'0000, 0xc020'0000});
  if (t == Type::f16 && rng() % 2)
    return pick({0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x3800, 0x7bff, 0x7c00, 0xfc00, 0x7e00,
                 0x7c01, 0x6400, 0x4100});
  if (t == Type::f64 && rng() % 2)
    return pick({0, 1ull << 63, 1, 0x000f'ffff'ffff'ffff, 0x0010'0000'0000'0000, 0x3ff0'0000'0000'0000,
                 0xbff0'0000'0000'0000, 0x7fef'ffff'ffff'ffff, 0x7ff0'0000'0000'0000, 0xfff0'0000'0000'0000,
                 0x7ff8'0000'0000'0000, 0x7ff0'0000'0000'0001, 0x41e0'0000'0000'0000, 0xc1e0'0000'0000'0000,
                 0x4330'0000'0000'0000, 0x3690'0000'0000'0000, 0x4004'0000'0000'0000});
  if (ir::is_float(t) && rng() % 2) { // moderate exponents, so that results stay in range
    if (t == Type::f32) return (rng() & 0x807f'ffff) | (107 + rng() % 40) << 23;
    if (t == Type::f64) return (rng() & 0x800f'ffff'ffff'ffff) | (1003 + rng() % 40) << 52;
    return (rng() & 0x83ff) | (7 + rng() % 14) << 10;
  }
  if (t == Type::i32 && rng() % 2)
    return pick({0, 1, 31, 32, 33, 0x7fff'ffff, 0x8000'0000, 0xffff'ffff, 0x3ff, 24, 8});
  if (t == Type::i64 && rng() % 3 == 0)
    return pick({0, 1, 63, 64, 0x7fff'ffff'ffff'ffff, 1ull << 63, ~0ull, 1ull << 32});
  return ir::truncate(t, rng());
}

bool is_nan(Type t, uint64_t b) {
  if (t == Type::f32) return (b & 0x7fff'ffff) > 0x7f80'0000;
  if (t == Type::f16) return (b & 0x7fff) > 0x7c00;
  return t == Type::f64 && (b & ~(1ull << 63)) > 0x7ff0'0000'0000'0000;
}

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::Device::get().device()) GTEST_SKIP() << test::Device::get().reason();
  }
};

/// On the device the operation gives the bits that its evaluator gives.
void check_bits(const Case& c, const EmitOptions& options) {
  const ir::Evaluator evaluate = ir::evaluator(c.op);
  if (!evaluate || !ir::is_exact(c.op)) return;
  const auto m = test::build(function_of(c, 32), options);
  if (m.words.empty()) return; // a failure already
  std::mt19937_64 rng(static_cast<uint64_t>(c.op) * 977 + c.imm);
  std::vector<uint64_t> in(items * 4), out(items);
  for (uint32_t i = 0; i < items; ++i)
    for (size_t k = 0; k < c.operands.size(); ++k) {
      in[i * 4 + k] = operand_bits(c.operands[k], rng);
      // Selectors of which most mean different things.
      if (c.op == Op::byte_perm && k == 2 && i % 4 != 0) in[i * 4 + 2] = rng() & 0x0f0f'0f0f;
      // v_div_scale takes one of its other operands.
      if ((c.op == Op::fdiv_scale || c.op == Op::fdiv_scale_flag) && k == 2)
        in[i * 4] = in[i * 4 + 1 + rng() % 2];
    }
  const auto bytes = [](auto& v) { return std::span(reinterpret_cast<uint8_t*>(v.data()), v.size() * 8); };
  if (!test::run(m, bytes(in), bytes(out), items / group)) return;
  unsigned wrong = 0;
  for (uint32_t i = 0; i < items; ++i) {
    ir::LaneOperation l{.type = c.result, .operand_type = c.operands[0], .imm = c.imm};
    for (size_t k = 0; k < c.operands.size(); ++k) l.v[k] = ir::truncate(c.operands[k], in[i * 4 + k]);
    if (c.last) l.v[c.operands.size() - 1] = *c.last;
    const uint64_t expected = evaluate(l);
    if (expected == out[i] || (is_nan(c.result, expected) && is_nan(c.result, out[i]))) continue;
    if (wrong++ == 0)
      ADD_FAILURE() << c.name() << std::hex << ": " << l.v[0] << " " << l.v[1] << " " << l.v[2] << " gives "
                    << out[i] << ", expected " << expected;
  }
}

TEST_F(OnDevice, OperationsGiveTheEvaluatorsBits) {
  for (const Case& c : cases()) check_bits(c, options_for(32, test::Device::get().subgroup_size()));
}

/// What takes the place of the device's own operations where these are wrong.
TEST_F(OnDevice, RoundingInIntegersGivesTheEvaluatorsBits) {
  EmitOptions o = options_for(32, test::Device::get().subgroup_size());
  o.device.exact_rounding = {};
  for (const Case& c : cases())
    if (c.op == Op::ftrunc || c.op == Op::frndne || c.op == Op::ffloor || c.op == Op::fceil ||
        c.op == Op::ffract)
      check_bits(c, o);
}

} // namespace
} // namespace lanewise::spirv
