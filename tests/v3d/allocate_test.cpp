// Every shader of the collection allocates, and what comes out passes all three checks.
#include "collection.hpp"

#include "v3d/compile.hpp"

#include <fmt/format.h>

namespace lanewise::v3d {
namespace {

class Collection : public testing::TestWithParam<Gpu> {};

TEST_P(Collection, every_shader_allocates_and_is_right) {
  unsigned refused = 0, fewer_threads = 0, newly_spilling = 0, more_threads = 0;
  std::uint64_t ours = 0, weighted = 0, mesa = 0, words = 0, mesa_words = 0, nops = 0, mesa_nops = 0,
                stalls = 0, mesa_stalls = 0;
  for (const Shader& s : collection(GetParam())) {
    const auto c = compile(s, {});
    if (!c) {
      ++refused;
      continue;
    }
    const auto ok = verify(s, *c, 1);
    EXPECT_TRUE(ok) << ok.error().to_string();
    ours += c->figures.spills + c->figures.fills;
    weighted += c->figures.weighted;
    mesa += s.mesa.spills + s.mesa.fills;
    more_threads += c->figures.threads > s.mesa.threads;
    fewer_threads += c->figures.threads < s.mesa.threads;
    newly_spilling += c->figures.spills + c->figures.fills != 0 && s.mesa.spills + s.mesa.fills == 0;
    if (c->figures.spills + s.mesa.spills == 0) {
      words += c->figures.instructions;
      mesa_words += s.mesa.instructions;
      nops += c->figures.nops;
      mesa_nops += s.mesa.nops;
      stalls += c->figures.sfu_stalls;
      mesa_stalls += s.mesa.sfu_stalls;
    }
  }
  EXPECT_EQ(refused, 0u);
  EXPECT_EQ(fewer_threads, 0u);
  EXPECT_EQ(newly_spilling, 0u);
  EXPECT_LT(ours * 2, mesa);
  EXPECT_LT(weighted * 2, mesa); // which weighs at least as much itself
  EXPECT_GE(more_threads, GetParam() == Gpu::v71 ? 25u : 20u);
  EXPECT_LE(words, mesa_words);
  EXPECT_LE(nops, mesa_nops);
  EXPECT_LE(stalls, mesa_stalls);
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
  for (const char* feature : {"", "reorder", "batch", "vectors", "share-slots", "coalesce", "remat"}) {
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

// Fifty values wait while sixty others are made and summed up, and are summed up then.
TEST(Allocate, neighbours_move_as_vectors_behind_shared_switches) {
  std::string vir = "BLOCK 0:\nnop t0; ldunif (push[0])\n";
  unsigned next = 200;
  const auto lookups = [&](unsigned first, unsigned last) {
    for (unsigned n = first; n <= last; ++n) {
      vir += fmt::format("mov tmut, t0\nnop null; wrtmuc (tex[{}].p0 | 0x1)\nmov tmus, t0\nnop null; thrsw\n"
                         "nop t{}; ldtmu.rf0\n",
                         n, n);
    }
  };
  const auto sum_up = [&](unsigned first, unsigned last) {
    unsigned sum = first;
    for (unsigned n = first + 1; n <= last; ++n) {
      vir += fmt::format("fadd t{}, t{}, t{}\n", next, sum, n);
      sum = next++;
    }
    return sum;
  };
  lookups(1, 110);
  const unsigned late = sum_up(51, 110), early = sum_up(1, 50);
  vir += fmt::format("nop null; thrsw\nvfpack tlb, t{}, t{}\n", late, early);
  struct Row {
    Gpu gpu;
    unsigned threads;
    const char* without;
  };
  unsigned least_switches = ~0u;
  for (const Row& row : {Row{Gpu::v71, 2, ""}, Row{Gpu::v71, 4, ""}, Row{Gpu::v42, 2, ""},
                         Row{Gpu::v42, 4, ""}, Row{Gpu::v71, 2, "vectors"}, Row{Gpu::v71, 2, "batch"}}) {
    const Shader s = given(vir, row.gpu);
    AllocateOptions o;
    o.threads = row.threads;
    o.reorder = false;
    if (*row.without != 0) {
      ASSERT_TRUE(switch_off(o, row.without));
    }
    const auto c = compile(s, o);
    ASSERT_TRUE(c) << c.error().to_string();
    const auto ok = verify(s, *c);
    EXPECT_TRUE(ok) << ok.error().to_string();
    const SpillResult& r = c->allocation.spills;
    EXPECT_EQ(r.vectors != 0, *row.without == 0) << row.threads;
    if (std::string_view(row.without) == "batch") {
      EXPECT_EQ(r.switches, r.spills + r.fills);
      EXPECT_LT(least_switches * 2, r.switches);
      EXPECT_GT(r.switches, 60u);
    } else if (row.gpu == Gpu::v71 && row.threads == 2) {
      least_switches = std::min(least_switches, r.switches);
    }
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
