// Comparing two sets of shader statistics (docs/statistics.md).
#pragma once

#include "report/statistics.hpp"

#include <array>
#include <optional>

namespace lanewise::report {

/// Absolute or relative changes on one side (helped or hurt).
struct Spread {
  double minimum = 0, maximum = 0, mean = 0, median = 0;
};

struct Interval {
  double mean = 0, low = 0, high = 0;
  [[nodiscard]] bool contains_zero() const { return low < 0 && high > 0; }
};

struct ShaderChange {
  std::string key, application;
  double before = 0, after = 0;
  [[nodiscard]] double delta() const { return after - before; }
  /// delta / before; 0 when before is 0.
  [[nodiscard]] double relative() const { return before == 0 ? 0 : delta() / before; }
};

struct MetricComparison {
  std::string metric;
  double before = 0, after = 0;                   ///< totals over shared shaders
  double affected_before = 0, affected_after = 0; ///< over shaders in which the metric changed
  std::vector<ShaderChange> changes;              ///< the affected shaders, best first
  size_t shared = 0, helped = 0, hurt = 0;
  std::optional<std::array<Spread, 2>> helped_spread, hurt_spread; ///< absolute, relative
  std::optional<Interval> absolute, relative; ///< 95 %, Student's t; when more than three are affected
  std::optional<Interval> bootstrap;          ///< of the mean change, resampling applications
  std::optional<double> wilcoxon_p, holm_p;   ///< signed-rank test; corrected over the metrics
  std::string verdict;                        ///< empty when three or fewer are affected
  std::vector<std::string> warnings;          ///< totals that cannot be true
};

struct Comparison {
  std::vector<MetricComparison> metrics;
  std::vector<std::string> lost, gained;
  size_t shared = 0;
  size_t loops_changed = 0; ///< shared shaders left out of all metrics but "loops"
};

struct CompareOptions {
  std::vector<std::string> metrics; ///< empty: all that both sides have
  bool keep_loop_changes = false;   ///< count shaders whose loop count changed in all metrics
  unsigned bootstrap_rounds = 2000;
};

[[nodiscard]] Comparison compare(const std::vector<ShaderRecord>& before,
                                 const std::vector<ShaderRecord>& after, const CompareOptions& options);

struct TextOptions {
  bool colour = false;
  size_t worst = 20; ///< shaders listed at either end
};
[[nodiscard]] std::string to_text(const Comparison& comparison, const TextOptions& options);
[[nodiscard]] std::string to_json(const Comparison& comparison);
/// One self-contained page: inline SVG, a little script for sorting; reads well printed and without scripts.
[[nodiscard]] std::string to_html(const Comparison& comparison, std::string_view title);

/// "spills:total>0, instructions:total>0.1%, lost>0": which conditions hold, in words; empty when none does.
[[nodiscard]] Expected<std::vector<std::string>> failed_conditions(const Comparison& comparison,
                                                                   std::string_view conditions);

/// Quantile 0.975 of Student's t with n - 1 degrees of freedom.
[[nodiscard]] double t_975(size_t n);

} // namespace lanewise::report
