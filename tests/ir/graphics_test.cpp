// Samples and exports: what the text says, what the verifier refuses, which lanes' words the interpreter
// hands on.
#include "graphics_recorder.hpp"
#include "image_text.hpp"
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/text.hpp"
#include "ir/verifier.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace lanewise::ir {
namespace {

std::string program(std::string_view body) {
  return testing::with_image("function \"f\" wave32 lds 0 scratch 0 {\n" + std::string(body) + "}\n");
}

TEST(Graphics, TextReadsBack) {
  const std::string text = program(R"(b0:
  %1 = i32 input.local_id_x
  %2 = u1 ult %1, i32 7
  %3 = i32x4 image_sample.2d.zero %image, %2, %1, i32 5
  %4 = i32x3 image_sample.cube.lod.compare.offset.mask7 %image, %2, i32 0, %1, %1, i32 5, i32 6, i32 7
  %5 = i32x2 image_sample.3d.grad.clamp.mask9 %image, %2, %1, %1, %1, %1, %1, %1, %1, i32 5, i32 6, i32 7
  %6 = i32 image_sample_implicit.1d_array.bias.mask4 %image, %2, i32 1, %1, i32 5
  %7 = i32x4 image_sample.2d_array.zero.gather.mask2 %image, %2, %1, i32 5, i32 6
  %8 = i32 extract.2 %7
  export.mrt3.mask5.compressed.done.vm %2, %8, %6
  export.param31 u1 true, %8, %6, i32 0, %1
  export.pos4 u1 true, %8, %6, i32 0, %1
  export.mrtz u1 true, %8, %6, i32 0, %1
  export.null u1 true, %8, %6, i32 0, %1
  export.prim u1 true, %8, %6, i32 0, %1
  ret
)");
  const auto f = parse(text);
  ASSERT_TRUE(f) << f.error().to_string();
  EXPECT_EQ(print(*f), text);
  const auto ok = verify(*f);
  EXPECT_TRUE(ok) << ok.error().to_string();
}

TEST(Graphics, EveryTargetReadsBack) {
  for (uint64_t imm = 0; imm < 1 << 15; ++imm) {
    std::string s;
    spell_immediate(s, Op::export_, imm);
    ASSERT_EQ(read_immediate(Op::export_, s), imm) << s;
  }
}

struct Refused {
  const char* statement;
  const char* error; ///< "" = correct
};

constexpr Refused kRefused[] = {
    {"%1 = i32 image_sample.2d.zero.mask1 %image, u1 true, i32 1, i32 2", ""},
    {"%1 = i32 image_sample.2d.zero.mask1 %image, u1 true, i32 1", "has 1 words of address, needs 2"},
    {"%1 = i32 image_sample.2d.lod.mask1 %image, u1 true, i32 1, i32 2", "has 2 words of address, needs 3"},
    {"%1 = i32 image_sample.2d.mask1 %image, u1 true, i32 1, i32 2",
     "takes its level otherwise than the operation says"},
    {"%1 = i32 image_sample_implicit.2d.zero.mask1 %image, u1 true, i32 1, i32 2",
     "takes its level otherwise than the operation says"},
    {"%1 = i32 image_sample.2d.zero %image, u1 true, i32 1, i32 2",
     "gives another number of components than asked for"},
    {"%1 = i32 image_sample.2d_msaa.zero.mask1 %image, u1 true, i32 1, i32 2, i32 3",
     "samples a multisampled image"},
    {"%1 = i64 image_sample.2d.zero.mask1 %image, u1 true, i32 1, i32 2", "cannot have a result of type i64"},
    {"%1 = i32 image_sample.2d.zero.mask1 %image, i32 1, i32 1, i32 2", "operand 12 has the wrong type i32"},
    {"export.mrt0 u1 true, i32 1, i32 2", "has the wrong number of words"},
    {"export.mrt0.compressed u1 true, i32 1, i32 2", ""},
    {"export.mrt0 i32 1, i32 1, i32 2, i32 3, i32 4", "operand 0 has the wrong type i32"},
};

TEST(Graphics, VerifierRules) {
  for (const Refused& r : kRefused) {
    const auto f = parse(program("b0:\n  " + std::string(r.statement) + "\n  ret\n"));
    ASSERT_TRUE(f) << r.statement << ": " << f.error().to_string();
    const auto ok = verify(*f);
    EXPECT_EQ(ok ? "" : ok.error().what, r.error) << r.statement;
  }
}

/// Remembers who sampled where; a texel is its x coordinate and 100.
class Texels final : public InterpreterGraphics {
 public:
  std::array<uint32_t, 4> sample(const ImageSample& s) override {
    samples.push_back(s);
    return {s.address[s.place_in_quad][0] + 100, s.descriptors[0], s.descriptors[11], 0};
  }
  void take(const LaneExport& e) override { exports.push_back(e); }
  std::vector<ImageSample> samples;
  std::vector<LaneExport> exports;
};

std::string run_graphics(std::string_view body, Texels* texels, LaneOrder order = LaneOrder::together) {
  const auto f = parse(program(body));
  if (!f) return f.error().to_string();
  FlatMemory memory(0, 16);
  const auto done = interpret(
      *f, {.grid = {32, 1, 1}, .workgroup = {32, 1, 1}, .order = order, .graphics = texels}, memory);
  return done ? "" : done.error().to_string();
}

TEST(Graphics, LanesThatAreOnSampleAndExport) {
  for (const LaneOrder order : {LaneOrder::together, LaneOrder::ascending, LaneOrder::descending}) {
    Texels t;
    EXPECT_EQ(run_graphics(R"(b0:
  %id = i32 input.local_id_x
  %bit = i32 and %id, i32 1
  %odd = u1 ne %bit, i32 0
  %texel = i32x3 image_sample.1d.zero.mask7 %image, %odd, %id
  %x = i32 extract.0 %texel
  %first = i32 extract.1 %texel
  %last = i32 extract.2 %texel
  %few = u1 ult %id, i32 3
  export.param2 %few, %x, %first, %last, %id
  ret
)",
                           &t, order),
              "");
    ASSERT_EQ(t.samples.size(), 16u);
    for (const ImageSample& s : t.samples) EXPECT_EQ(s.address[0][0] % 2, 1u);
    std::ranges::sort(t.exports, {}, &LaneExport::item);
    ASSERT_EQ(t.exports.size(), 3u);
    using Words = std::array<uint32_t, 4>;
    EXPECT_EQ(t.exports[0].words, (Words{0, 0, 0, 0})); // off when it sampled
    EXPECT_EQ(t.exports[1].words, (Words{101, 1, 12, 1}));
    EXPECT_EQ(t.exports[2].words, (Words{0, 0, 0, 2}));
    EXPECT_EQ(t.exports[1].target.target, ExportTarget::param0 + 2);
    EXPECT_EQ(t.exports[1].item, 1u);
  }
}

TEST(Graphics, AQuadIsReadWhoeverIsOff) {
  Texels t;
  EXPECT_EQ(run_graphics(R"(b0:
  %id = i32 input.local_id_x
  %x = i32 mul %id, i32 10
  %one = u1 eq %id, i32 6
  %texel = i32 image_sample_implicit.1d.mask1 %image, %one, %x
  ret
)",
                         &t),
            "");
  ASSERT_EQ(t.samples.size(), 1u);
  EXPECT_EQ(t.samples[0].place_in_quad, 2u);
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(t.samples[0].address[i][0], 40 + 10 * i);
}

TEST(Graphics, WithoutImagesIsAnError) {
  EXPECT_EQ(run_graphics("b0:\n  %t = i32 image_sample.1d.zero.mask1 %image, u1 true, i32 1 @0x24\n  ret\n",
                         nullptr),
            "function f, pc 0x24, image_sample, workgroup 0,0,0, wave 0: a sample, and the dispatch brings "
            "no images");
  EXPECT_EQ(
      run_graphics("b0:\n  export.null u1 true, i32 1, i32 1, i32 1, i32 1 @0x8\n  ret\n", nullptr),
      "function f, pc 0x8, export, workgroup 0,0,0, wave 0: an export, and the dispatch does not take any");
}

} // namespace
} // namespace lanewise::ir
