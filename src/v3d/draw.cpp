#include "v3d/draw.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::v3d {

namespace {

// Pixels: of the picture's plot, a row and a picture at most, and the margin for names.
constexpr double width = 1000, tallest_row = 8, tallest = 512;
constexpr unsigned left = 40;

struct Band {
  std::string label;
  std::vector<Segment> segments;
};

std::vector<Band> bands(const Program& p, std::uint32_t& gaps) {
  const Liveness l = analyse_liveness(p);
  const auto segments = live_segments(p, l);
  std::vector<Band> r;
  for (std::uint32_t n = 0; n < l.names.count(); ++n) {
    Band b;
    b.label = n < l.names.temps        ? fmt::format("t{}", n)
              : n < l.names.temps + 64 ? fmt::format("rf{}", n - l.names.temps)
                                       : fmt::format("r{}", n - l.names.temps - 64);
    b.segments = segments[n];
    if (!b.segments.empty()) {
      r.push_back(std::move(b));
    }
  }
  gaps = l.gap_count;
  return r;
}

double row_of(std::size_t rows) { return std::min(tallest_row, tallest / static_cast<double>(rows + 1)); }

// All ranges as one path of strokes; names where there is room for them.
std::string draw(const std::vector<Band>& list, unsigned top, double column, std::string_view colour) {
  const double row = row_of(list.size());
  std::string names, path, last;
  for (std::size_t k = 0; k < list.size(); ++k) {
    const double y = top + static_cast<double>(k) * row;
    if (row >= 5) {
      names += fmt::format("<text x=\"2\" y=\"{:.0f}\">{}</text>", y + row - 1, list[k].label);
    }
    for (const Segment& g : list[k].segments) {
      std::string stroke = fmt::format("M{:.0f} {:.0f}h{:.0f}", left + g.begin * column, y + row / 2,
                                       std::max(1.0, (g.end - g.begin) * column));
      path += stroke == last ? "" : stroke;
      last = std::move(stroke);
    }
  }
  return fmt::format("{}\n<path stroke=\"{}\" stroke-width=\"{:.0f}\" d=\"{}\"/>\n", names, colour,
                     row > 2 ? row - 1 : 1, path);
}

// Where stores and fills stand, as strokes from top to bottom.
std::string draw_role(const Program& p, Role role, unsigned top, unsigned height, double column,
                      std::string_view colour) {
  std::string path;
  std::uint32_t position = 0;
  for (const Block& b : p.blocks) {
    ++position;
    for (const Inst& i : b.insts) {
      // One for each value: a store's data, a fill's result.
      const bool marks = i.role == role && (role == Role::store ? i.alu.dst == peripheral(magic::tmud)
                                                                : (i.sigs & sig::ldtmu) != 0);
      if (marks) {
        path += fmt::format("M{:.0f} {}v{}", left + position * column, top, height);
      }
      ++position;
    }
  }
  return fmt::format("<path stroke=\"{}\" stroke-width=\"1\" opacity=\"0.6\" d=\"{}\"/>\n", colour, path);
}

} // namespace

std::string draw_allocation(const Program& listing, const Allocation& a) {
  std::uint32_t gaps_before = 0, gaps_after = 0;
  auto before = bands(listing, gaps_before);
  const auto after = bands(a.program, gaps_after);
  std::ranges::stable_sort(before, {}, [](const Band& b) { return b.segments.front().begin; });
  const double column_before = width / gaps_before, column_after = width / gaps_after;
  const auto height = [](const std::vector<Band>& list) {
    return static_cast<unsigned>(static_cast<double>(list.size()) * row_of(list.size()));
  };
  const unsigned top_before = 20, height_before = height(before);
  const unsigned top_after = top_before + height_before + 30;
  const unsigned height_after = height(after);
  std::string s = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{}\" font-family=\"sans-serif\" "
      "font-size=\"6\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      left + width + 10, top_after + height_after + 10);
  s += fmt::format("<text x=\"2\" y=\"12\" font-size=\"10\">live ranges in the listing: {} names, {} "
                   "instructions</text>\n",
                   before.size(), size(listing));
  s += draw(before, top_before, column_before, "#4878a8");
  s +=
      fmt::format("<text x=\"2\" y=\"{}\" font-size=\"10\">registers at {} threads ({}): {} stores (red), {} "
                  "fills (orange), {} thread switches for them</text>\n",
                  top_after - 8, a.threads, a.strategy, a.spills.spills, a.spills.fills, a.spills.switches);
  s += draw(after, top_after, column_after, "#58985a");
  s += draw_role(a.program, Role::store, top_after, height_after, column_after, "#c04040");
  s += draw_role(a.program, Role::fill, top_after, height_after, column_after, "#e09020");
  return s + "</svg>\n";
}

} // namespace lanewise::v3d
