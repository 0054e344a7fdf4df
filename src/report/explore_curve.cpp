#include "report/explore_curve.hpp"

#include "report/html_text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace lanewise::report {
namespace {

using analysis::LiveWords;

constexpr double kCurveWidth = 1000, kCurveHeight = 210, kLeft = 34, kRight = 6, kTop = 10, kBottom = 26;
constexpr size_t kSteps = 1000;

struct Series {
  const char *name, *title;
  LiveWords ExploreGuest::*when;
  uint32_t LiveWords::*kind;
};
constexpr Series kSeries[] = {
    {"u0", "uniform, as translated", &ExploreGuest::before, &LiveWords::uniform},
    {"u1", "uniform, after the passes", &ExploreGuest::after, &LiveWords::uniform},
    {"p0", "per lane, as translated", &ExploreGuest::before, &LiveWords::per_lane},
    {"pb", "per lane, with no old value kept", &ExploreGuest::bound, &LiveWords::per_lane},
    {"p1", "per lane, after the passes", &ExploreGuest::after, &LiveWords::per_lane},
};

/// 1, 2 or 5 times a power of ten, so that there are four lines or so.
double grid_step(double high) {
  const double raw = std::max(1.0, high / 4), power = std::pow(10, std::floor(std::log10(raw)));
  for (const double m : {1.0, 2.0, 5.0})
    if (m * power >= raw) return m * power;
  return 10 * power;
}

class Curve {
 public:
  explicit Curve(const ExploreData& data) : data_(data), steps_(std::min(kSteps, data.guest.size())) {
    for (const ExploreGuest& g : data.guest)
      for (const Series& s : kSeries) high_ = std::max(high_, static_cast<double>(g.*s.when.*s.kind));
  }

  [[nodiscard]] double x(double step) const {
    return kLeft + step / static_cast<double>(steps_) * (kCurveWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double v) const {
    return kCurveHeight - kBottom - v / high_ * (kCurveHeight - kTop - kBottom);
  }
  [[nodiscard]] double step_of(size_t guest) const {
    return static_cast<double>(guest) * static_cast<double>(steps_) / static_cast<double>(data_.guest.size());
  }

  void grid(std::string& out) const {
    const double step = grid_step(high_);
    for (double v = 0; v <= high_; v += step)
      fmt::format_to(
          std::back_inserter(out),
          "<line class='grid' x1='{0}' x2='{1}' y1='{2:.1f}' y2='{2:.1f}'/><text x='{3}' y='{4:.1f}' "
          "text-anchor='end'>{5:g}</text>",
          kLeft, kCurveWidth - kRight, y(v), kLeft - 5, y(v) + 3, v);
  }

  /// A staircase; its area when it is the one that counts.
  void series(std::string& out, const Series& s) const {
    std::string path;
    uint32_t last = ~0u;
    for (size_t step = 0; step < steps_; ++step) {
      uint32_t v = 0;
      const size_t from = step * data_.guest.size() / steps_, to = (step + 1) * data_.guest.size() / steps_;
      for (size_t g = from; g < std::max(to, from + 1); ++g) v = std::max(v, data_.guest[g].*s.when.*s.kind);
      if (v == last) continue;
      if (step == 0)
        path = fmt::format("M{:.1f} {:.1f}", x(0), y(v));
      else
        fmt::format_to(std::back_inserter(path), "H{:.1f}V{:.1f}", x(static_cast<double>(step)), y(v));
      last = v;
    }
    fmt::format_to(std::back_inserter(path), "H{:.1f}", x(static_cast<double>(steps_)));
    if (s.name[0] == 'p' && s.name[1] == '1')
      out += fmt::format("<path class='area' d='{}V{:.1f}H{:.1f}Z'/>", path, y(0), x(0));
    out += fmt::format("<path class='{}' d='{}'><title>{}</title></path>", s.name, path, s.title);
  }

  void kept(std::string& out) const {
    for (const ExploreKept& k : data_.kept)
      if (k.select != kNoIndex)
        fmt::format_to(std::back_inserter(out),
                       "<line class='tick' x1='{0:.1f}' x2='{0:.1f}' y1='{1}' y2='{2}' data-g='{3}'/>",
                       x(step_of(k.select)), kCurveHeight - kBottom + 3, kCurveHeight - kBottom + 10,
                       k.select);
  }

 private:
  const ExploreData& data_;
  size_t steps_;
  double high_ = 1;
};

} // namespace

std::string pressure_svg(const ExploreData& data) {
  if (data.guest.empty()) return {};
  const Curve curve(data);
  std::string out =
      fmt::format("<svg class='curve' viewBox='0 0 {} {}' role='img' "
                  "aria-label='live words along the code' data-n='{}' data-left='{}' data-right='{}'>",
                  kCurveWidth, kCurveHeight, data.guest.size(), kLeft, kCurveWidth - kRight);
  curve.grid(out);
  for (const Series& s : kSeries) curve.series(out, s);
  curve.kept(out);
  out += fmt::format("<line class='cursor' x1='-9' x2='-9' y1='{}' y2='{}'/></svg><p class='legend'>", kTop,
                     kCurveHeight - kBottom);
  for (const Series& s : kSeries) out += fmt::format("<span class='{}'>{}</span>", s.name, s.title);
  return out + (data.kept.empty() ? "</p>" : "<span class='tick'>a select that stays</span></p>");
}

} // namespace lanewise::report
