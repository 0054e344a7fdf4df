// The rules of lane demand for samples and exports, each broken: the prover refutes it, and the interpreter
// shows another export. (No machine code reaches them yet, so there is no emulator and no device to ask.)
#include "../ir/graphics_recorder.hpp"
#include "../ir/image_text.hpp"
#include "analysis/broken_rule.hpp"
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "passes/exec_select.hpp"

#include <gtest/gtest.h>

namespace lanewise::tests {
namespace {

using analysis::BrokenRule;

struct GraphicsMutation {
  const char* name;
  BrokenRule rule;
  const char* body; ///< %x and %y differ between lanes; %m holds every third lane
  friend void PrintTo(const GraphicsMutation& m, std::ostream* out) { *out << m.name; }
};

constexpr GraphicsMutation kMutations[] = {
    {"implicit_level_reads_own_lane", BrokenRule::implicit_level_reads_own_lane, R"(
  %s = i32 select %m, %x, %y
  %t = i32 image_sample_implicit.2d.mask1 %image, %m, %s, %x
  export.mrt0.compressed %m, %t, %t
)"},
    {"export_forgets_who", BrokenRule::export_forgets_who, R"(
  %low = u1 ult %id, i32 20
  %u = u1 and %m, %low
  export.mrt0.compressed %u, %x, %y
)"},
};

using Exports = decltype(GraphicsRecorder::exports);

class BrokenGraphicsDemand : public testing::TestWithParam<GraphicsMutation> {
 protected:
  static ir::Function program() {
    auto f = ir::parse(ir::testing::with_image(R"(function "g" wave32 lds 0 scratch 0 {
b0:
  %id = i32 input.local_id_x
  %x = i32 mul %id, i32 7
  %y = i32 add %x, i32 3
  %hi = i32 mul_hi_u %id, i32 0x55555556
  %three = i32 mul %hi, i32 3
  %m = u1 eq %id, %three
)" + std::string(GetParam().body + 1) + "  ret\n}\n"));
    EXPECT_TRUE(f) << f.error().to_string();
    return f ? std::move(*f) : ir::Function{};
  }
  static Exports exports(const ir::Function& f) {
    GraphicsRecorder graphics;
    ir::FlatMemory memory(0, 16);
    const auto done =
        ir::interpret(f, {.grid = {32, 1, 1}, .workgroup = {32, 1, 1}, .graphics = &graphics}, memory);
    EXPECT_TRUE(done) << done.error().to_string();
    return graphics.exports;
  }
};

TEST_P(BrokenGraphicsDemand, ProverAndExecutionNotice) {
  const ir::Function f = program();
  const Exports expected = exports(f);
  EXPECT_FALSE(expected.empty());

  ir::Function sound = f;
  const auto proved = passes::exec_select(sound, {.prove = true});
  EXPECT_EQ(proved.proof.proved, proved.proof.total());
  EXPECT_EQ(exports(sound), expected);

  ir::Function broken = f;
  unsigned refuted = 0;
  for (const auto& failure :
       passes::exec_select(broken, {.prove = true, .broken = GetParam().rule}).proof.failures)
    refuted += failure.refuted;
  EXPECT_GT(refuted, 0u);
  EXPECT_NE(exports(broken), expected) << ir::print(broken);
}

INSTANTIATE_TEST_SUITE_P(Rules, BrokenGraphicsDemand, testing::ValuesIn(kMutations),
                         [](const auto& test) { return std::string(test.param.name); });

} // namespace
} // namespace lanewise::tests
