#include "report/compare.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <random>
#include <set>

namespace lanewise::report {
namespace {

double median_of(std::vector<double> v) {
  if (v.empty()) return 0;
  const size_t middle = v.size() / 2;
  std::ranges::nth_element(v, v.begin() + static_cast<ptrdiff_t>(middle));
  const double upper = v[middle];
  if (v.size() % 2) return upper;
  return (*std::max_element(v.begin(), v.begin() + static_cast<ptrdiff_t>(middle)) + upper) / 2;
}

double mean_of(const std::vector<double>& v) {
  double sum = 0;
  for (double x : v) sum += x;
  return v.empty() ? 0 : sum / static_cast<double>(v.size());
}

Spread spread_of(const std::vector<double>& v) {
  const auto [low, high] = std::ranges::minmax(v);
  return {low, high, mean_of(v), median_of(v)};
}

/// mean +- t * s / sqrt(n), s with n - 1.
Interval student_interval(const std::vector<double>& v) {
  const double mean = mean_of(v);
  double square = 0;
  for (double x : v) square += (x - mean) * (x - mean);
  const auto n = static_cast<double>(v.size());
  const double half = t_975(v.size()) * std::sqrt(square / (n - 1)) / std::sqrt(n);
  return {mean, mean - half, mean + half};
}

/// Mean change with whole applications drawn with replacement: shaders of one application move together.
std::optional<Interval> bootstrap_interval(const std::vector<ShaderChange>& changes, unsigned rounds) {
  std::map<std::string, std::pair<double, double>> groups; // sum, count
  for (const ShaderChange& c : changes) {
    auto& [sum, count] = groups[c.application];
    sum += c.delta();
    count += 1;
  }
  if (groups.size() < 3 || rounds == 0) return std::nullopt;
  std::vector<std::pair<double, double>> list;
  double sum = 0, count = 0;
  for (const auto& [name, group] : groups) {
    list.push_back(group);
    sum += group.first;
    count += group.second;
  }
  std::mt19937_64 random(1); // the same input gives the same report
  std::vector<double> means(rounds);
  for (double& m : means) {
    double s = 0, n = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      const auto& [group_sum, group_count] = list[random() % list.size()];
      s += group_sum;
      n += group_count;
    }
    m = s / n;
  }
  std::ranges::sort(means);
  const auto at = [&](double q) {
    return means[std::min<size_t>(rounds - 1, static_cast<size_t>(q * rounds))];
  };
  return Interval{sum / count, at(0.025), at(0.975)};
}

/// Two-sided p of Wilcoxon's signed-rank test: normal approximation with the correction for ties and
/// continuity.
std::optional<double> wilcoxon(const std::vector<ShaderChange>& changes) {
  const size_t n = changes.size();
  if (n < 6) return std::nullopt; // no p below 0.05 is possible
  std::vector<double> magnitude(n);
  std::ranges::transform(changes, magnitude.begin(),
                         [](const ShaderChange& c) { return std::abs(c.delta()); });
  std::vector<size_t> order(n);
  for (size_t i = 0; i < n; ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](size_t i) { return magnitude[i]; });
  double plus = 0, ties = 0;
  for (size_t i = 0; i < n;) {
    size_t j = i;
    while (j < n && magnitude[order[j]] == magnitude[order[i]]) ++j;
    const double rank = static_cast<double>(i + j + 1) / 2, t = static_cast<double>(j - i);
    ties += t * t * t - t;
    for (; i < j; ++i)
      if (changes[order[i]].delta() > 0) plus += rank;
  }
  const auto m = static_cast<double>(n);
  const double expected = m * (m + 1) / 4, variance = m * (m + 1) * (2 * m + 1) / 24 - ties / 48;
  if (variance <= 0) return std::nullopt;
  const double z = std::max(0.0, std::abs(plus - expected) - 0.5) / std::sqrt(variance);
  return 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), z));
}

/// Holm's step-down correction over all metrics that have a p.
void correct_by_holm(std::vector<MetricComparison>& metrics) {
  std::vector<MetricComparison*> tested;
  for (auto& m : metrics)
    if (m.wilcoxon_p) tested.push_back(&m);
  std::ranges::sort(tested, {}, [](const MetricComparison* m) { return *m->wilcoxon_p; });
  double floor = 0;
  for (size_t i = 0; i < tested.size(); ++i) {
    floor = std::max(floor, std::min(1.0, static_cast<double>(tested.size() - i) * *tested[i]->wilcoxon_p));
    tested[i]->holm_p = floor;
  }
}

std::string verdict_of(const MetricComparison& m) {
  if (!m.absolute) return "";
  if (m.absolute->contains_zero()) return "Inconclusive result (value mean confidence interval includes 0).";
  if (m.relative->contains_zero())
    return "Inconclusive result (%-change mean confidence interval includes 0).";
  if ((m.absolute->mean < 0) != (m.relative->mean < 0))
    return "Inconclusive result (value mean and %-change mean disagree).";
  const bool fewer = m.absolute->mean < 0;
  return fmt::format("{} are {}.", m.metric, fewer != more_is_better(m.metric) ? "helped" : "HURT");
}

void flag_impossible(MetricComparison& m, double largest_before, double largest_after) {
  constexpr double kMost = 2147483648.0;
  if (m.before > kMost || m.after > kMost)
    m.warnings.push_back(fmt::format("the total of {} is over 2^31", m.metric));
  if (largest_after > 1000 * std::max(1.0, largest_before))
    m.warnings.push_back(
        fmt::format("one shader's {} is {:g}, over a thousand times the largest before ({:g})", m.metric,
                    largest_after, largest_before));
}

MetricComparison compare_metric(const std::string& metric,
                                const std::vector<std::pair<const ShaderRecord*, const ShaderRecord*>>& pairs,
                                const CompareOptions& options) {
  MetricComparison m{.metric = metric};
  double largest_before = 0, largest_after = 0;
  std::array<std::vector<double>, 2> helped, hurt; // absolute, relative
  std::vector<double> deltas, relatives;
  for (const auto& [b, a] : pairs) {
    const auto vb = b->metrics.find(metric), va = a->metrics.find(metric);
    if (vb == b->metrics.end() || va == a->metrics.end()) continue;
    ++m.shared;
    m.before += vb->second;
    m.after += va->second;
    largest_before = std::max(largest_before, std::abs(vb->second));
    largest_after = std::max(largest_after, std::abs(va->second));
    if (vb->second == va->second) continue;
    const ShaderChange change{b->key(), b->application, vb->second, va->second};
    m.affected_before += change.before;
    m.affected_after += change.after;
    const bool better = (change.delta() < 0) != more_is_better(metric);
    auto& side = better ? helped : hurt;
    side[0].push_back(std::abs(change.delta()));
    side[1].push_back(std::abs(change.relative()));
    deltas.push_back(change.delta());
    relatives.push_back(change.relative());
    m.changes.push_back(change);
  }
  m.helped = helped[0].size();
  m.hurt = hurt[0].size();
  if (m.helped) m.helped_spread = {spread_of(helped[0]), spread_of(helped[1])};
  if (m.hurt) m.hurt_spread = {spread_of(hurt[0]), spread_of(hurt[1])};
  if (m.changes.size() > 3) {
    m.absolute = student_interval(deltas);
    m.relative = student_interval(relatives);
    m.bootstrap = bootstrap_interval(m.changes, options.bootstrap_rounds);
    m.wilcoxon_p = wilcoxon(m.changes);
    m.verdict = verdict_of(m);
  }
  std::ranges::stable_sort(
      m.changes, {}, [&](const ShaderChange& c) { return more_is_better(metric) ? -c.delta() : c.delta(); });
  flag_impossible(m, largest_before, largest_after);
  return m;
}

} // namespace

double t_975(size_t n) {
  return boost::math::quantile(boost::math::students_t(static_cast<double>(n - 1)), 0.975);
}

Comparison compare(const std::vector<ShaderRecord>& before, const std::vector<ShaderRecord>& after,
                   const CompareOptions& options) {
  Comparison result;
  std::map<std::string, const ShaderRecord*> new_ones;
  for (const ShaderRecord& r : after) new_ones.emplace(r.key(), &r);
  std::vector<std::pair<const ShaderRecord*, const ShaderRecord*>> all, same_loops;
  std::set<std::string> names, old_keys;
  for (const ShaderRecord& b : before) {
    if (!old_keys.insert(b.key()).second) continue;
    const auto it = new_ones.find(b.key());
    if (it == new_ones.end()) {
      result.lost.push_back(b.key());
      continue;
    }
    const auto loops_b = b.metrics.find("loops"), loops_a = it->second->metrics.find("loops");
    const bool changed = loops_b != b.metrics.end() && loops_a != it->second->metrics.end() &&
                         loops_b->second != loops_a->second;
    all.emplace_back(&b, it->second);
    if (!changed || options.keep_loop_changes)
      same_loops.emplace_back(&b, it->second);
    else
      ++result.loops_changed;
    for (const auto& [metric, value] : b.metrics)
      if (it->second->metrics.contains(metric)) names.insert(metric);
  }
  for (const ShaderRecord& a : after)
    if (!old_keys.contains(a.key())) result.gained.push_back(a.key());
  result.shared = all.size();
  const std::vector<std::string> wanted =
      options.metrics.empty() ? std::vector<std::string>(names.begin(), names.end()) : options.metrics;
  for (const std::string& metric : wanted)
    result.metrics.push_back(compare_metric(metric, metric == "loops" ? all : same_loops, options));
  correct_by_holm(result.metrics);
  return result;
}

Expected<std::vector<std::string>> failed_conditions(const Comparison& comparison,
                                                     std::string_view conditions) {
  std::vector<std::string> failed;
  const auto bad = [&](std::string_view item) {
    return fail(ErrorKind::call, fmt::format("condition \"{}\" is not understood", item), "--fail-on",
                "METRIC:total>N, METRIC:total>N%, METRIC:hurt>N, lost>N");
  };
  while (!conditions.empty()) {
    std::string_view item = conditions.substr(0, conditions.find(','));
    conditions.remove_prefix(std::min(conditions.size(), item.size() + 1));
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    const size_t greater = item.find('>');
    if (greater == std::string_view::npos) return bad(item);
    const std::string_view left = item.substr(0, greater);
    std::string_view right = item.substr(greater + 1);
    const bool percent = right.ends_with('%');
    if (percent) right.remove_suffix(1);
    double limit = 0, value = 0;
    const auto [end, ec] = std::from_chars(right.data(), right.data() + right.size(), limit);
    if (ec != std::errc{} || end != right.data() + right.size()) return bad(item);
    if (left == "lost") {
      value = static_cast<double>(comparison.lost.size());
    } else {
      const size_t colon = left.rfind(':');
      if (colon == std::string_view::npos) return bad(item);
      const std::string_view metric = left.substr(0, colon), what = left.substr(colon + 1);
      const auto m = std::ranges::find(comparison.metrics, metric, &MetricComparison::metric);
      if (m == comparison.metrics.end())
        return fail(ErrorKind::call, fmt::format("no shared metric \"{}\"", metric), "--fail-on");
      if (what == "hurt")
        value = static_cast<double>(m->hurt);
      else if (what == "total") {
        const double worse = more_is_better(metric) ? m->before - m->after : m->after - m->before;
        value = percent ? (m->before == 0 ? (worse > 0 ? INFINITY : 0) : 100 * worse / m->before) : worse;
      } else
        return bad(item);
    }
    if (value > limit) failed.push_back(fmt::format("{}: it is {:.4g}{}", item, value, percent ? "%" : ""));
  }
  return failed;
}

} // namespace lanewise::report
