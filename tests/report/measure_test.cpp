// The figures of a kernel, against what its machine code says.
#include "report/measure.hpp"

#include "example.hpp"

#include "passes/kept_reason.hpp"

#include <gtest/gtest.h>

namespace lanewise::report {
namespace {

TEST(Measure, FiguresAgreeWithEachOther) {
  for (const char* name : {"saxpy", "mandelbrot.w32", "reduce.w64", "bitonic.w32", "collatz.w64"}) {
    const auto binary = example(name);
    ASSERT_FALSE(binary.kernels.empty());
    const auto record = measure(binary, binary.kernels[0], {});
    ASSERT_TRUE(record) << record.error().to_string();
    const auto at = [&](const std::string& metric) {
      EXPECT_TRUE(record->metrics.contains(metric)) << metric;
      return record->metrics.contains(metric) ? record->metrics.at(metric) : 0;
    };
    double kinds = 0;
    for (const char* kind : {"salu", "valu", "smem", "vmem", "lds", "branch", "wait", "export", "other"})
      kinds += at(std::string("guest.") + kind);
    EXPECT_EQ(kinds, at("guest.instructions")) << name;
    double kept = 0;
    for (const passes::KeptReason r : passes::kKeptReasons)
      kept += at("selects.kept." + std::string(passes::name(r)));
    // The rest died: nobody could tell them in any lane.
    EXPECT_LE(kept, at("selects.found") - at("selects.dropped")) << name;
    EXPECT_GE(at("selects.after"), at("selects.bound")) << name;
    EXPECT_LE(at("live_lane.bound"), at("live_lane.before")) << name;
    EXPECT_LE(at("live_lane.after"), at("live_lane.before")) << name;
    EXPECT_GT(at("spirv_words"), 0) << name;
    EXPECT_NEAR(at("time_us.total"),
                at("time_us.translate") + at("time_us.passes") + at("time_us.lower") + at("time_us.emit"),
                0.1);
  }
}

/// saxpy keeps nothing: no lane that is off is read.
TEST(Measure, Saxpy) {
  const auto binary = example("saxpy");
  const auto record = measure(binary, binary.kernels[0], {});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->metrics.at("selects.found"), record->metrics.at("selects.dropped"));
  EXPECT_EQ(record->metrics.at("selects.after"), 0);
  EXPECT_EQ(record->metrics.at("live_lane.after"), record->metrics.at("live_lane.bound"));
  EXPECT_EQ(record->metrics.at("loops"), 0);
}

TEST(Measure, TheRecordIsRead) {
  const auto binary = example("saxpy");
  auto record = measure(binary, binary.kernels[0], {.compile = {}, .bounds = false});
  ASSERT_TRUE(record);
  record->name = "a/b.co:saxpy";
  record->application = "a/b.co";
  record->stage = "compute";
  record->target = "spirv";
  const auto read = read_records(to_json(*record), "t");
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->at(0).key(), record->key());
  EXPECT_EQ(read->at(0).application, record->application);
  EXPECT_EQ(read->at(0).metrics, record->metrics);
}

} // namespace
} // namespace lanewise::report
