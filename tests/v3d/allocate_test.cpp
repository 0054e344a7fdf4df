// Every shader of the collection allocates, and what comes out passes all three checks.
#include "collection.hpp"

#include "v3d/compile.hpp"

#include <fmt/format.h>

namespace lanewise::v3d {
namespace {

class Collection : public testing::TestWithParam<Gpu> {};

TEST_P(Collection, every_shader_allocates_and_is_right) {
  unsigned refused = 0, fewer_threads = 0, newly_spilling = 0, more_threads = 0;
  std::uint64_t ours = 0, mesa = 0, words = 0, mesa_words = 0;
  for (const Shader& s : collection(GetParam())) {
    const auto c = compile(s, {});
    if (!c) {
      ++refused;
      continue;
    }
    const auto ok = verify(s, *c, 1);
    EXPECT_TRUE(ok) << ok.error().to_string();
    ours += c->figures.spills + c->figures.fills;
    mesa += s.mesa.spills + s.mesa.fills;
    more_threads += c->figures.threads > s.mesa.threads;
    fewer_threads += c->figures.threads < s.mesa.threads;
    newly_spilling += c->figures.spills + c->figures.fills != 0 && s.mesa.spills + s.mesa.fills == 0;
    if (c->figures.spills + s.mesa.spills == 0) {
      words += c->figures.instructions;
      mesa_words += s.mesa.instructions;
    }
  }
  EXPECT_EQ(refused, 0u);
  EXPECT_EQ(fewer_threads, 0u);
  EXPECT_EQ(newly_spilling, 0u);
  EXPECT_LT(ours * 100, mesa * (GetParam() == Gpu::v71 ? 50 : 53));
  EXPECT_GE(more_threads, GetParam() == Gpu::v71 ? 25u : 20u);
  EXPECT_LE(words, mesa_words);
}

INSTANTIATE_TEST_SUITE_P(Gpus, Collection, testing::Values(Gpu::v42, Gpu::v71),
                         [](const auto& i) { return i.param == Gpu::v71 ? "v71" : "v42"; });

Shader given(std::string vir, Gpu gpu = Gpu::v71) {
  Shader s;
  s.program = "test";
  s.gpu = gpu;
  s.stage = guess_stage(vir);
  s.listings.push_back({"given", 2, std::move(vir)});
  return s;
}

// varying-packing with 63 flat components, all of them used at the end: the reference fails on 7.1.
TEST(Allocate, sixty_three_flat_varyings_fit_without_a_spill) {
  std::string vir = "BLOCK 0:\n";
  for (int n = 0; n < 63; ++n) {
    vir += fmt::format("nop t{}; ldvary.rf0\nmov t{}, rf0\n", 2 * n, 2 * n + 1);
  }
  unsigned sum = 1;
  for (unsigned n = 1; n < 63; ++n) {
    vir += fmt::format("fadd t{}, t{}, t{}\n", 200 + n, sum, 2 * n + 1);
    sum = 200 + n;
  }
  vir += fmt::format("nop null; thrsw\nvfpack tlb, t{}, 0\nvfpack tlb, t{}, 1.000000\n", sum, sum);
  const Shader s = given(vir);
  const auto c = compile(s, {});
  ASSERT_TRUE(c) << c.error().to_string();
  EXPECT_EQ(c->figures.spills + c->figures.fills, 0u);
  EXPECT_TRUE(verify(s, *c));
}

TEST(Allocate, a_value_of_the_last_section_is_filled_before_the_last_switch) {
  // Seventy values from textures, all alive until behind the last thread switch's sum.
  std::string vir = "BLOCK 0:\nnop t0; ldunif (push[0])\n";
  for (int n = 1; n <= 70; ++n) {
    vir += fmt::format(
        "mov tmut, t0\nnop null; wrtmuc (tex[{}].p0 | 0x1)\nmov tmus, t0\nnop null; thrsw\nnop t{}; "
        "ldtmu.rf0\n",
        n, n);
  }
  vir += "fadd t100, t1, t2\n";
  for (int n = 3; n <= 70; ++n) {
    vir += fmt::format("fadd t{}, t{}, t{}\n", 98 + n, 97 + n, n);
  }
  vir += "fmul t200, t1, t168\nfmul t201, t70, t168\nnop null; thrsw\nvfpack tlb, t200, t201\nvfpack tlb, "
         "t1, t168\n";
  const Shader s = given(vir);
  for (const char* feature : {"", "reorder", "batch", "share-slots", "coalesce", "remat"}) {
    AllocateOptions o;
    if (*feature != 0) {
      ASSERT_TRUE(switch_off(o, feature));
    }
    const auto c = compile(s, o);
    ASSERT_TRUE(c) << feature << ": " << c.error().to_string();
    const auto ok = verify(s, *c);
    EXPECT_TRUE(ok) << feature << ": " << ok.error().to_string();
  }
}

TEST(Allocate, copies_of_loop_values_vanish) {
  const Shader s = given(
      "BLOCK 0:\nnop t0; ldunif (push[0])\nmov t1, 0\nmov t2, 1.000000\n-> BLOCK 1\n"
      "BLOCK 1:\nmin.pushc null, t0, t1\nbu.allnap  262, r:unif (0x00000000 / 0.000000)\n-> BLOCK 3, 2\n"
      "BLOCK 2:\nfadd t3, t2, 2.000000\nmov t4, t3\nadd t5, t1, 1\nmov t2, t4\nmov t1, t5\n"
      "bu  262, r:unif (0x00000000 / 0.000000)\n-> BLOCK 1\n"
      "BLOCK 3:\nnop null; thrsw\nvfpack tlb, t2, 0\nvfpack tlb, t2, 1.000000\n");
  const auto c = compile(s, {});
  ASSERT_TRUE(c) << c.error().to_string();
  EXPECT_EQ(c->allocation.copies_removed, 3u);
  EXPECT_TRUE(verify(s, *c, 8));
}

} // namespace
} // namespace lanewise::v3d
