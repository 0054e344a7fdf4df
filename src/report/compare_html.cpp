#include "report/compare.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace lanewise::report {
namespace {

constexpr double kChartWidth = 360, kChartHeight = 200, kChartMargin = 34;

std::string escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
    case '&': out += "&amp;"; break;
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '"': out += "&quot;"; break;
    default: out += c;
    }
  }
  return out;
}

const char* colour(bool better) { return better ? "#2a7f3f" : "#b3261e"; }

/// Frame, axis captions and a title around the marks of one picture.
std::string picture(std::string_view title, std::string_view x_caption, std::string_view low,
                    std::string_view high, const std::string& marks) {
  return fmt::format(
      "<figure><svg viewBox='0 0 {0} {1}' role='img' aria-label='{2}'><rect x='{3}' y='8' width='{4}' "
      "height='{5}' class='frame'/>"
      "{6}<text x='{3}' y='{7}'>{8}</text><text x='2' y='18'>{9}</text><text x='2' y='{10}'>{11}</text></svg>"
      "<figcaption>{2}</figcaption></figure>",
      kChartWidth, kChartHeight, escape(title), kChartMargin, kChartWidth - kChartMargin - 6,
      kChartHeight - kChartMargin, marks, kChartHeight - 8, escape(x_caption), escape(high),
      kChartHeight - kChartMargin + 6, escape(low));
}

struct Scale {
  double low, high, from, to;
  double operator()(double v) const {
    return high == low ? (from + to) / 2 : from + (v - low) / (high - low) * (to - from);
  }
};

std::string sorted_deltas(const MetricComparison& m) {
  double low = 0, high = 0;
  for (const auto& c : m.changes) low = std::min(low, c.delta()), high = std::max(high, c.delta());
  const Scale x{0, static_cast<double>(m.changes.size()), kChartMargin, kChartWidth - 6},
      y{low, high, kChartHeight - kChartMargin + 8, 8};
  std::string marks = fmt::format("<line x1='{}' x2='{}' y1='{}' y2='{}' class='axis'/>", kChartMargin,
                                  kChartWidth - 6, y(0), y(0));
  for (size_t i = 0; i < m.changes.size(); ++i) {
    const auto& c = m.changes[i];
    const double top = std::min(y(0), y(c.delta())), width = std::max(0.5, x(1) - x(0) - 0.3);
    marks +=
        fmt::format("<rect x='{:.2f}' y='{:.2f}' width='{:.2f}' height='{:.2f}' fill='{}'><title>{}: {:g} -> "
                    "{:g}</title></rect>",
                    x(static_cast<double>(i)), top, width, std::max(0.5, std::abs(y(c.delta()) - y(0))),
                    colour((c.delta() < 0) != more_is_better(m.metric)), escape(c.key), c.before, c.after);
  }
  return picture("change of each affected shader, sorted", "shaders", fmt::format("{:g}", low),
                 fmt::format("{:g}", high), marks);
}

std::string scatter(const MetricComparison& m) {
  double low = 1e300, high = 1;
  for (const auto& c : m.changes)
    for (double v : {c.before, c.after}) low = std::min(low, std::max(v, 0.5)), high = std::max(high, v);
  const auto log_of = [](double v) { return std::log10(std::max(v, 0.5)); };
  const Scale x{log_of(low), log_of(high), kChartMargin + 4, kChartWidth - 10},
      y{log_of(low), log_of(high), kChartHeight - kChartMargin + 4, 12};
  std::string marks = fmt::format("<line x1='{}' y1='{}' x2='{}' y2='{}' class='axis'/>", x(log_of(low)),
                                  y(log_of(low)), x(log_of(high)), y(log_of(high)));
  for (const auto& c : m.changes)
    marks += fmt::format(
        "<circle cx='{:.2f}' cy='{:.2f}' r='2.2' fill='{}'><title>{}: {:g} -> {:g}</title></circle>",
        x(log_of(c.before)), y(log_of(c.after)), colour((c.delta() < 0) != more_is_better(m.metric)),
        escape(c.key), c.before, c.after);
  return picture("before (across) and after (up), log axes", "before", fmt::format("{:g}", low),
                 fmt::format("{:g}", high), marks);
}

std::string histogram(const MetricComparison& m) {
  constexpr int kBins = 21;
  double most = 0.01;
  for (const auto& c : m.changes) most = std::max(most, std::min(1.0, std::abs(c.relative())));
  std::array<int, kBins> bins{};
  for (const auto& c : m.changes) {
    const double t = std::clamp(c.relative() / most, -1.0, 1.0);
    ++bins[static_cast<size_t>(std::lround((t + 1) / 2 * (kBins - 1)))];
  }
  const int top = *std::ranges::max_element(bins);
  const Scale x{0, kBins, kChartMargin, kChartWidth - 6},
      y{0, static_cast<double>(top), kChartHeight - kChartMargin + 8, 12};
  std::string marks;
  for (int i = 0; i < kBins; ++i)
    marks +=
        fmt::format("<rect x='{:.2f}' y='{:.2f}' width='{:.2f}' height='{:.2f}' fill='{}'/>", x(i) + 0.5,
                    y(bins[static_cast<size_t>(i)]), x(1) - x(0) - 1, y(0) - y(bins[static_cast<size_t>(i)]),
                    i == kBins / 2 ? "#777" : colour((i < kBins / 2) != more_is_better(m.metric)));
  return picture("relative changes", fmt::format("-{0:.1f}% ... +{0:.1f}%", 100 * most), "0",
                 fmt::format("{}", top), marks);
}

/// Mean change per application with its standard error as whiskers.
std::string application_bars(const MetricComparison& m) {
  std::map<std::string, std::vector<double>> groups;
  for (const auto& c : m.changes) groups[c.application].push_back(100 * c.relative());
  if (groups.size() < 2) return "";
  struct Bar {
    std::string name;
    double mean, error;
  };
  std::vector<Bar> bars;
  double low = 0, high = 0;
  for (const auto& [name, v] : groups) {
    double mean = 0, square = 0;
    for (double d : v) mean += d / static_cast<double>(v.size());
    for (double d : v) square += (d - mean) * (d - mean);
    const double error =
        v.size() > 1 ? std::sqrt(square / static_cast<double>(v.size() - 1) / static_cast<double>(v.size()))
                     : 0;
    bars.push_back({name, mean, error});
    low = std::min(low, mean - error);
    high = std::max(high, mean + error);
  }
  std::ranges::sort(bars, {}, &Bar::mean);
  const Scale x{0, static_cast<double>(bars.size()), kChartMargin, kChartWidth - 6},
      y{low, high, kChartHeight - kChartMargin + 8, 8};
  std::string marks;
  for (size_t i = 0; i < bars.size(); ++i) {
    const double left = x(static_cast<double>(i)), width = x(1) - x(0), middle = left + width / 2;
    marks += fmt::format("<rect x='{:.2f}' y='{:.2f}' width='{:.2f}' height='{:.2f}' fill='{}'><title>{}: "
                         "{:.2f}%</title></rect>",
                         left + width * 0.15, std::min(y(0), y(bars[i].mean)), width * 0.7,
                         std::max(0.5, std::abs(y(bars[i].mean) - y(0))),
                         colour((bars[i].mean < 0) != more_is_better(m.metric)), escape(bars[i].name),
                         bars[i].mean);
    marks += fmt::format("<line x1='{0:.2f}' x2='{0:.2f}' y1='{1:.2f}' y2='{2:.2f}' class='axis'/>", middle,
                         y(bars[i].mean - bars[i].error), y(bars[i].mean + bars[i].error));
  }
  return picture("mean change by application, % (whiskers: standard error)", "applications",
                 fmt::format("{:.1f}", low), fmt::format("{:.1f}", high), marks);
}

std::string table(const MetricComparison& m) {
  std::string out = "<table "
                    "class='sortable'><thead><tr><th>shader</th><th>application</th><th>before</"
                    "th><th>after</th><th>change</th><th>%</th></tr></thead><tbody>";
  for (const auto& c : m.changes)
    out += fmt::format(
        "<tr class='{}'><td>{}</td><td>{}</td><td>{:g}</td><td>{:g}</td><td>{:+g}</td><td>{:+.2f}</td></tr>",
        (c.delta() < 0) != more_is_better(m.metric) ? "helped" : "hurt", escape(c.key), escape(c.application),
        c.before, c.after, c.delta(), 100 * c.relative());
  return out + "</tbody></table>";
}

constexpr const char* kStyle = R"(
body{font:14px/1.45 system-ui,sans-serif;max-width:1180px;margin:1.5rem auto;padding:0 1rem;color:#1c1c1c;background:#fff}
h2{border-bottom:1px solid #ccc;margin-top:2rem}figure{display:inline-block;margin:.4rem;width:370px}svg{width:100%}
svg text{font-size:9px;fill:#555}.frame{fill:#fafafa;stroke:#ddd}.axis{stroke:#444;stroke-width:.8}figcaption{font-size:12px;color:#555}
table{border-collapse:collapse;margin:.6rem 0}td,th{padding:.15rem .6rem;text-align:right;border-bottom:1px solid #eee}
td:first-child,th:first-child,td:nth-child(2){text-align:left}th{cursor:pointer}.helped td:nth-child(5){color:#2a7f3f}.hurt td:nth-child(5){color:#b3261e}
.verdict{font-weight:600}.warning{color:#8a5a00}details>summary{cursor:pointer}
@media print{details{display:block}figure{break-inside:avoid}}
)";

constexpr const char* kScript = R"(
for(const t of document.querySelectorAll('table.sortable'))t.tHead.addEventListener('click',e=>{
 const i=e.target.cellIndex,b=t.tBodies[0],r=[...b.rows],n=i>1,s=t.dataset.by==i?-1:1;t.dataset.by=s>0?i:'';
 r.sort((x,y)=>{const p=x.cells[i].textContent,q=y.cells[i].textContent;return s*(n?p-q:p.localeCompare(q))});b.append(...r)})
)";

} // namespace

std::string to_html(const Comparison& comparison, std::string_view title) {
  std::string out = fmt::format(
      "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
      "content='width=device-width'><title>{0}</title>"
      "<style>{1}</style></head><body><h1>{0}</h1><p>{2} shared programs, {3} lost, {4} gained{5}.</p>",
      escape(title), kStyle, comparison.shared, comparison.lost.size(), comparison.gained.size(),
      comparison.loops_changed
          ? fmt::format(", {} left out because their loop count changed", comparison.loops_changed)
          : "");
  for (const MetricComparison& m : comparison.metrics) {
    if (m.shared == 0) continue;
    const double relative = m.before == 0 ? 0 : 100 * (m.after - m.before) / m.before;
    out += fmt::format("<h2>{}</h2><p>Total {:g} &rarr; {:g} ({:+.2f}%); helped {}, HURT {}. <span "
                       "class='verdict'>{}</span></p>",
                       escape(m.metric), m.before, m.after, relative, m.helped, m.hurt, escape(m.verdict));
    if (m.absolute)
      out += fmt::format("<p>95% interval of the mean change: {:.2f} to {:.2f}; relative: {:.2f}% to {:.2f}%",
                         m.absolute->low, m.absolute->high, 100 * m.relative->low, 100 * m.relative->high);
    if (m.bootstrap)
      out += fmt::format("; applications resampled: {:.2f} to {:.2f}", m.bootstrap->low, m.bootstrap->high);
    if (m.wilcoxon_p) out += fmt::format("; Wilcoxon p {:.2g}, after Holm {:.2g}", *m.wilcoxon_p, *m.holm_p);
    if (m.absolute) out += ".</p>";
    for (const std::string& w : m.warnings) out += "<p class='warning'>" + escape(w) + "</p>";
    if (m.changes.empty()) continue;
    out += sorted_deltas(m) + scatter(m) + histogram(m) + application_bars(m);
    out += fmt::format("<details><summary>{} affected shaders</summary>{}</details>", m.changes.size(),
                       table(m));
  }
  const auto names = [&](const char* head, const std::vector<std::string>& keys) {
    if (keys.empty()) return;
    out += fmt::format("<h2>{}</h2><ul>", head);
    for (const auto& k : keys) out += "<li>" + escape(k) + "</li>";
    out += "</ul>";
  };
  names("Lost", comparison.lost);
  names("Gained", comparison.gained);
  return out + fmt::format("<script>{}</script></body></html>\n", kScript);
}

} // namespace lanewise::report
