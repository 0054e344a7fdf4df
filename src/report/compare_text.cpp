#include "report/compare.hpp"

#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace lanewise::report {
namespace {

std::string number(double v) {
  return v == static_cast<double>(static_cast<long long>(v)) ? fmt::format("{}", static_cast<long long>(v))
                                                             : fmt::format("{:.2f}", v);
}

/// "-1.25%", "<.01%" below a hundredth of a percent.
std::string percent(double relative) {
  const double p = 100 * relative;
  if (p != 0 && std::abs(p) < 0.01) return "<.01%";
  return fmt::format("{:.2f}%", p);
}

std::string change(double before, double after) {
  return fmt::format("{} -> {} ({})", number(before), number(after),
                     percent(before == 0 ? 0 : (after - before) / before));
}

void side(std::string& out, const char* name, const std::array<Spread, 2>& s) {
  out += fmt::format("{} stats (abs) min: {} max: {} x̄: {:.2f} x̃: {}\n", name, number(s[0].minimum),
                     number(s[0].maximum), s[0].mean, number(s[0].median));
  out += fmt::format("{} stats (rel) min: {} max: {} x̄: {} x̃: {}\n", name, percent(s[1].minimum),
                     percent(s[1].maximum), percent(s[1].mean), percent(s[1].median));
}

void list(std::string& out, const char* title, const MetricComparison& m, size_t begin, size_t end) {
  if (begin >= end) return;
  out += fmt::format("  {}:\n", title);
  for (size_t i = begin; i < end; ++i)
    out += fmt::format("    {}: {}\n", m.changes[i].key, change(m.changes[i].before, m.changes[i].after));
}

void applications(std::string& out, const MetricComparison& m) {
  std::map<std::string, std::pair<double, double>> totals;
  for (const ShaderChange& c : m.changes) {
    totals[c.application].first += c.before;
    totals[c.application].second += c.after;
  }
  if (totals.size() < 2) return;
  out += "  by application (affected shaders):\n";
  for (const auto& [name, t] : totals) out += fmt::format("    {}: {}\n", name, change(t.first, t.second));
}

} // namespace

std::string to_text(const Comparison& comparison, const TextOptions& options) {
  std::string out;
  const auto paint = [&](const char* code, std::string text) {
    return options.colour ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
  };
  for (const MetricComparison& m : comparison.metrics) {
    if (m.shared == 0) continue;
    out += fmt::format("total {} in shared programs: {}\n", m.metric, change(m.before, m.after));
    if (m.changes.empty()) {
      out += '\n';
      continue;
    }
    out +=
        fmt::format("{} in affected programs: {}\n", m.metric, change(m.affected_before, m.affected_after));
    out += fmt::format("{}: {}\n{}: {}\n", paint("32", "helped"), m.helped, paint("31", "HURT"), m.hurt);
    if (m.helped_spread) side(out, "helped", *m.helped_spread);
    if (m.hurt_spread) side(out, "HURT", *m.hurt_spread);
    if (m.absolute) {
      out += fmt::format("95% mean confidence interval for {} value: {:.2f} {:.2f}\n", m.metric,
                         m.absolute->low, m.absolute->high);
      out += fmt::format("95% mean confidence interval for {} %-change: {} {}\n", m.metric,
                         percent(m.relative->low), percent(m.relative->high));
      out += m.verdict + "\n";
    }
    if (m.bootstrap)
      out += fmt::format("  95% interval, applications resampled: {:.2f} {:.2f}\n", m.bootstrap->low,
                         m.bootstrap->high);
    if (m.wilcoxon_p)
      out += fmt::format("  Wilcoxon signed-rank p: {:.2g}, after Holm: {:.2g}\n", *m.wilcoxon_p, *m.holm_p);
    const size_t best = std::min(m.helped, options.worst), worst = std::min(m.hurt, options.worst);
    list(out, "best", m, 0, best);
    list(out, "worst", m, m.changes.size() - worst, m.changes.size());
    applications(out, m);
    for (const std::string& w : m.warnings) out += paint("33", "warning: " + w) + "\n";
    out += '\n';
  }
  const auto names = [&](const char* title, const std::vector<std::string>& keys) {
    out += fmt::format("{}: {}\n", title, keys.size());
    for (size_t i = 0; i < std::min(keys.size(), options.worst); ++i) out += "  " + keys[i] + "\n";
  };
  out += fmt::format("shared programs: {}\n", comparison.shared);
  if (comparison.loops_changed)
    out += fmt::format("left out of other metrics, loop count changed: {}\n", comparison.loops_changed);
  names("LOST", comparison.lost);
  names("GAINED", comparison.gained);
  return out;
}

std::string to_json(const Comparison& comparison) {
  using nlohmann::json;
  json out = {{"shared", comparison.shared},
              {"loops_changed", comparison.loops_changed},
              {"lost", comparison.lost},
              {"gained", comparison.gained}};
  const auto interval = [](const std::optional<Interval>& i) -> json {
    if (!i) return nullptr;
    return {{"mean", i->mean}, {"low", i->low}, {"high", i->high}};
  };
  const auto p = [](const std::optional<double>& v) -> json { return v ? json(*v) : json(nullptr); };
  for (const MetricComparison& m : comparison.metrics) {
    json entry = {{"metric", m.metric},
                  {"shared", m.shared},
                  {"before", m.before},
                  {"after", m.after},
                  {"affected_before", m.affected_before},
                  {"affected_after", m.affected_after},
                  {"helped", m.helped},
                  {"hurt", m.hurt},
                  {"verdict", m.verdict},
                  {"absolute", interval(m.absolute)},
                  {"relative", interval(m.relative)},
                  {"bootstrap", interval(m.bootstrap)},
                  {"wilcoxon_p", p(m.wilcoxon_p)},
                  {"holm_p", p(m.holm_p)},
                  {"warnings", m.warnings}};
    for (const ShaderChange& c : m.changes)
      entry["changes"].push_back(
          {{"key", c.key}, {"application", c.application}, {"before", c.before}, {"after", c.after}});
    out["metrics"].push_back(std::move(entry));
  }
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace lanewise::report
