// Seeded faults: each is one wrong allocation or one illegal word, beside a right one, and each is caught.
#include "v3d/checker.hpp"

#include <gtest/gtest.h>

#include <string>

namespace lanewise::v3d {
namespace {

const std::string spill_base = "tidx rf4\nnop rf5; ldunif (spill_size_per_thread)\nmultop null, rf4, rf5\n"
                               "umul24 rf6, rf4, rf5\neidx rf7\nshl rf8, rf7, 2\nadd rf9, rf6, rf8\n"
                               "nop rf11; ldunif (spill_offset)\nadd rf10, rf9, rf11\n";

std::string slot(const char* offset, const char* cond = "", const char* config = "0xffffff7f / -nan") {
  return std::string("nop rf12; ldunif (") + offset + " / 0.000000)\nadd" + cond + " tmuau, rf10, rf12 (" +
         config + ")\n";
}
std::string store(const char* reg, const char* offset) {
  return std::string("mov tmud, ") + reg + "\n" + slot(offset) + "nop null; thrsw\ntmuwt null\n";
}
std::string fill(const char* reg, const char* offset) {
  return slot(offset) + "nop null; thrsw\nnop " + reg + "; ldtmu.rf0\n";
}

// The same with slots in rows: 16 bytes a lane, neighbours in one access.
const std::string row_base = "tidx rf4\nnop rf5; ldunif (spill_size_per_thread)\nmultop null, rf4, rf5\n"
                             "umul24 rf6, rf4, rf5\neidx rf7\nshl rf8, rf7, 4\nadd rf9, rf6, rf8\n"
                             "nop rf11; ldunif (spill_offset)\nadd rf10, rf9, rf11\n";
constexpr const char* vec2 = "0xffffff7a / -nan";
std::string store_pair(const char* a, const char* b, const char* offset, const char* config = vec2) {
  return std::string("mov tmud, ") + a + "\nmov tmud, " + b + "\n" + slot(offset, "", config) +
         "nop null; thrsw\ntmuwt null\n";
}
std::string fill_pair(const char* a, const char* b, const char* offset) {
  return slot(offset, "", vec2) + "nop null; thrsw\nnop " + a + "; ldtmu.rf0\nnop " + b + "; ldtmu.rf0\n";
}

// Listing: two texture results, both used.
const std::string two =
    "BLOCK 0:\nnop t0; ldunif (push[0])\nrecip t1, t0\nrsqrt t2, t0\nfxcd t3\nfadd t4, t3, t1\n"
    "fadd t5, t4, t2\nnop null; thrsw\nvfpack tlb, t5, t4\n";
const std::string two_front =
    "BLOCK 0:\nnop rf20; ldunif (push[0])\nrecip rf21, rf20\nrsqrt rf22, rf20\nfxcd rf23\n";
const std::string two_back =
    "fadd rf24, rf23, rf21\nfadd rf25, rf24, rf22\nnop null; thrsw\nvfpack tlb, rf25, rf24\n";

const std::string spilled_front =
    "BLOCK 0:\n" + spill_base + "nop rf20; ldunif (push[0])\nrecip rf21, rf20\nrsqrt rf22, rf20\nfxcd rf23\n";

const std::string rows_front =
    "BLOCK 0:\n" + row_base + "nop rf20; ldunif (push[0])\nrecip rf21, rf20\nrsqrt rf22, rf20\nfxcd rf23\n";

const std::string masked =
    "BLOCK 0:\nfxcd t0\nfycd t1\nfcmp.pushn null, t0, t1\nmov.ifa t0, t1\nfadd t2, t0, t1\n"
    "nop null; thrsw\nvfpack tlb, t2, t0\n";
const std::string masked_front = "BLOCK 0:\n" + spill_base + "fxcd rf20\nfycd rf21\n";

const std::string diamond =
    "BLOCK 0:\nfxcd t0\nfycd t1\nmov.pushz null, t0\nbu.anya  262, r:unif (0x00000000 / 0.000000)\n"
    "-> BLOCK 2, 1\nBLOCK 1:\nfadd t1, t1, t0\n-> BLOCK 2\nBLOCK 2:\nnop null; thrsw\n"
    "vfpack tlb, t1, t0\n";

std::string diamond_over(const char* then_dst) {
  return std::string("BLOCK 0:\nfxcd rf4\nfycd rf5\nmov.pushz null, rf4\nbu.anya  262, r:unif (0x00000000 / "
                     "0.000000)\n"
                     "-> BLOCK 2, 1\nBLOCK 1:\nfadd ") +
         then_dst + ", rf5, rf4\n-> BLOCK 2\nBLOCK 2:\nnop null; thrsw\nvfpack tlb, rf5, rf4\n";
}

TEST(Faults, wrong_allocations_are_caught) {
  struct Row {
    const char* name;
    Gpu gpu;
    std::string listing, right, wrong;
  };
  const std::string texture =
      "BLOCK 0:\nfxcd t0\nmov tmut, t0\nnop null; wrtmuc (tex[0].p0 | 0x3)\nmov tmus, t0\n"
      "nop null; thrsw\nnop t1; ldtmu.rf0\nnop t2; ldtmu.rf0\nnop null; thrsw\nvfpack tlb, t1, t2\n";
  const auto texture_over = [](const char* a, const char* b) {
    return std::string(
               "BLOCK 0:\nfxcd rf4\nmov tmut, rf4\nnop null; wrtmuc (tex[0].p0 | 0x3)\nmov tmus, rf4\n"
               "nop null; thrsw\nnop ") +
           a + "; ldtmu.rf0\nnop " + b + "; ldtmu.rf0\nnop null; thrsw\nvfpack tlb, rf5, rf6\n";
  };
  const std::string mul =
      "BLOCK 0:\nfxcd t0\nfycd t1\nmultop null, t0, t1\numul24 t2, t0, t1\nnop null; thrsw\n"
      "vfpack tlb, t2, t2\n";
  const std::string varying =
      "BLOCK 0:\nmov t0, rf3\nnop t1; ldvary.rf0\nfmul t2, t1, t0\nfadd t3, t2, rf0\n"
      "nop t4; ldunif (push[0])\nfadd t5, t3, t4\nnop null; thrsw\nvfpack tlb, t5, t4\n";
  const std::string halves =
      "BLOCK 0:\nfxcd t0\nfycd t1\nfadd t2.l, t0, t1\nfmul t2.h, t0, t1\nnop null; thrsw\n"
      "vfpack tlb, t2.l, t2.h\n";
  const auto halves_over = [](const char* second) {
    return std::string("BLOCK 0:\nfxcd rf4\nfycd rf5\nfadd rf6.l, rf4, rf5\nfmul ") + second +
           ", rf4, rf5\nnop null; thrsw\nvfpack tlb, rf6.l, rf6.h\n";
  };
  const std::string flags = "BLOCK 0:\nfxcd t0\nfycd t1\nfcmp.pushn null, t0, t1\nmov t2, 0\nmov.ifa t2, t1\n"
                            "nop null; thrsw\nvfpack tlb, t2, t0\n";
  const auto flags_over = [](const char* between, const char* cond) {
    return std::string("BLOCK 0:\nfxcd rf4\nfycd rf5\nfcmp.pushn null, rf4, rf5\n") + between +
           "mov rf6, 0\nmov." + cond + " rf6, rf5\nnop null; thrsw\nvfpack tlb, rf6, rf4\n";
  };
  const Row rows[] = {
      {"a clobbered live register", Gpu::v71, two, two_front + two_back,
       "BLOCK 0:\nnop rf20; ldunif (push[0])\nrecip rf21, rf20\nrsqrt rf21, rf20\nfxcd rf23\n" + two_back},
      {"an operand from another register", Gpu::v71, two, two_front + two_back,
       two_front + "fadd rf24, rf23, rf22\nfadd rf25, rf24, rf22\nnop null; thrsw\nvfpack tlb, rf25, rf24\n"},
      {"a stale fill", Gpu::v71, two,
       spilled_front + store("rf21", "0x00000000") + store("rf22", "0x00000040") +
           fill("rf21", "0x00000000") + two_back,
       spilled_front + store("rf21", "0x00000000") + store("rf22", "0x00000000") +
           fill("rf21", "0x00000000") + two_back},
      {"a fill from another slot", Gpu::v71, two,
       spilled_front + store("rf21", "0x00000000") + store("rf22", "0x00000040") +
           fill("rf30", "0x00000000") + two_back,
       spilled_front + store("rf21", "0x00000000") + store("rf22", "0x00000040") +
           fill("rf21", "0x00000040") + two_back},
      {"a fill that was never stored", Gpu::v71, two,
       spilled_front + store("rf21", "0x00000000") + fill("rf21", "0x00000000") + two_back,
       spilled_front + fill("rf21", "0x00000000") + two_back},
      {"a vector filled in another order", Gpu::v71, two,
       rows_front + store_pair("rf21", "rf22", "0x00000004") + fill_pair("rf21", "rf22", "0x00000004") +
           two_back,
       rows_front + store_pair("rf21", "rf22", "0x00000004") + fill_pair("rf22", "rf21", "0x00000004") +
           two_back},
      {"one word stored over a vector's second", Gpu::v71, two,
       rows_front + store_pair("rf21", "rf22", "0x00000000") + store("rf23", "0x00000008") +
           fill_pair("rf21", "rf22", "0x00000000") + two_back,
       rows_front + store_pair("rf21", "rf22", "0x00000000") + store("rf23", "0x00000004") +
           fill_pair("rf21", "rf22", "0x00000000") + two_back},
      {"a vector beyond its row", Gpu::v71, two,
       rows_front + store_pair("rf21", "rf22", "0x00000008") + fill_pair("rf21", "rf22", "0x00000008") +
           two_back,
       rows_front + store_pair("rf21", "rf22", "0x0000000c") + fill_pair("rf21", "rf22", "0x0000000c") +
           two_back},
      {"two words stored as one", Gpu::v71, two,
       rows_front + store_pair("rf21", "rf22", "0x00000000") + fill_pair("rf21", "rf22", "0x00000000") +
           two_back,
       rows_front + store_pair("rf21", "rf22", "0x00000000", "0xffffff7f / -nan") +
           fill_pair("rf21", "rf22", "0x00000000") + two_back},
      {"a vector over slots of words", Gpu::v71, two,
       rows_front + store_pair("rf21", "rf22", "0x00000000") + fill_pair("rf21", "rf22", "0x00000000") +
           two_back,
       spilled_front + store_pair("rf21", "rf22", "0x00000000") + fill_pair("rf21", "rf22", "0x00000000") +
           two_back},
      {"a masked spill over valid lanes", Gpu::v71, masked,
       masked_front + store("rf20", "0x00000000") + "fcmp.pushn null, rf20, rf21\nmov.ifa tmud, rf21\n" +
           slot("0x00000000", ".ifa", "0xffffffff / -nan") + "nop null; thrsw\ntmuwt null\n" +
           fill("rf20", "0x00000000") + "fadd rf22, rf20, rf21\nnop null; thrsw\nvfpack tlb, rf22, rf20\n",
       masked_front + "fcmp.pushn null, rf20, rf21\nmov.ifa tmud, rf21\n" +
           slot("0x00000000", ".ifa", "0xffffffff / -nan") + "nop null; thrsw\ntmuwt null\n" +
           fill("rf20", "0x00000000") + "fadd rf22, rf20, rf21\nnop null; thrsw\nvfpack tlb, rf22, rf20\n"},
      {"a masked address over unmasked data", Gpu::v71, masked,
       masked_front + store("rf20", "0x00000000") + "fcmp.pushn null, rf20, rf21\nmov.ifa rf20, rf21\n" +
           "fadd rf22, rf20, rf21\nnop null; thrsw\nvfpack tlb, rf22, rf20\n",
       masked_front + store("rf20", "0x00000000") + "fcmp.pushn null, rf20, rf21\nmov tmud, rf21\n" +
           slot("0x00000000", ".ifa", "0xffffffff / -nan") + "nop null; thrsw\ntmuwt null\n" +
           fill("rf20", "0x00000000") + "fadd rf22, rf20, rf21\nnop null; thrsw\nvfpack tlb, rf22, rf20\n"},
      {"a conditional write over another value", Gpu::v71, masked,
       "BLOCK 0:\nfxcd rf20\nfycd rf21\nfcmp.pushn null, rf20, rf21\nmov.ifa rf20, rf21\nfadd rf22, rf20, "
       "rf21\n"
       "nop null; thrsw\nvfpack tlb, rf22, rf20\n",
       "BLOCK 0:\nfxcd rf20\nfycd rf21\nfcmp.pushn null, rf20, rf21\nmov.ifa rf23, rf21\nfadd rf22, rf23, "
       "rf21\n"
       "nop null; thrsw\nvfpack tlb, rf22, rf23\n"},
      {"an accumulator across a thread switch", Gpu::v42, two,
       "BLOCK 0:\nnop rf20; ldunif (push[0])\nrecip rf21, rf20\nrsqrt rf22, rf20\nfxcd r1\nfadd rf24, r1, "
       "rf21\n"
       "fadd rf25, rf24, rf22\nnop null; thrsw\nvfpack tlb, rf25, rf24\n",
       "BLOCK 0:\nnop rf20; ldunif (push[0])\nrecip rf21, rf20\nrsqrt rf22, rf20\nfxcd r1\nfadd r2, r1, "
       "rf21\n"
       "fadd rf25, r2, rf22\nnop null; thrsw\nvfpack tlb, rf25, r2\n"},
      {"the other condition", Gpu::v71, flags, flags_over("", "ifa"), flags_over("", "ifna")},
      {"flags set anew between a push and its reader", Gpu::v71, flags,
       flags_over("nop null; thrsw\n", "ifa"), flags_over("fcmp.pushn null, rf5, rf4\n", "ifa")},
      {"a thread switch between multop and umul24", Gpu::v71, mul,
       "BLOCK 0:\nfxcd rf4\nfycd rf5\nmultop null, rf4, rf5\numul24 rf6, rf4, rf5\nnop null; thrsw\nvfpack "
       "tlb, rf6, rf6\n",
       "BLOCK 0:\nfxcd rf4\nfycd rf5\nmultop null, rf4, rf5\nnop null; thrsw\numul24 rf6, rf4, rf5\nnop "
       "null; thrsw\n"
       "vfpack tlb, rf6, rf6\n"},
      {"a value missing on one path", Gpu::v71, diamond, diamond_over("rf5"), diamond_over("rf6")},
      {"another uniform made again", Gpu::v71, two, two_front + two_back,
       "BLOCK 0:\nnop rf20; ldunif (push[0])\nrecip rf21, rf20\nnop rf20; ldunif (push[1])\nrsqrt rf22, "
       "rf20\nfxcd rf23\n" +
           two_back},
      {"results taken in another order", Gpu::v71, texture, texture_over("rf5", "rf6"),
       texture_over("rf6", "rf5")},
      {"a fill inside a TMU sequence", Gpu::v71, texture, texture_over("rf5", "rf6"),
       "BLOCK 0:\n" + spill_base + "fxcd rf20\n" + store("rf20", "0x00000000") + "mov tmut, rf20\n" +
           fill("rf21", "0x00000000") +
           "nop null; wrtmuc (tex[0].p0 | 0x3)\nmov tmus, rf21\nnop null; thrsw\nnop rf5; ldtmu.rf0\nnop "
           "rf6; ldtmu.rf0\n"
           "nop null; thrsw\nvfpack tlb, rf5, rf6\n"},
      {"a uniform over the coefficient", Gpu::v71, varying,
       "BLOCK 0:\nmov rf4, rf3\nnop rf5; ldvary.rf0\nfmul rf6, rf5, rf4\nfadd rf7, rf6, rf0\nnop rf0; ldunif "
       "(push[0])\n"
       "fadd rf8, rf7, rf0\nnop null; thrsw\nvfpack tlb, rf8, rf0\n",
       "BLOCK 0:\nmov rf4, rf3\nnop rf5; ldvary.rf0\nfmul rf6, rf5, rf4\nnop rf0; ldunif (push[0])\nfadd "
       "rf7, rf6, rf0\n"
       "fadd rf8, rf7, rf0\nnop null; thrsw\nvfpack tlb, rf8, rf0\n"},
      {"a half lost", Gpu::v71, halves, halves_over("rf6.h"), halves_over("rf7.h")},
      {"a store to the tile buffer left out", Gpu::v71, two, two_front + two_back,
       two_front + "fadd rf24, rf23, rf21\nfadd rf25, rf24, rf22\nnop null; thrsw\n"},
      {"payload overwritten", Gpu::v71, varying,
       "BLOCK 0:\nnop rf5; ldvary.rf0\nfmul rf6, rf5, rf3\nfadd rf7, rf6, rf0\nnop rf0; ldunif (push[0])\n"
       "fadd rf8, rf7, rf0\nnop null; thrsw\nvfpack tlb, rf8, rf0\n",
       "BLOCK 0:\nnop rf3; ldvary.rf0\nfmul rf6, rf3, rf3\nfadd rf7, rf6, rf0\nnop rf0; ldunif (push[0])\n"
       "fadd rf8, rf7, rf0\nnop null; thrsw\nvfpack tlb, rf8, rf0\n"},
  };
  for (const Row& row : rows) {
    const auto listing = parse_vir(row.listing, row.gpu, Stage::fragment, 2);
    const auto right = parse_vir(row.right, row.gpu, Stage::fragment, 2);
    const auto wrong = parse_vir(row.wrong, row.gpu, Stage::fragment, 2);
    ASSERT_TRUE(listing && right && wrong) << row.name;
    const auto ok = check_allocation(*listing, *right);
    EXPECT_TRUE(ok) << row.name << ": " << ok.error().to_string();
    EXPECT_FALSE(check_allocation(*listing, *wrong)) << row.name;
  }
}

// A fragment shader of one block in words; all uniforms are one.
QpuProgram program(Gpu gpu, unsigned threads, const std::vector<std::string>& lines) {
  QpuProgram q;
  q.gpu = gpu;
  q.threads = threads;
  q.block_starts = {0};
  q.uniforms.push_back({"push[0]", false, 0, 1});
  for (const std::string& line : lines) {
    const auto w = parse_word(gpu, line);
    EXPECT_TRUE(w) << line;
    QpuWord word;
    word.word = *w;
    if (line.find("ldunif") != std::string::npos || line.find("wrtmuc") != std::string::npos ||
        line.find("tlbu") != std::string::npos || line.starts_with("bu")) {
      word.uniform = 0;
      q.stream.push_back({0, 0});
    }
    const auto bits = pack(gpu, *w);
    EXPECT_TRUE(bits) << line;
    q.words.push_back(word);
    q.bits.push_back(*bits);
  }
  return q;
}

TEST(Faults, illegal_words_are_caught) {
  using Lines = std::vector<std::string>;
  const std::string nop = "nop ; nop", last = "nop ; nop ; thrsw", tile = "vfpack tlb, rf5, rf6 ; nop";
  const auto with = [&](Lines front, Lines back) {
    Lines r = std::move(front);
    r.insert(r.end(), {last, last, nop});
    r.insert(r.end(), back.begin(), back.end());
    return r;
  };
  const Lines tail{tile + " ; thrsw", tile, nop};
  const Lines texture{"mov tmut, rf5 ; nop ; wrtmuc", "nop ; mov tmus, rf5"};
  struct Row {
    const char* name;
    Gpu gpu;
    unsigned threads;
    Lines lines;
    const char* expected; ///< part of the message; empty: it is right
  };
  const Row rows[] = {
      {"a right program", Gpu::v71, 4, with({"fadd rf4, rf5, rf6 ; nop"}, tail), ""},
      {"tile buffer before the lock",
       Gpu::v71,
       4,
       {tile, last, last, nop, tile + " ; thrsw", tile, nop},
       "scoreboard"},
      {"tile buffer in the slots",
       Gpu::v71,
       4,
       {last, last, tile, tile + " ; thrsw", tile, nop},
       "thread switch"},
      {"a switch in the slots of another", Gpu::v71, 4,
       with({"nop ; nop ; thrsw", nop, "nop ; nop ; thrsw", nop, nop}, tail), "slots of another"},
      {"no last switch", Gpu::v71, 4, {nop, nop, nop, "nop ; nop ; thrsw", nop, nop}, "last thread switch"},
      {"a uniform in the last slots", Gpu::v71, 4, with({}, {tile + " ; thrsw", "nop ; nop ; ldunif", nop}),
       "end of the program"},
      {"rf2 at the end", Gpu::v71, 4, with({}, {tile + " ; thrsw", "vfpack tlb, rf2, rf5 ; nop", nop}),
       "end of the program"},
      {"a register written with the final thrsw", Gpu::v71, 4,
       with({}, {"fadd rf4, rf5, rf6 ; nop ; thrsw", tile, nop}), "end of the program"},
      {"4.2: any register written at the end", Gpu::v42, 4,
       with({}, {"vfpack tlb, rf5, rf6 ; nop ; thrsw", "fadd rf4, rf5, rf6 ; nop", nop}),
       "end of the program"},
      {"beyond the thread's registers", Gpu::v71, 4, with({"fadd rf32, rf5, rf6 ; nop"}, tail), "share"},
      {"an SFU operation in a slot", Gpu::v71, 2,
       with({"nop ; nop ; thrsw", "recip rf4, rf5 ; nop", nop}, tail), "behind a thread switch"},
      {"a lookup started in the slots of its switch", Gpu::v71, 2,
       with({texture[0], "nop ; nop ; thrsw", texture[1], nop, "nop ; nop ; ldtmu.rf4"}, tail), ""},
      {"a lookup started behind the slots", Gpu::v71, 2,
       with({texture[0], "nop ; nop ; thrsw", nop, nop, texture[1], "nop ; nop ; ldtmu.rf4"}, tail),
       "TMU sequence"},
      {"an accumulator in the slots", Gpu::v42, 2,
       with({"fadd r1, rf5, rf6 ; nop", "nop ; nop ; thrsw", "fadd rf4, r1, rf5 ; nop", nop}, tail), ""},
      {"an accumulator written in a slot and read behind it", Gpu::v42, 2,
       with({"nop ; nop ; thrsw", nop, "fadd r1, rf5, rf6 ; nop", "fadd rf4, r1, rf5 ; nop"}, tail),
       "accumulator"},
      {"4.2: an ldvary in a slot", Gpu::v42, 2,
       with({"nop ; nop ; thrsw", "nop ; nop ; ldvary.rf4", nop}, tail), "behind a thread switch"},
      {"7.1: a register written by a signal in the last slot", Gpu::v71, 2,
       with({"nop ; nop ; thrsw", nop, "nop ; nop ; ldunif"}, tail), "behind a thread switch"},
      {"flags in a slot", Gpu::v71, 2, with({"nop ; nop ; thrsw", "fcmp.pushz -, rf5, rf6 ; nop", nop}, tail),
       "behind a thread switch"},
      {"the coefficient's register written twice", Gpu::v71, 2,
       with({"nop ; nop ; ldvary.rf4", "nop ; nop ; ldunif"}, tail), "coefficient"},
      {"ldtmu without a result", Gpu::v71, 2, with({"nop ; nop ; ldtmu.rf4"}, tail), "result to come"},
      {"a switch inside a sequence", Gpu::v71, 2,
       with({texture[0] + "; thrsw", nop, nop, texture[1], "nop ; nop ; ldtmu.rf4"}, tail), "TMU sequence"},
      {"two peripherals in one word", Gpu::v71, 2, with({"recip rf4, rf5 ; mov tmut, rf5", nop}, tail),
       "peripherals"},
      {"an accumulator that was destroyed", Gpu::v42, 2,
       with({"fadd r1, rf5, rf6 ; nop", "nop ; nop ; thrsw", nop, nop, "fadd rf4, r1, rf5 ; nop"}, tail),
       "accumulator"},
      {"a switch between multop and umul24", Gpu::v71, 2,
       with({"nop ; multop -, rf5, rf6", "nop ; nop ; thrsw", nop, nop, "nop ; umul24 rf4, rf5, rf6"}, tail),
       "multop"},
      {"flags survive a switch", Gpu::v71, 2,
       with({"fcmp.pushn -, rf5, rf6 ; nop", "nop ; nop ; thrsw", nop, nop, "mov.ifa rf4, rf5 ; nop"}, tail),
       ""},
      {"flags that nothing has set", Gpu::v71, 2, with({"mov.ifa rf4, rf5 ; nop"}, tail), "nothing has set"},
      {"a uniform behind a branch", Gpu::v71, 2,
       with({"bu  0, r:unif", "nop ; nop ; ldunif", nop, nop}, tail), "behind a branch"},
      {"a branch out of the program", Gpu::v71, 2, with({"bu  8000, r:unif", nop, nop, nop}, tail),
       "out of the program"},
  };
  for (const Row& row : rows) {
    const auto r = validate(program(row.gpu, row.threads, row.lines));
    if (*row.expected == 0) {
      EXPECT_TRUE(r) << row.name << ": " << r.error().to_string();
      continue;
    }
    ASSERT_FALSE(r) << row.name;
    EXPECT_NE(r.error().what.find(row.expected), std::string::npos) << row.name << ": " << r.error().what;
  }
}

TEST(Faults, three_register_reads_do_not_fit_a_42_word) {
  EXPECT_FALSE(parse_word(Gpu::v42, "fadd rf1, rf2, rf3 ; fmul r0, rf4, r1"));
  EXPECT_FALSE(parse_word(Gpu::v42, "fadd rf1, rf2, rf3 ; fmul r0, 1, r1"));
  EXPECT_TRUE(parse_word(Gpu::v42, "fadd rf1, rf2, rf3 ; fmul r0, rf3, r1"));
}

} // namespace
} // namespace lanewise::v3d
