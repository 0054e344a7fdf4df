// lower_buffers and resolve_flat: what they make of known descriptors and addresses, and that lowered buffer
// accesses reach the same memory as the interpreter's own buffer rules.
#include "container/guest_abi.hpp"
#include "ir/interpreter.hpp"
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/passes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

namespace lanewise::passes {
namespace {

std::string after(std::string_view body, bool (*pass)(ir::Function&)) {
  auto f = ir::parse(fmt::format("function \"f\" wave32 lds 64 scratch 64 {{\n{}}}", body));
  if (!f) return f.error().to_string();
  if (const auto ok = ir::verify(*f); !ok) return "before: " + ok.error().to_string();
  pass(*f);
  if (const auto ok = ir::verify(*f); !ok) return "after: " + ok.error().to_string();
  const std::string text = ir::print(*f);
  return text.substr(text.find('\n') + 1, text.size() - text.find('\n') - 3);
}

bool lowered(ir::Function& f) {
  const auto ok = lower_buffers(f);
  return ok && *ok;
}

TEST(LowerBuffers, ScratchDescriptor) {
  const std::string v = fmt::format("i32 {}, i32 {:#x}, i32 -1, i32 {:#x}", guest_abi::scratch_rsrc_word0,
                                    guest_abi::scratch_rsrc_word1, guest_abi::scratch_rsrc_word3(32));
  EXPECT_EQ(after(fmt::format(R"(b0:
  %1 = i32 lane_id
  %2 = u1 input.initial_exec
  %3 = i32x2 buffer_load.global.4.offen {0}, i32 0, %1, i32 512, %2
  %4 = i32 extract.1 %3
  buffer_store.global.4 {0}, i32 0, i32 4, i32 256, %2, %4
  ret
)",
                              v),
                  lowered),
            R"(b0:
  %1 = i32 lane_id
  %2 = u1 input.initial_exec
  %3 = i32 add %1, i32 16
  %4 = i32x2 load.scratch.4 %3, %2
  %5 = i32 extract.1 %4
  store.scratch.4 i32 12, %2, %5
  ret
)");
}

bool lowered_and_cleaned(ir::Function& f) {
  const bool changed = lowered(f);
  simplify(f);
  dead_code(f);
  return changed;
}

TEST(LowerBuffers, RawDescriptorWithConstantFields) {
  EXPECT_EQ(after(R"(b0:
  %1 = i32 lane_id
  %2 = u1 input.initial_exec
  %3 = uniform i32 input.workgroup_id_x
  %4 = i32 buffer_load.global.4.offen %3, i32 0, i32 4096, i32 0x31014fac, i32 0, %1, i32 0, %2
  store.scratch.4 i32 0, %2, %4
  ret
)",
                  lowered_and_cleaned),
            R"(b0:
  %1 = i32 lane_id
  %2 = u1 input.initial_exec
  %3 = uniform i32 input.workgroup_id_x
  %4 = uniform i64 zext %3
  %5 = i64 zext %1
  %6 = i64 add %4, %5
  %7 = i64 add %5, i64 4
  %8 = u1 ule %7, i64 4096
  %9 = u1 and %2, %8
  %10 = i32 load.global.4 %6, %9
  store.scratch.4 i32 0, %2, %10
  ret
)");
}

TEST(LowerBuffers, TypedFormatIsRefused) {
  auto f = ir::parse(
      "function \"f\" wave32 lds 0 scratch 0 {\nb0:\n  %1 = i32 buffer_load.global.4.format22 i32 0, "
      "i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, u1 true @0x18\n  ret\n}");
  ASSERT_TRUE(f);
  const auto result = lower_buffers(*f);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().to_string(), "pc 0x18: typed buffer access, format 22");
}

// All range modes, strides and swizzles against the interpreter's independent implementation.
TEST(LowerBuffers, SameMemoryAsTheInterpreter) {
  std::mt19937 random(3);
  const auto pick = [&](std::initializer_list<uint32_t> values) {
    return *(values.begin() + random() % values.size());
  };
  for (unsigned i = 0; i < 400; ++i) {
    const uint32_t stride = pick({0, 4, 8, 12, 64});
    const uint32_t word1 = stride << 16 | (random() % 3 == 0 ? 0x80000000u : 0);
    const uint32_t word3 = (random() % 4) << 28 | (random() % 4) << 21 | (random() % 4 == 0 ? 1u << 23 : 0);
    const uint32_t records = pick({0, 3, 8, 30, 200, 4096});
    const std::string text =
        fmt::format(R"(function "f" wave32 lds 0 scratch 0 {{
b0:
  %1 = i32 lane_id
  %2 = i32 mul %1, i32 {}
  %3 = i32 and %1, i32 {}
  %4 = u1 ne %1, i32 5
  %5 = i32 mul %1, i32 0x01010101
  %6 = i32x2 buffer_load.global.4.idxen.offen i32 0x100000, i32 {:#x}, i32 {}, i32 {:#x}, %3, %2, i32 {}, %4
  %7 = i32 extract.0 %6
  %8 = i32 extract.1 %6
  %9 = i32 add %7, %8
  %10 = i32 xor %9, %5
  buffer_store.global.{}.idxen.offen i32 0x100000, i32 {:#x}, i32 {}, i32 {:#x}, %3, %2, i32 {}, %4, %10
  %11 = i32 buffer_atomic.add.global.4.idxen.offen i32 0x100000, i32 {:#x}, i32 {}, i32 {:#x}, %3, %2, i32 0, %4, %5
  %12 = i64 zext %1
  %13 = i64 shl %12, i64 2
  %14 = i64 add %13, i64 0x100000
  store.global.4 %14, u1 true, %11
  ret
}})",
                    pick({0, 4, 8}), pick({0, 1, 7, 31}), word1, records, word3, pick({0, 16}),
                    pick({1, 2, 4}), word1, records, word3, pick({0, 16}), word1, records, word3);
    auto f = ir::parse(text);
    ASSERT_TRUE(f) << f.error().to_string();
    const auto run = [&] {
      ir::FlatMemory memory(0x100000, 1 << 24);
      for (size_t k = 0; k < 8192; ++k) memory.bytes[k] = static_cast<uint8_t>(k * 7);
      const auto ok = ir::interpret(*f, {.grid = {32, 1, 1}, .workgroup = {32, 1, 1}}, memory);
      return ok ? std::move(memory.bytes) : std::vector<uint8_t>{};
    };
    const auto expected = run();
    ASSERT_FALSE(expected.empty()) << text;
    ASSERT_TRUE(lowered(*f));
    ASSERT_EQ(run(), expected) << text << ir::print(*f);
  }
}

TEST(ResolveFlat, KnownApertures) {
  EXPECT_EQ(after(R"(b0:
  %1 = i32 lane_id
  %2 = u1 input.initial_exec
  %3 = i64 pack64 %1, i32 0x10000
  %4 = i64 add %3, i64 8
  %5 = i32 load.flat.4 %4, %2
  %6 = i64 pack64 %1, i32 0x20000
  store.flat.4 %6, %2, %5
  %7 = uniform i64 input.kernarg_ptr
  %8 = uniform i64 add %7, i64 16
  %9 = i32 load.flat.4 %8, u1 true
  %10 = uniform i64 load.global.8 %8, u1 true
  store.flat.4 %10, %2, %9
  ret
)",
                  resolve_flat),
            R"(b0:
  %1 = i32 lane_id
  %2 = u1 input.initial_exec
  %3 = i64 pack64 %1, i32 0x10000
  %4 = i64 add %3, i64 8
  %5 = i32 add %1, i32 8
  %6 = i32 load.lds.4 %5, %2
  %7 = i64 pack64 %1, i32 0x20000
  store.scratch.4 %1, %2, %6
  %8 = uniform i64 input.kernarg_ptr
  %9 = uniform i64 add %8, i64 16
  %10 = i32 load.global.4 %9, u1 true
  %11 = uniform i64 load.global.8 %9, u1 true
  store.flat.4 %11, %2, %10
  ret
)");
}

TEST(ResolveFlat, ThroughLoopsAndSelects) {
  EXPECT_EQ(after(R"(b0:
  %1 = i32 lane_id
  %2 = u1 input.initial_exec
  %3 = i64 pack64 %1, i32 0x10000
  br b1
b1: from b0, b1
  %4 = i64 phi %3, %5
  %6 = uniform i32 phi i32 0x10000, i32 0x20000
  %5 = i64 add %4, i64 4
  %7 = i64 pack64 %1, %6
  store.flat.4 %4, %2, %1
  store.flat.4 %7, %2, %1
  %8 = uniform u1 any %2
  cond_br %8, b1, b2
b2: from b1
  ret
)",
                  resolve_flat),
            R"(b0:
  %1 = i32 lane_id
  %2 = u1 input.initial_exec
  %3 = i64 pack64 %1, i32 0x10000
  br b1
b1: from b0, b1
  %4 = i64 phi %3, %6
  %5 = uniform i32 phi i32 0x10000, i32 0x20000
  %6 = i64 add %4, i64 4
  %7 = i64 pack64 %1, %5
  %8 = i32 lo32 %4
  store.lds.4 %8, %2, %1
  store.flat.4 %7, %2, %1
  %9 = uniform u1 any %2
  cond_br %9, b1, b2
b2: from b1
  ret
)");
}

} // namespace
} // namespace lanewise::passes
