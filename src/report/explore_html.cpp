#include "report/explore.hpp"

#include "rdna2/disassembler.hpp"
#include "report/explore_assets.hpp"
#include "report/explore_curve.hpp"
#include "report/explore_graph.hpp"
#include "report/html_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>

namespace lanewise::report {
namespace {

constexpr size_t kRowsOfSection =
    64; ///< sections out of sight are not laid out; the style knows their height
constexpr uint32_t kMostBands = 12;
constexpr unsigned kBandColours = 6;

/// "rest" with its operation in bold: the word that begins at `from`.
std::string with_operation(std::string_view text, size_t from) {
  const size_t end = std::min(text.find(' ', from), text.size());
  return html_text(text.substr(0, from)) + "<b>" + html_text(text.substr(from, end - from)) + "</b>" +
         html_text(text.substr(end));
}

/// Collects rows and cuts them into sections.
class Rows {
 public:
  void add(std::string_view attributes, std::string_view inside, size_t characters) {
    if (count_ % kRowsOfSection == 0) {
      if (count_ != 0) out_ += "</section>";
      out_ += "<section>";
    }
    ++count_;
    longest_ = std::max(longest_, characters);
    fmt::format_to(std::back_inserter(out_), "<p{}>{}\n</p>", attributes, inside);
  }

  /// The whole list. Sections are as wide as the longest row, because those out of sight cannot grow.
  [[nodiscard]] std::string finish(std::string_view classes) {
    if (count_ != 0) out_ += "</section>";
    return fmt::format("<div class='rows {}' tabindex='0' style='--c:{}ch'>{}</div>", classes, longest_ + 4,
                       out_);
  }

 private:
  std::string out_;
  size_t count_ = 0, longest_ = 0;
};

std::string attributes(uint32_t guest, uint32_t value) {
  std::string text;
  if (guest != kNoIndex) text += fmt::format(" data-g='{}'", guest);
  if (value != 0) text += fmt::format(" data-v='{}'", value);
  return text;
}

/// The masks around a line as bars side by side, the outermost left. Lines of equal depth share a style.
class BandStyles {
 public:
  explicit BandStyles(const ExploreData& data) {
    for (const ExploreGuest& g : data.guest) most_ = std::max(most_, std::min(g.depth, kMostBands));
  }
  [[nodiscard]] std::string css() const {
    std::string css;
    for (uint32_t depth = 0; depth <= most_; ++depth) {
      std::string images, places;
      for (uint32_t d = 0; d < depth; ++d) {
        images +=
            fmt::format("{0}linear-gradient(var(--m{1}),var(--m{1}))", d == 0 ? "" : ",", d % kBandColours);
        places += fmt::format("{}{}px 0", d == 0 ? "" : ",", d * 7 + 6);
      }
      css += fmt::format(".rows p.d{}{{padding-left:{}px", depth, most_ * 7 + 12);
      if (depth != 0)
        css += fmt::format(";background-image:{};background-position:{};background-size:5px 100%", images,
                           places);
      css += "}\n";
    }
    return css;
  }
  [[nodiscard]] static std::string attribute(const ExploreGuest& g) {
    return fmt::format(" class='d{}{}'", std::min(g.depth, kMostBands), g.begins ? " new" : "");
  }

 private:
  uint32_t most_ = 0;
};

std::string machine_rows(const ExploreData& data) {
  Rows rows;
  uint32_t most_live = 1;
  for (const ExploreGuest& g : data.guest) most_live = std::max(most_live, g.after.per_lane);
  std::vector<bool> kept(data.guest.size());
  for (const ExploreKept& k : data.kept)
    if (k.select != kNoIndex) kept[k.select] = true;
  std::vector<bool> said(data.formulas.size());
  for (const GuestCode::Function& function : data.code.functions) {
    if (data.code.functions.size() > 1)
      rows.add(" class='f'", html_text(function.name), function.name.size());
    for (size_t i = function.first; i < function.first + function.count; ++i) {
      const ExploreGuest& g = data.guest[i];
      const std::string text = rdna2::disassemble(data.code.instructions[i], data.code.wave);
      const bool says = g.begins && g.exec != kNoIndex;
      const bool again = says && said[g.exec];
      const std::string formula = !says   ? ""
                                  : again ? fmt::format("E{}", g.exec)
                                          : fmt::format("E{} = {}", g.exec, data.formulas[g.exec]);
      if (says) said[g.exec] = true;
      rows.add(BandStyles::attribute(g) + attributes(static_cast<uint32_t>(i), 0),
               fmt::format("<a>{:06x} </a><em style='--w:{}%'>{} </em>{}{}{}", data.code.instructions[i].pc,
                           100 * g.after.per_lane / most_live, g.after.per_lane, with_operation(text, 0),
                           kept[i] ? " <u title='a select stays'>\u25cf</u>" : "",
                           says ? "   <i>" + html_text(formula) + "</i>" : ""),
               text.size() + formula.size() + 34);
    }
  }
  return rows.finish("machine");
}

/// Where the operation stands in a line of IR: behind "= [uniform] TYPE", or first.
size_t operation_of_ir(std::string_view text) {
  const size_t equals = text.find(" = ");
  if (equals == std::string_view::npos) return std::min(text.find_first_not_of(' '), text.size());
  size_t at = equals + 3;
  if (text.substr(at).starts_with("uniform ")) at += 8;
  const size_t type = text.find(' ', at);
  return type == std::string_view::npos ? at : type + 1;
}

/// Not bold, rows are cheaper to open.
std::string ir_rows(const std::vector<ExploreLine>& lines, std::string_view classes, bool bold) {
  Rows rows;
  for (const ExploreLine& line : lines) {
    const bool instruction = line.text.starts_with("  ");
    const std::string extra = instruction ? "" : " class='bl'";
    rows.add(extra + attributes(line.guest, line.value),
             instruction && bold ? with_operation(line.text, operation_of_ir(line.text))
                                 : html_text(line.text),
             line.text.size());
  }
  return rows.finish(classes);
}

std::string spirv_rows(const std::vector<ExploreLine>& lines) {
  Rows rows;
  for (const ExploreLine& line : lines) {
    const size_t equals = line.text.find(" = ");
    rows.add(attributes(line.guest, line.value),
             with_operation(line.text, equals == std::string::npos ? 0 : equals + 3), line.text.size());
  }
  return rows.finish("spirv");
}

std::string kept_table(const ExploreData& data) {
  if (data.kept.empty()) return "";
  const auto instruction = [&](uint32_t i) {
    return i == kNoIndex
               ? std::string("-")
               : fmt::format("{:06x} {}", data.code.instructions[i].pc,
                             html_text(rdna2::disassemble(data.code.instructions[i], data.code.wave)));
  };
  std::string out = fmt::format(
      "<div class='panel kept'><div class='head'><h2>Selects that stay</h2><small>{} of "
      "{:g}: the old value of the register is read in lanes that are off</small></div><div><table>",
      data.kept.size(), data.record.metrics.at("selects.found"));
  for (const ExploreKept& k : data.kept)
    out += fmt::format("<tr{}><td>{}</td><td>read by {} at {}</td><td>{}</td></tr>", attributes(k.select, 0),
                       instruction(k.select), k.operation, instruction(k.observer), html_text(k.why));
  return out + "</table></div></div>";
}

std::string flow(const ExploreData& data) {
  std::vector<GraphNode> nodes;
  for (size_t b = 0; b < data.blocks.size(); ++b) {
    const ExploreBlock& block = data.blocks[b];
    nodes.push_back({fmt::format("b{} {:x}", b, block.pc), fmt::format("{} values", block.instructions),
                     block.guest, block.loop_depth, block.successors});
  }
  return graph_svg(nodes);
}

/// What the script looks up.
std::string script_data(const ExploreData& data) {
  using nlohmann::json;
  json pc = json::array(), exec = json::array(), live = json::array(), block = json::array(),
       kept = json::object();
  uint32_t current = 0;
  for (size_t i = 0; i < data.guest.size(); ++i) {
    const ExploreGuest& g = data.guest[i];
    pc.push_back(fmt::format("{:06x}", data.code.instructions[i].pc));
    exec.push_back(g.exec == kNoIndex ? -1 : static_cast<int64_t>(g.exec));
    live.push_back(
        {g.before.per_lane, g.after.per_lane, g.bound.per_lane, g.before.uniform, g.after.uniform});
    if (g.block != kNoIndex) current = static_cast<uint32_t>(i);
    block.push_back(current); // the first instruction of the block stands for it
  }
  for (const ExploreKept& k : data.kept)
    if (k.select != kNoIndex)
      kept[std::to_string(k.select)].push_back(fmt::format(
          "read by {}{}: {}", k.operation,
          k.observer == kNoIndex ? "" : fmt::format(" at {:06x}", data.code.instructions[k.observer].pc),
          k.why));
  const json all{{"pc", pc},       {"exec", exec}, {"live", live},
                 {"block", block}, {"kept", kept}, {"formula", data.formulas}};
  std::string text = all.dump(-1, ' ', false, json::error_handler_t::replace);
  for (size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3) text.replace(at, 2, "<\\/");
  return text;
}

std::string header(const ExploreData& data) {
  const auto& m = data.record.metrics;
  const auto arrow = [&](const char* kind) {
    const std::string k = kind;
    return fmt::format("<b>{:g} &rarr; {:g}</b> (bound {:g})", m.at(k + ".before"), m.at(k + ".after"),
                       m.at(k + ".bound"));
  };
  return fmt::format(
      "<header><h1>{}</h1><p>wave<b>{:g}</b> on <b>{:g}</b> invocations</p><p><b>{:g}</b> instructions</p>"
      "<p>live per lane {}</p><p>uniform {}</p><p><b>{:g}</b> of <b>{:g}</b> selects "
      "dropped</p><p><b>{:g}</b> SPIR-V "
      "words</p><form id='find' hidden onsubmit='return false'><output></output><input type='search' "
      "placeholder='Search all columns ( / )' aria-label='Search'></form></header>",
      html_text(data.title), m.at("wave_size"), m.at("host_lanes"), m.at("guest.instructions"),
      arrow("live_lane"), arrow("live_uniform"), m.at("selects.dropped"), m.at("selects.found"),
      m.at("spirv_words"));
}

std::string columns(const ExploreData& data) {
  return "<div class='cols'><div class='panel col'><div class='head'><h2>Machine code</h2><small>bars: "
         "masks; number: live words per lane; E: EXEC</small></div>" +
         machine_rows(data) +
         "</div><div class='panel col'><input type='radio' name='ir' id='wave' checked><input type='radio' "
         "name='ir' "
         "id='invocation'><div class='head'><h2>IR</h2><label for='wave'>of the wave</label><label "
         "for='invocation'>of an invocation</label></div>" +
         ir_rows(data.optimised, "optimised", true) + ir_rows(data.lowered, "lowered", false) +
         "</div><div class='panel col'><div class='head'><h2>SPIR-V</h2><small>" +
         fmt::format("{} instructions", data.spirv.size()) + "</small></div>" + spirv_rows(data.spirv) +
         "</div></div>";
}

} // namespace

std::string to_html(const ExploreData& data) {
  return fmt::format("<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
                     "content='width=device-width'><title>{}</title><style>{}{}.rows "
                     "section{{min-width:max(100%,var(--c))}}"
                     "</style></head><body>",
                     html_text(data.title), kExploreStyle, BandStyles(data).css()) +
         header(data) +
         "<main><div class='top'><div class='panel'><div class='head'><h2>Live words along the "
         "code</h2></div>" +
         pressure_svg(data) +
         "</div><div class='panel'><div class='head'><h2>Control flow</h2><small>solid: the condition holds; "
         "dashed: it does "
         "not; bold: back</small></div><div class='flow'>" +
         flow(data) + "</div></div></div>" + columns(data) + kept_table(data) +
         "</main><div id='detail' aria-live='polite'></div><script type='application/json' id='data'>" +
         script_data(data) + "</script><script>" + kExploreScript + "</script></body></html>\n";
}

} // namespace lanewise::report
