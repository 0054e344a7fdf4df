// Operations that are written together with others (src/spirv/patterns.hpp) give the same bits as alone.
#include <random>

#include "support.hpp"

namespace lanewise::spirv {
namespace {

using ir::Builder;
using ir::Type;
using ir::Value;

constexpr uint32_t pattern_items = 64;

TEST(Patterns, PartsOfTwoDwordsFromEveryBitOn) {
  if (test::Device::get().device() == nullptr) GTEST_SKIP() << test::Device::get().reason();
  // Item i reads x and y at kernarg_ptr + 8 i and writes its results at dispatch_ptr + 4 * results * i.
  struct Part {
    unsigned from;
    bool rotates; ///< both dwords are x
    bool in_full; ///< the 64 bits behind the shift are read too
    bool loaded;  ///< both dwords come from one load, and nothing else reads them
  };
  std::vector<Part> parts;
  for (unsigned from = 0; from < 64; from += from < 33 ? 1 : 10)
    for (const bool rotates : {false, true})
      for (const bool loaded : {false, true})
        if (!rotates || !loaded) parts.push_back({from, rotates, from % 5 == 3, loaded});

  ir::Function f(32);
  Builder b(f, f.add_block());
  const Value item = b.input(ir::Input::local_id_x), yes = b.u1(true);
  const auto at = [&](ir::Input base, Value byte) { return b.add(b.input(base), b.zext(byte, Type::i64)); };
  const auto word = [&](uint32_t k) {
    const Value byte = b.add(b.mul(item, b.i32(8)), b.i32(4 * k));
    return b.load(Type::i32, at(ir::Input::kernarg_ptr, byte), yes, {});
  };
  const Value x = word(0), y = word(1);
  const auto row = static_cast<uint32_t>(4 * parts.size());
  for (uint32_t k = 0; k < parts.size(); ++k) {
    Value both = b.pack64(x, parts[k].rotates ? x : y);
    if (parts[k].loaded) {
      const Value pair = b.load(Type::i32, at(ir::Input::kernarg_ptr, b.mul(item, b.i32(8))), yes, {}, 2);
      both = b.pack64(b.extract(pair, 0), b.extract(pair, 1));
    }
    const Value shifted = b.lshr(both, b.i64(parts[k].from));
    Value result = b.lo32(shifted);
    if (parts[k].in_full) result = b.xor_(result, b.popcount(shifted));
    b.store(at(ir::Input::dispatch_ptr, b.add(b.mul(item, b.i32(row)), b.i32(4 * k))), yes, result, {});
  }
  b.ret();

  EmitOptions o{.device = test::Device::get().traits()};
  o.seating = {
      .wave_size = 32, .host_lanes = test::Device::get().subgroup_size(), .workgroup = {pattern_items, 1, 1}};
  const auto module = test::build(f, o);
  std::mt19937 random(3);
  std::vector<uint32_t> in(pattern_items * 2), out(pattern_items * parts.size());
  for (auto& w : in) w = static_cast<uint32_t>(random());
  const auto bytes = [](auto& v) { return std::span(reinterpret_cast<uint8_t*>(v.data()), v.size() * 4); };
  ASSERT_TRUE(test::run(module, bytes(in), bytes(out), 1));
  for (uint32_t i = 0; i < pattern_items; ++i)
    for (uint32_t k = 0; k < parts.size(); ++k) {
      const uint64_t low = in[2 * i], high = parts[k].rotates ? low : in[2 * i + 1];
      const uint64_t shifted = (low | high << 32) >> parts[k].from;
      const uint32_t full = parts[k].in_full ? static_cast<uint32_t>(std::popcount(shifted)) : 0;
      EXPECT_EQ(out[i * parts.size() + k], static_cast<uint32_t>(shifted) ^ full)
          << (parts[k].rotates ? "rotation" : "part") << " from bit " << parts[k].from;
    }
}

} // namespace
} // namespace lanewise::spirv
