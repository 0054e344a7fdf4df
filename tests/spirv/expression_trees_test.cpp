// Expressions that occur often are one helper, and give the same bits.
#include <random>

#include "support.hpp"

namespace lanewise::spirv {
namespace {

using ir::Builder;
using ir::Type;
using ir::Value;

constexpr uint32_t tree_items = 64;

/// The operations of a tree, as IR and as numbers.
struct InIr {
  Builder& b;
  using V = Value;
  V add(V x, V y) { return b.add(x, y); }
  V sub(V x, V y) { return b.sub(x, y); }
  V and_(V x, V y) { return b.and_(x, y); }
  V or_(V x, V y) { return b.or_(x, y); }
  V xor_(V x, V y) { return b.xor_(x, y); }
  V not_(V x) { return b.not_(x); }
  V shl(V x, uint32_t n) { return b.shl(x, b.i32(n)); }
  V lshr(V x, uint32_t n) { return b.lshr(x, b.i32(n)); }
  V ashr(V x, uint32_t n) { return b.ashr(x, b.i32(n)); }
  V funnel(V lo, V hi, uint32_t n) { return b.lo32(b.lshr(b.pack64(lo, hi), b.i64(n))); }
  V select_less(V x, V y, V yes, V no) { return b.select(b.ult(x, y), yes, no); }
  V constant(uint32_t c) { return b.i32(c); }
};
struct InNumbers {
  using V = uint32_t;
  V add(V x, V y) { return x + y; }
  V sub(V x, V y) { return x - y; }
  V and_(V x, V y) { return x & y; }
  V or_(V x, V y) { return x | y; }
  V xor_(V x, V y) { return x ^ y; }
  V not_(V x) { return ~x; }
  V shl(V x, uint32_t n) { return x << n; }
  V lshr(V x, uint32_t n) { return x >> n; }
  V ashr(V x, uint32_t n) { return static_cast<uint32_t>(static_cast<int32_t>(x) >> n); }
  V funnel(V lo, V hi, uint32_t n) { return static_cast<uint32_t>((uint64_t{hi} << 32 | lo) >> n); }
  V select_less(V x, V y, V yes, V no) { return x < y ? yes : no; }
  V constant(uint32_t c) { return c; }
};

constexpr uint32_t tree_shapes = 4;

/// One expression of each kind, of four values and a constant.
template <class Ops>
typename Ops::V expression(Ops o, uint32_t kind, std::array<typename Ops::V, 4> x, uint32_t constant) {
  const auto [a, b, c, d] = x;
  const auto rotate = [&](auto v, uint32_t n) { return o.funnel(v, v, n); };
  switch (kind) {
  case 0: { // a round of SHA-256
    const auto sigma = o.xor_(o.xor_(rotate(a, 6), rotate(a, 11)), rotate(a, 25));
    const auto choice = o.or_(o.and_(a, b), o.and_(o.not_(a), c));
    return o.add(o.add(o.add(sigma, choice), o.constant(constant)), d);
  }
  case 1: return rotate(o.add(o.xor_(a, o.or_(b, o.not_(c))), d), 7);
  case 2: return o.sub(o.funnel(o.ashr(a, 3), o.shl(b, 5), 13), o.lshr(o.xor_(c, d), 31));
  default: return o.select_less(a, b, o.sub(c, o.ashr(d, 1)), o.select_less(c, d, o.not_(a), o.or_(b, a)));
  }
}

TEST(ExpressionTrees, GiveTheSameBits) {
  constexpr uint32_t rounds = 12, row = 4 * rounds * tree_shapes;
  ir::Function f(32);
  Builder b(f, f.add_block());
  const Value item = b.input(ir::Input::local_id_x), yes = b.u1(true);
  const auto at = [&](ir::Input base, Value byte) { return b.add(b.input(base), b.zext(byte, Type::i64)); };
  std::array<Value, 4> x;
  for (uint32_t k = 0; k < 4; ++k)
    x[k] =
        b.load(Type::i32, at(ir::Input::kernarg_ptr, b.add(b.mul(item, b.i32(16)), b.i32(4 * k))), yes, {});
  for (uint32_t r = 0; r < rounds; ++r)
    for (uint32_t kind = 0; kind < tree_shapes; ++kind) {
      const Value result = expression(InIr{b}, kind, x, 0x9e3779b9 * (r + 1));
      const uint32_t byte = 4 * (r * tree_shapes + kind);
      b.store(at(ir::Input::dispatch_ptr, b.add(b.mul(item, b.i32(row)), b.i32(byte))), yes, result, {});
      x = {x[1], x[2], x[3], result};
    }
  b.ret();
  EmitOptions o{.device = test::Device::get().traits()};
  o.seating = {.wave_size = 32, .host_lanes = 1, .workgroup = {tree_items, 1, 1}};
  if (test::Device::get().device()) o.seating.host_lanes = test::Device::get().subgroup_size();
  const auto module = test::build(f, o);
  ASSERT_FALSE(module.words.empty());
  // Each shape once, in its helper. In native seats there is one copy of everything.
  const std::string text = test::disassemble(module.words);
  size_t negations = 0;
  for (size_t p = text.find("OpNot "); p != std::string::npos; p = text.find("OpNot ", p + 1)) ++negations;
  EXPECT_EQ(negations, 3u);

  if (!test::Device::get().device()) GTEST_SKIP() << test::Device::get().reason();
  std::mt19937 random(5);
  std::vector<uint32_t> in(tree_items * 4), out(tree_items * rounds * tree_shapes);
  for (auto& w : in) w = static_cast<uint32_t>(random());
  const auto bytes = [](auto& v) { return std::span(reinterpret_cast<uint8_t*>(v.data()), v.size() * 4); };
  ASSERT_TRUE(test::run(module, bytes(in), bytes(out), 1));
  for (uint32_t i = 0; i < tree_items; ++i) {
    std::array<uint32_t, 4> n{in[4 * i], in[4 * i + 1], in[4 * i + 2], in[4 * i + 3]};
    for (uint32_t k = 0; k < rounds * tree_shapes; ++k) {
      const uint32_t expected =
          expression(InNumbers{}, k % tree_shapes, n, 0x9e3779b9 * (k / tree_shapes + 1));
      ASSERT_EQ(out[i * rounds * tree_shapes + k], expected) << "item " << i << ", shape " << k % tree_shapes;
      n = {n[1], n[2], n[3], expected};
    }
  }
}

/// One of a kind stays where it is.
TEST(ExpressionTrees, AShapeThatOccursOnceStays) {
  const ir::Function f = test::parse(R"(function "f" wave32 lds 0 scratch 0 {
b0:
  %1 = uniform i32 input.workgroup_id_x
  %2 = uniform i32 input.workgroup_id_y
  %3 = uniform i32 xor %1, %2
  %4 = uniform i32 not %3
  %5 = uniform i32 add %4, %2
  store.global.4 i64 16, u1 true, %5
  ret
}
)");
  EmitOptions o;
  o.seating = {32, 1, {1, 1, 1}};
  const std::string text = test::disassemble(test::build(f, o).words);
  EXPECT_EQ(text.find("OpFunctionCall"), std::string::npos);
  EXPECT_NE(text.find("OpNot"), std::string::npos);
}

} // namespace
} // namespace lanewise::spirv
