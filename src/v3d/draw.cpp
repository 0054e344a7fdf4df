#include "v3d/draw.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::v3d {

namespace {

constexpr unsigned column = 3, row = 5, left = 60;
constexpr std::uint32_t most = 400;

struct Band {
  std::string label;
  std::vector<Segment> segments;
};

std::vector<Band> bands(const Program& p, std::uint32_t first) {
  const Liveness l = analyse_liveness(p);
  const auto segments = live_segments(p, l);
  std::vector<Band> r;
  for (std::uint32_t n = 0; n < l.names.count(); ++n) {
    Band b;
    b.label = n < l.names.temps        ? fmt::format("t{}", n)
              : n < l.names.temps + 64 ? fmt::format("rf{}", n - l.names.temps)
                                       : fmt::format("r{}", n - l.names.temps - 64);
    for (const Segment& s : segments[n]) {
      if (s.begin < first + most && s.end > first) {
        b.segments.push_back({std::max(s.begin, first) - first, std::min(s.end, first + most) - first});
      }
    }
    if (!b.segments.empty()) {
      r.push_back(std::move(b));
    }
  }
  std::ranges::stable_sort(r, {}, [](const Band& b) { return b.segments.front().begin; });
  return r;
}

std::string draw(const std::vector<Band>& list, unsigned top, std::string_view colour) {
  std::string s;
  for (std::size_t k = 0; k < list.size(); ++k) {
    const auto y = top + static_cast<unsigned>(k) * row;
    s += fmt::format("<text x=\"2\" y=\"{}\">{}</text>", y + row - 1, list[k].label);
    for (const Segment& g : list[k].segments) {
      s += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
                       left + g.begin * column, y, std::max(1u, (g.end - g.begin) * column - 1), row - 1,
                       colour);
    }
    s += '\n';
  }
  return s;
}

} // namespace

std::string draw_allocation(const Program& listing, const Allocation& a, std::uint32_t first) {
  const auto before = bands(listing, first), after = bands(a.program, first);
  const unsigned top_before = 20, top_after = top_before + static_cast<unsigned>(before.size()) * row + 30;
  const unsigned height = top_after + static_cast<unsigned>(after.size()) * row + 10;
  std::string s = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" "
      "font-size=\"5\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      left + most * column + 10, height);
  s += fmt::format(
      "<text x=\"2\" y=\"12\" font-size=\"10\">live ranges in the listing: {} temporaries</text>\n",
      before.size());
  s += draw(before, top_before, "#4878a8");
  s += fmt::format("<text x=\"2\" y=\"{}\" font-size=\"10\">registers at {} threads ({})</text>\n",
                   top_after - 8, a.threads, a.strategy);
  s += draw(after, top_after, "#58985a");
  // Stores and fills, as strokes through the lower picture.
  std::uint32_t position = 0;
  for (const Block& b : a.program.blocks) {
    ++position;
    for (const Inst& i : b.insts) {
      const bool marks = i.role == Role::store || i.role == Role::fill;
      if (marks && position >= first && position < first + most) {
        s += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"1\" height=\"{}\" fill=\"{}\" opacity=\"0.4\"/>\n",
                         left + (position - first) * column, top_after, height - top_after,
                         i.role == Role::store ? "#c04040" : "#d08030");
      }
      ++position;
    }
  }
  return s + "</svg>\n";
}

} // namespace lanewise::v3d
