#include "report/compare.hpp"

#include <gtest/gtest.h>

namespace {

using namespace lanewise;
using namespace lanewise::report;

std::vector<ShaderRecord> records(std::initializer_list<std::pair<const char*, double>> list,
                                  const char* metric = "instructions") {
  std::vector<ShaderRecord> out;
  for (const auto& [name, value] : list)
    out.push_back({.name = name, .application = name, .metrics = {{metric, value}}});
  return out;
}

TEST(Compare, QuantilesOfStudentsT) {
  const std::pair<size_t, double> kTable[] = {
      {4, 3.182446}, {10, 2.262157}, {30, 2.045230}, {100, 1.984217}, {1000, 1.962341}};
  for (const auto& [n, t] : kTable) EXPECT_NEAR(t_975(n), t, 5e-7) << n;
}

TEST(Compare, TotalsHelpedAndHurt) {
  const auto c = compare(records({{"a", 100}, {"b", 50}, {"c", 10}, {"gone", 1}}),
                         records({{"a", 90}, {"b", 55}, {"c", 10}, {"new", 2}}), {});
  ASSERT_EQ(c.metrics.size(), 1u);
  const MetricComparison& m = c.metrics[0];
  EXPECT_EQ(m.before, 160);
  EXPECT_EQ(m.after, 155);
  EXPECT_EQ(m.affected_before, 150);
  EXPECT_EQ(m.helped, 1u);
  EXPECT_EQ(m.hurt, 1u);
  EXPECT_EQ(c.lost, std::vector<std::string>{"gone"});
  EXPECT_EQ(c.gained, std::vector<std::string>{"new"});
  EXPECT_TRUE(m.verdict.empty()); // three or fewer affected: no statistics
  const std::string text = to_text(c, {});
  EXPECT_NE(text.find("total instructions in shared programs: 160 -> 155 (-3.12%)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("instructions in affected programs: 150 -> 145 (-3.33%)"), std::string::npos) << text;
}

// d = -1, -2, -3, -6: mean -3, s = sqrt(14/3), half = 3.182446 * s / 2 = 3.4374
TEST(Compare, IntervalOfTheMeanChange) {
  const auto c = compare(records({{"a", 10}, {"b", 20}, {"c", 30}, {"d", 60}}),
                         records({{"a", 9}, {"b", 18}, {"c", 27}, {"d", 54}}), {});
  const MetricComparison& m = c.metrics.at(0);
  ASSERT_TRUE(m.absolute);
  EXPECT_NEAR(m.absolute->mean, -3, 1e-12);
  EXPECT_NEAR(m.absolute->high, -3 + 3.43741, 1e-4);
  EXPECT_EQ(m.verdict, "Inconclusive result (value mean confidence interval includes 0).");
  EXPECT_NEAR(m.relative->low, -0.1, 1e-12); // every relative change is the same
}

TEST(Compare, VerdictTurnsRoundForThreads) {
  const auto up = [](const char* metric) {
    return compare(records({{"a", 2}, {"b", 2}, {"c", 2}, {"d", 2}}, metric),
                   records({{"a", 4}, {"b", 4}, {"c", 4}, {"d", 4}}, metric), {})
        .metrics.at(0)
        .verdict;
  };
  EXPECT_EQ(up("threads"), "threads are helped.");
  EXPECT_EQ(up("spills"), "spills are HURT.");
}

// Ranks of |d| = 1..8, one positive (rank 1): W+ = 1, mean 18, variance 51, z = (17 - 0.5) / sqrt(51), p =
// 0.0209.
TEST(Compare, WilcoxonAndHolm) {
  std::vector<ShaderRecord> before, after;
  for (int i = 1; i <= 8; ++i) {
    before.push_back(
        {.name = "s" + std::to_string(i), .application = "x", .metrics = {{"m", 100}, {"n", 100}}});
    after.push_back({.name = "s" + std::to_string(i),
                     .application = "x",
                     .metrics = {{"m", 100 + (i == 1 ? i : -i)}, {"n", 100 + (i % 2 ? i : -i)}}});
  }
  const auto c = compare(before, after, {});
  EXPECT_NEAR(*c.metrics.at(0).wilcoxon_p, 0.0209, 2e-4);
  EXPECT_NEAR(*c.metrics.at(0).holm_p, 2 * *c.metrics.at(0).wilcoxon_p, 1e-12);
  EXPECT_GE(*c.metrics.at(1).holm_p, *c.metrics.at(1).wilcoxon_p);
}

TEST(Compare, ShadersWhoseLoopCountChangedAreLeftOut) {
  auto before = records({{"a", 100}, {"b", 100}}), after = records({{"a", 300}, {"b", 100}});
  before[0].metrics["loops"] = 2;
  after[0].metrics["loops"] = 0; // unrolled
  before[1].metrics["loops"] = after[1].metrics["loops"] = 1;
  const auto c = compare(before, after, {});
  EXPECT_EQ(c.loops_changed, 1u);
  EXPECT_EQ(c.metrics.at(0).before, 100);
  EXPECT_EQ(c.metrics.at(1).before, 3); // "loops" itself counts all
  EXPECT_EQ(compare(before, after, {.keep_loop_changes = true}).metrics.at(0).after, 400);
}

TEST(Compare, FailOn) {
  const auto c = compare(records({{"a", 1000}, {"x", 1}}), records({{"a", 1002}}), {});
  const std::pair<const char*, size_t> kConditions[] = {
      {"instructions:total>0", 1}, {"instructions:total>0.1%", 1},     {"instructions:total>0.3%", 0},
      {"instructions:hurt>1", 0},  {"lost>0, instructions:hurt>0", 2},
  };
  for (const auto& [text, count] : kConditions) {
    const auto failed = failed_conditions(c, text);
    ASSERT_TRUE(failed) << text;
    EXPECT_EQ(failed->size(), count) << text;
  }
  for (const char* bad : {"instructions", "instructions:total>x", "nothing:total>0", "instructions:most>1"})
    EXPECT_FALSE(failed_conditions(c, bad)) << bad;
}

TEST(Records, ThreeForms) {
  const auto r = read_records(R"(some log line
shaders/glmark2/a.shader_test - MESA_SHADER_FRAGMENT shader: 41 inst, 4 threads, 0 loops, 12 uniforms, 9 max-temps, 0:0 spills:fills
{"name": "a.co:saxpy", "stage": "compute", "target": "spirv", "metrics": {"instructions": 41, "time_us": {"emit": 3.5}}}
{"program": "p1", "stage": "fragment", "gpu": "v3d71", "count": 3, "mesa": {"instructions": 7}}
)",
                              "log");
  ASSERT_TRUE(r) << r.error().to_string();
  ASSERT_EQ(r->size(), 3u);
  EXPECT_EQ((*r)[0].application, "glmark2");
  EXPECT_EQ((*r)[0].metrics.at("inst"), 41);
  EXPECT_EQ((*r)[0].metrics.at("max-temps"), 9);
  EXPECT_EQ((*r)[1].metrics.at("time_us.emit"), 3.5);
  EXPECT_EQ((*r)[2].key(), "p1 - fragment @v3d71");
  EXPECT_EQ(read_records("{\"metrics\": 1}\n", "f").error().where, "f:1");
  EXPECT_FALSE(read_records("nothing here\n", "f"));
}

TEST(Html, IsOneSelfContainedPage) {
  const auto c = compare(records({{"a<b", 10}, {"b", 20}, {"c", 30}, {"d", 60}}),
                         records({{"a<b", 9}, {"b", 18}, {"c", 33}, {"d", 54}}), {});
  const std::string page = to_html(c, "A & B");
  EXPECT_NE(page.find("<title>A &amp; B</title>"), std::string::npos);
  EXPECT_NE(page.find("a&lt;b"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos); // nothing is fetched
}

} // namespace
