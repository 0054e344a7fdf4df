// lanewise cfg: the blocks of a kernel, calls inlined, with loops, dominators and what structuring adds.
#include "cfg/irreducible.hpp"
#include "cfg/structurize.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "rdna2/disassembler.hpp"
#include "translate/graph.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

namespace lanewise::cli {
namespace {

using container::Kernel;
using translate::CodeBlock;

struct CfgOptions {
  InputOptions input;
  std::vector<std::string> kernels;
  bool dot = false, json = false, instructions = false;
};

/// A kernel's graph and what is known of it.
struct GraphShape {
  const Kernel* kernel;
  translate::Graph code;
  cfg::Graph graph;
  cfg::Dominators dominators;
  cfg::LoopForest loops;
  std::vector<uint32_t> order;

  [[nodiscard]] uint32_t size() const { return graph.size(); }
  [[nodiscard]] const CodeBlock& block(uint32_t n) const { return code.block(code.nodes[n]); }
  [[nodiscard]] uint32_t end(uint32_t n) const {
    const CodeBlock& b = block(n);
    const auto list = code.code.instructions(b);
    return list.empty() ? b.pc : list.back().pc + list.back().size;
  }
  [[nodiscard]] uint32_t depth(uint32_t n) const {
    return loops.innermost[n] == cfg::none ? 0 : loops.loops[loops.innermost[n]].depth;
  }
  [[nodiscard]] bool is_header(uint32_t n) const {
    return loops.innermost[n] != cfg::none && loops.loops[loops.innermost[n]].header == n;
  }
};

Expected<GraphShape> shape_of(const container::ShaderBinary& binary, const Kernel& kernel) {
  const auto wave = kernel.descriptor.wave32 ? rdna2::WaveSize::wave32 : rdna2::WaveSize::wave64;
  const auto entry = translate::entry_sgprs(kernel, static_cast<unsigned>(wave));
  if (!entry) return std::unexpected(entry.error());
  auto code = translate::build_graph(binary, static_cast<uint32_t>(kernel.entry), wave, {.entry = &*entry});
  if (!code) {
    Error& e = code.error();
    e.where = fmt::format("kernel {}{}{}", printable(kernel.name), e.where.empty() ? "" : ", ", e.where);
    return std::unexpected(e);
  }
  std::vector<cfg::Edge> edges;
  for (uint32_t n = 0; n < code->nodes.size(); ++n)
    for (unsigned i = 0; i < code->nodes[n].successor_count; ++i)
      edges.emplace_back(n, code->nodes[n].successors[i]);
  cfg::Graph graph(static_cast<uint32_t>(code->nodes.size()), edges);
  cfg::Dominators dominators = cfg::dominators(graph);
  cfg::Order order = cfg::reverse_post_order(graph);
  cfg::LoopForest loops = cfg::find_loops(graph, order, dominators);
  return GraphShape{&kernel,          std::move(*code),
                    std::move(graph), std::move(dominators),
                    std::move(loops), std::move(order.reverse_post)};
}

std::string summary(const GraphShape& s) {
  std::string text = fmt::format("{} blocks, {} loops", s.size(), s.loops.loops.size());
  const auto entries = cfg::irreducible_entries(s.graph);
  if (!entries.empty())
    return text + fmt::format(", irreducible: a cycle is entered at blocks {}", fmt::join(entries, ", "));
  if (const auto structured = cfg::structurize(s.graph)) {
    const auto count = [&](cfg::StructuredNode::Kind k) {
      return std::ranges::count(structured->nodes, k, &cfg::StructuredNode::kind);
    };
    text += fmt::format(", reducible ({} guards, {} joins in structured form)",
                        count(cfg::StructuredNode::Kind::guard), count(cfg::StructuredNode::Kind::join));
  }
  return text;
}

std::string list_of(std::span<const uint32_t> blocks) { return fmt::format("{}", fmt::join(blocks, ", ")); }

void print_block(std::string& out, const GraphShape& s, uint32_t n, bool instructions) {
  const std::string indent(2 + 2 * s.depth(n), ' ');
  const CodeBlock& b = s.block(n);
  fmt::format_to(std::back_inserter(out), "{}{:<5} {:#08x}..{:#08x} {:>4} instructions", indent, n, b.pc,
                 s.end(n), b.count);
  const auto to = s.graph.successors(n);
  out += to.empty() ? "  ends" : fmt::format("  -> {}", list_of(to));
  if (s.is_header(n)) out += "  loop header";
  if (s.dominators.parent[n] != cfg::none)
    fmt::format_to(std::back_inserter(out), "  under {}", s.dominators.parent[n]);
  out += '\n';
  if (!instructions) return;
  for (const auto& i : s.code.code.instructions(b))
    fmt::format_to(std::back_inserter(out), "{}        {}\n", indent,
                   rdna2::disassemble(i, s.code.code.wave()));
}

std::string text_of(const GraphShape& s, bool instructions) {
  std::string out = fmt::format("kernel {}: {}\n", printable(s.kernel->name), summary(s));
  for (const uint32_t n : s.order) print_block(out, s, n, instructions);
  return out;
}

std::string dot_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// Graphviz: loops as clusters, backward edges bold.
class Dot {
 public:
  Dot(const GraphShape& s, bool instructions)
      : s_(s), instructions_(instructions), inside_(s.loops.loops.size()) {
    for (const uint32_t n : s.order)
      if (const uint32_t l = s.loops.innermost[n]; l != cfg::none) inside_[l].push_back(n);
  }

  std::string text() {
    out_ = fmt::format("digraph \"{}\" {{\n  node [shape=box, fontname=monospace, fontsize=10];\n",
                       dot_quoted(printable(s_.kernel->name)));
    for (const uint32_t n : s_.order)
      if (s_.loops.innermost[n] == cfg::none) node(n);
    clusters();
    for (const uint32_t n : s_.order)
      for (const uint32_t t : s_.graph.successors(n))
        fmt::format_to(std::back_inserter(out_), "  b{} -> b{}{};\n", n, t,
                       s_.dominators.dominates(t, n) ? " [style=bold]" : "");
    return out_ + "}\n";
  }

 private:
  void node(uint32_t n) {
    std::string label = fmt::format("{}: {:#x} ({})", n, s_.block(n).pc, s_.block(n).count);
    if (instructions_)
      for (const auto& i : s_.code.code.instructions(s_.block(n)))
        label += "\\l" + dot_quoted(rdna2::disassemble(i, s_.code.code.wave()));
    fmt::format_to(std::back_inserter(out_), "  b{} [label=\"{}{}\"];\n", n, label,
                   instructions_ ? "\\l" : "");
  }

  /// Loops in the order of their intervals: a cluster is closed before one that it does not hold opens.
  void clusters() {
    std::vector<uint32_t> loops(s_.loops.loops.size()), open;
    for (uint32_t l = 0; l < loops.size(); ++l) loops[l] = l;
    std::ranges::sort(loops, {}, [&](uint32_t l) { return s_.loops.loops[l].enter; });
    const auto close = [&] {
      out_ += "  }\n";
      open.pop_back();
    };
    for (const uint32_t l : loops) {
      while (!open.empty() && s_.loops.loops[open.back()].exit <= s_.loops.loops[l].enter) close();
      fmt::format_to(std::back_inserter(out_), "  subgraph cluster_{} {{ style=rounded;\n", l);
      open.push_back(l);
      for (const uint32_t n : inside_[l]) node(n);
    }
    while (!open.empty()) close();
  }

  const GraphShape& s_;
  bool instructions_;
  std::vector<std::vector<uint32_t>> inside_;
  std::string out_;
};

nlohmann::json json_of(const GraphShape& s) {
  auto blocks = nlohmann::json::array();
  for (const uint32_t n : s.order) {
    nlohmann::json row = {
        {"block", n},
        {"pc", s.block(n).pc},
        {"end", s.end(n)},
        {"instructions", s.block(n).count},
        {"successors", std::vector<uint32_t>(s.graph.successors(n).begin(), s.graph.successors(n).end())},
        {"loop_depth", s.depth(n)},
        {"loop_header", s.is_header(n)}};
    if (s.dominators.parent[n] != cfg::none) row["immediate_dominator"] = s.dominators.parent[n];
    blocks.push_back(std::move(row));
  }
  return {{"kernel", s.kernel->name}, {"reducible", s.loops.reducible()}, {"blocks", std::move(blocks)}};
}

Expected<std::string> output_of(const CfgOptions& options) {
  auto binary = load_input(options.input);
  if (!binary) return std::unexpected(binary.error());
  auto kernels = pick_kernels(*binary, options.kernels);
  if (!kernels) return std::unexpected(kernels.error());
  std::string text;
  auto array = nlohmann::json::array();
  for (const Kernel* kernel : *kernels) {
    auto shape = shape_of(*binary, *kernel);
    if (!shape) return std::unexpected(shape.error());
    if (options.json)
      array.push_back(json_of(*shape));
    else
      text += options.dot ? Dot(*shape, options.instructions).text() : text_of(*shape, options.instructions);
  }
  return options.json ? array.dump(2) + "\n" : text;
}

int run(const CfgOptions& options) {
  auto text = output_of(options);
  if (!text) return report(text.error());
  if (auto written = write_output("-", *text); !written) return report(written.error());
  return exit_done;
}

} // namespace

void add_cfg(Command& root, int& status) {
  auto options = std::make_shared<CfgOptions>();
  Command command = root.add("cfg", "Print a kernel's blocks, loops and dominators");
  add_input(command, options->input);
  command.list("--kernel", options->kernels, "print only this kernel; may be repeated");
  const Option dot =
      command.flag("--dot", options->dot, "print for Graphviz, which also makes SVG: | dot -Tsvg");
  command.flag("--json", options->json, "print JSON").excludes(dot);
  command.flag("--instructions", options->instructions, "with the instructions of each block");
  command.run(status, [options] { return run(*options); });
}

} // namespace lanewise::cli
