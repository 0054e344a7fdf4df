#include "report/explore_graph.hpp"

#include "cfg/graph.hpp"
#include "report/html_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace lanewise::report {
namespace {

constexpr double kNodeWidth = 124, kNodeHeight = 34, kGapX = 26, kGapY = 38, kGraphMargin = 34;

class Layout {
 public:
  explicit Layout(const std::vector<GraphNode>& nodes) : nodes_(nodes), row_(nodes.size()), x_(nodes.size()) {
    std::vector<cfg::Edge> edges;
    for (uint32_t n = 0; n < nodes.size(); ++n)
      for (const uint32_t s : nodes[n].successors) edges.emplace_back(n, s);
    const cfg::Graph graph(static_cast<uint32_t>(nodes.size()), edges);
    order_ = cfg::reverse_post_order(graph);
    for (const auto& [from, to] : edges)
      if (order_.reachable(from) && !back(from, to)) forward_.emplace_back(from, to);
    assign_rows();
    order_rows();
    assign_x();
  }

  [[nodiscard]] bool back(uint32_t from, uint32_t to) const {
    return order_.position[to] <= order_.position[from];
  }
  [[nodiscard]] double x(uint32_t n) const { return x_[n]; }
  [[nodiscard]] double y(uint32_t n) const { return kGraphMargin / 2 + row_[n] * (kNodeHeight + kGapY); }
  [[nodiscard]] uint32_t row(uint32_t n) const { return row_[n]; }
  [[nodiscard]] const std::vector<uint32_t>& shown() const { return order_.reverse_post; }
  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] double height() const {
    return kGraphMargin + static_cast<double>(rows_.size()) * (kNodeHeight + kGapY);
  }

 private:
  void assign_rows() {
    // Forward edges lead from earlier to later places of the order.
    std::ranges::sort(forward_, {}, [&](const cfg::Edge& e) { return order_.position[e.first]; });
    for (const auto& [from, to] : forward_) row_[to] = std::max(row_[to], row_[from] + 1);
    for (const uint32_t n : order_.reverse_post) {
      if (rows_.size() <= row_[n]) rows_.resize(row_[n] + 1);
      rows_[row_[n]].push_back(n);
    }
  }

  /// Each node moves to the mean place of its neighbours, downwards and upwards in turn.
  void order_rows() {
    std::vector<std::vector<uint32_t>> above(nodes_.size()), below(nodes_.size());
    for (const auto& [from, to] : forward_) above[to].push_back(from), below[from].push_back(to);
    std::vector<double> place(nodes_.size());
    const auto number = [&](const std::vector<uint32_t>& row) {
      for (size_t i = 0; i < row.size(); ++i)
        place[row[i]] = static_cast<double>(i) - static_cast<double>(row.size() - 1) / 2;
    };
    for (const auto& row : rows_) number(row);
    for (int sweep = 0; sweep < 6; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t i = 0; i < rows_.size(); ++i) {
        auto& row = rows_[down ? i : rows_.size() - 1 - i];
        for (const uint32_t n : row) {
          const auto& neighbours = down ? above[n] : below[n];
          if (neighbours.empty()) continue;
          double sum = 0;
          for (const uint32_t m : neighbours) sum += place[m];
          place[n] = sum / static_cast<double>(neighbours.size());
        }
        std::ranges::stable_sort(row, {}, [&](uint32_t n) { return place[n]; });
        number(row);
      }
    }
    above_ = std::move(above);
    below_ = std::move(below);
  }

  /// Rows are centred, then nodes move towards their neighbours as far as the row's order lets them.
  void assign_x() {
    for (const auto& row : rows_)
      for (size_t i = 0; i < row.size(); ++i)
        x_[row[i]] =
            (static_cast<double>(i) - static_cast<double>(row.size() - 1) / 2) * (kNodeWidth + kGapX);
    for (int sweep = 0; sweep < 4; ++sweep)
      for (size_t r = 0; r < rows_.size(); ++r) {
        const auto& row = rows_[sweep % 2 == 0 ? r : rows_.size() - 1 - r];
        for (size_t i = 0; i < row.size(); ++i) pull(row, i);
      }
    double low = 0, high = 0;
    for (const uint32_t n : order_.reverse_post) low = std::min(low, x_[n]), high = std::max(high, x_[n]);
    for (double& x : x_) x += kGraphMargin + kNodeWidth / 2 - low;
    width_ = high - low + kNodeWidth + 2 * kGraphMargin;
  }

  void pull(const std::vector<uint32_t>& row, size_t i) {
    const uint32_t n = row[i];
    double sum = 0, count = 0;
    for (const auto* side : {&above_[n], &below_[n]})
      for (const uint32_t m : *side) sum += x_[m], count += 1;
    if (count == 0) return;
    double x = sum / count;
    if (i > 0) x = std::max(x, x_[row[i - 1]] + kNodeWidth + kGapX);
    if (i + 1 < row.size()) x = std::min(x, std::max(x_[n], x_[row[i + 1]] - kNodeWidth - kGapX));
    x_[n] = x;
  }

  const std::vector<GraphNode>& nodes_;
  cfg::Order order_;
  std::vector<cfg::Edge> forward_;
  std::vector<uint32_t> row_;
  std::vector<std::vector<uint32_t>> rows_, above_, below_;
  std::vector<double> x_; ///< middle
  double width_ = 0;
};

void edge(std::string& out, const Layout& at, uint32_t from, uint32_t to, std::string_view kind) {
  const auto to_out = std::back_inserter(out);
  if (at.back(from, to)) { // around the right side, upwards
    const double x1 = at.x(from) + kNodeWidth / 2, x2 = at.x(to) + kNodeWidth / 2;
    const double y1 = at.y(from) + kNodeHeight / 2, y2 = at.y(to) + kNodeHeight / 2;
    const double bend = std::max(x1, x2) + kGapX + std::min(40.0, (y1 - y2) / 14);
    fmt::format_to(to_out,
                   "<path class='e back {}' d='M{:.0f} {:.0f}C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}'/>",
                   kind, x1, y1, bend, y1, bend, y2, x2 + 4, y2);
    return;
  }
  const double x1 = at.x(from), x2 = at.x(to), y1 = at.y(from) + kNodeHeight, y2 = at.y(to);
  // Past other rows an edge swings out, so that it does not run behind their blocks.
  const bool far = at.row(to) > at.row(from) + 1;
  const double swing = far ? -(kNodeWidth * 0.85) : 0, pull = far ? (y2 - y1) * 0.35 : kGapY * 0.6;
  fmt::format_to(to_out, "<path class='e {}' d='M{:.0f} {:.0f}C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}'/>",
                 kind, x1, y1, x1 + swing, y1 + pull, x2 + swing, y2 - pull, x2, y2 - 4);
}

} // namespace

std::string graph_svg(const std::vector<GraphNode>& nodes) {
  if (nodes.empty()) return {};
  const Layout at(nodes);
  std::string out = fmt::format(
      "<svg class='graph' width='{0:.0f}' height='{1:.0f}' viewBox='0 0 {0:.0f} {1:.0f}' role='img' "
      "aria-label='control flow'><defs><marker id='arrow' viewBox='0 0 8 8' refX='6' refY='4' "
      "markerWidth='8' "
      "markerHeight='8' markerUnits='userSpaceOnUse' orient='auto'><path d='M0 0L8 4L0 8z'/></marker></defs>",
      at.width(), at.height());
  for (const uint32_t n : at.shown()) {
    const auto& successors = nodes[n].successors;
    for (size_t s = 0; s < successors.size(); ++s)
      edge(out, at, n, successors[s], successors.size() < 2 ? "" : s == 0 ? "yes" : "no");
  }
  for (const uint32_t n : at.shown()) {
    const double x = at.x(n) - kNodeWidth / 2, y = at.y(n);
    const std::string mark = nodes[n].mark == ~0u ? "" : fmt::format(" data-g='{}'", nodes[n].mark);
    fmt::format_to(
        std::back_inserter(out),
        "<g class='n l{}'{}><rect x='{:.0f}' y='{:.0f}' width='{}' height='{}' rx='6'/><text x='{:.0f}' "
        "y='{:.0f}'>{}</text><text class='s' x='{:.0f}' y='{:.0f}'>{}</text></g>",
        std::min(nodes[n].loop_depth, 4u), mark, x, y, kNodeWidth, kNodeHeight, x + kNodeWidth / 2, y + 14,
        html_text(nodes[n].title), x + kNodeWidth / 2, y + 27, html_text(nodes[n].subtitle));
  }
  return out + "</svg>";
}

} // namespace lanewise::report
