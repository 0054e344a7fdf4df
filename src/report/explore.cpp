#include "report/explore.hpp"

#include "analysis/mask_algebra.hpp"
#include "analysis/pressure.hpp"
#include "cfg/loops.hpp"
#include "ir/graph.hpp"
#include "ir/printer.hpp"
#include "passes/kept_reason.hpp"
#include "passes/passes.hpp"
#include "passes/pipeline.hpp"
#include "report/mask_text.hpp"
#include "runtime/disassemble.hpp"
#include "translate/exec_marks.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lanewise::report {
namespace {

using analysis::LiveWords;

constexpr size_t kShortFormula = 24; ///< characters; longer ones are worth a name

/// The lines of a text, without their newlines.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

class Explorer {
 public:
  Explorer(const container::ShaderBinary& binary, const container::Kernel& kernel,
           const MeasureOptions& options)
      : binary_(binary), kernel_(kernel), options_(options) {}

  Expected<ExploreData> run() {
    auto record = measure(binary_, kernel_, options_);
    if (!record) return std::unexpected(record.error());
    data_.title = kernel_.name;
    data_.record = std::move(*record);
    if (auto ok = compile(); !ok) return std::unexpected(ok.error());
    if (auto ok = bound(); !ok) return std::unexpected(ok.error());
    if (auto ok = masks(); !ok) return std::unexpected(ok.error());
    return std::move(data_);
  }

 private:
  [[nodiscard]] uint32_t guest_of(uint32_t pc) const {
    const auto it = data_.code.index_of.find(pc);
    return it == data_.code.index_of.end() ? kNoIndex : static_cast<uint32_t>(it->second);
  }

  /// The IR of a program line by line.
  std::vector<ExploreLine> ir_lines(const ir::Program& program, bool numbered) {
    std::vector<ExploreLine> all;
    const auto add = [&](const ir::Function& f, size_t function) {
      const std::string text = ir::print(f);
      const auto lines = lines_of(text);
      size_t at = 0;
      const auto line = [&](uint32_t pc, uint32_t value) {
        if (at < lines.size()) all.push_back({std::string(lines[at++]), guest_of(pc), numbered ? value : 0});
      };
      line(0, 0);
      for (const ir::BasicBlock& b : f.blocks) {
        line(b.pc, 0);
        for (const ir::Value v : b.instructions) line(f[v].pc, number(function, v));
      }
      line(0, 0);
    };
    add(program.main, 0);
    for (size_t k = 0; k < program.callees.size(); ++k) add(program.callees[k].function, k + 1);
    return all;
  }

  /// One number for a value of one of the lowered functions.
  [[nodiscard]] uint32_t number(size_t function, ir::Value v) const {
    return function < first_number_.size() ? first_number_[function] + v.index : 0;
  }

  /// The most that is live beside each machine instruction. Instructions without IR show what the line above
  /// them does.
  void add_live(const ir::Program& program, LiveWords ExploreGuest::* when) {
    std::vector<bool> known(data_.guest.size());
    const auto add = [&](const ir::Function& f) {
      const analysis::PressureCurve curve = analysis::pressure_curve(f);
      for (uint32_t b = 0; b < f.blocks.size(); ++b)
        for (size_t i = 0; i < f.blocks[b].instructions.size(); ++i) {
          const uint32_t g = guest_of(f[f.blocks[b].instructions[i]].pc);
          if (g == kNoIndex) continue;
          LiveWords& live = data_.guest[g].*when;
          live = at_most(live, at_most(curve.at({b}, i), curve.at({b}, i + 1)));
          known[g] = true;
        }
    };
    add(program.main);
    for (const ir::CalleeFunction& c : program.callees) add(c.function);
    for (size_t g = 1; g < data_.guest.size(); ++g)
      if (!known[g]) data_.guest[g].*when = data_.guest[g - 1].*when;
  }

  void add_blocks(const ir::Function& f) {
    for (uint32_t b = 0; b < f.blocks.size(); ++b) {
      ExploreBlock block{.guest = guest_of(f.blocks[b].pc),
                         .pc = f.blocks[b].pc,
                         .instructions = static_cast<uint32_t>(f.blocks[b].instructions.size()),
                         .loop_depth = 0,
                         .successors = {}};
      for (unsigned s = 0; s < f.blocks[b].successor_count; ++s)
        block.successors.push_back(f.blocks[b].successors[s].index);
      if (block.guest != kNoIndex) data_.guest[block.guest].block = b;
      data_.blocks.push_back(std::move(block));
    }
    const cfg::Graph graph = ir::graph_of(f);
    const auto loops = cfg::find_loops(graph, cfg::reverse_post_order(graph), cfg::dominators(graph));
    for (uint32_t b = 0; b < data_.blocks.size(); ++b)
      if (loops.innermost[b] != cfg::none) data_.blocks[b].loop_depth = loops.loops[loops.innermost[b]].depth;
  }

  void see(runtime::Stage stage, const ir::Program& program) {
    switch (stage) {
    case runtime::Stage::translated: {
      data_.code = guest_code(binary_, kernel_, program);
      data_.guest.resize(data_.code.instructions.size());
      ir::Program copy = program; // as in measure()
      passes::uniformity(copy.main);
      for (ir::CalleeFunction& c : copy.callees) passes::uniformity(c.function);
      add_live(copy, &ExploreGuest::before);
      break;
    }
    case runtime::Stage::optimised:
      data_.optimised = ir_lines(program, false);
      add_live(program, &ExploreGuest::after);
      add_blocks(program.main);
      break;
    case runtime::Stage::lowered: {
      const auto add = [&](const ir::Function& f) {
        first_number_.push_back(
            first_number_.empty() ? 0 : first_number_.back() + static_cast<uint32_t>(pcs_.back().size()));
        auto& pcs = pcs_.emplace_back(f.value_count());
        for (uint32_t v = 1; v < f.value_count(); ++v) pcs[v] = f[ir::Value{v}].pc;
      };
      add(program.main);
      for (const ir::CalleeFunction& c : program.callees) add(c.function);
      data_.lowered = ir_lines(program, true);
      break;
    }
    }
  }

  Expected<void> compile() {
    runtime::CompileOptions compile = options_.compile;
    compile.explain = true;
    compile.trace = true;
    compile.look = [this](runtime::Stage stage, const ir::Program& program) { see(stage, program); };
    const auto compiled = runtime::compile(binary_, kernel_, compile);
    if (!compiled) return std::unexpected(compiled.error());
    add_kept(compiled->passes.exec_select);
    for (const auto& callee : compiled->callee_passes) add_kept(callee.exec_select);
    return add_spirv(compiled->module);
  }

  void add_kept(const passes::ExecSelectResult& selects) {
    for (const auto& k : selects.kept)
      data_.kept.push_back({guest_of(k.pc), guest_of(k.observer_pc), ir::info(k.observer_op).name,
                            passes::sentence(passes::kept_reason(k.observer_op))});
  }

  Expected<void> add_spirv(const spirv::EmittedModule& module) {
    const auto text = runtime::disassemble_spirv(module.words);
    if (!text) return std::unexpected(text.error());
    for (size_t i = 0; i < text->size(); ++i) {
      ExploreLine line{(*text)[i]};
      const spirv::Origin origin = i < module.origins.size() ? module.origins[i] : spirv::Origin{};
      if (origin.value && origin.function < pcs_.size() &&
          origin.value.index < pcs_[origin.function].size()) {
        line.value = number(origin.function, origin.value);
        line.guest = guest_of(pcs_[origin.function][origin.value.index]);
      }
      data_.spirv.push_back(std::move(line));
    }
    return {};
  }

  Expected<void> bound() {
    const auto program =
        runtime::optimised_program(binary_, kernel_, options_.compile, runtime::InactiveLanes::overwritten);
    if (!program) return std::unexpected(program.error());
    add_live(*program, &ExploreGuest::bound);
    return {};
  }

  /// EXEC everywhere, from a translation of its own in which marks keep it in sight. Control flow that is not
  /// reducible has no mask algebra; such a page goes without formulas.
  Expected<void> masks() {
    auto marked = translate::translate_with_marks(
        binary_, kernel_, options_.compile.partial_workgroups == std::array{false, false, false});
    if (!marked) return {}; // calls that only a dispatch fixes
    passes::PipelineOptions until;
    until.before = "exec_select";
    if (!passes::run(*marked, until)) return {};
    analysis::MaskAlgebra algebra(*marked);
    if (!algebra.usable()) return {};
    std::vector<analysis::Formula> exec(data_.guest.size(), analysis::kFalse);
    std::vector<bool> known(data_.guest.size());
    for (const ir::BasicBlock& b : marked->blocks)
      for (const ir::Value v : b.instructions) {
        const uint32_t g = translate::is_mark(*marked, v) ? guest_of((*marked)[v].pc) : kNoIndex;
        if (g == kNoIndex || known[g]) continue;
        exec[g] = algebra.formula_of(translate::marked_mask(*marked, v));
        known[g] = true;
      }
    spell(*marked, algebra, exec, known);
    return {};
  }

  /// Formulas in words, and how deep each instruction lies in masks: a stack along the code, each entry
  /// inside the one below.
  void spell(const ir::Function& f, analysis::MaskAlgebra& algebra,
             const std::vector<analysis::Formula>& exec, const std::vector<bool>& known) {
    MaskText text(f, algebra);
    std::unordered_map<uint32_t, uint32_t> ids;
    std::vector<analysis::Formula> around;
    for (size_t g = 0; g < exec.size(); ++g) {
      if (!known[g]) continue;
      ExploreGuest& line = data_.guest[g];
      const auto [id, fresh] = ids.try_emplace(exec[g].bits, static_cast<uint32_t>(data_.formulas.size()));
      if (fresh) { // later masks are said by those before them
        data_.formulas.push_back(text(exec[g]));
        if (data_.formulas.back().size() > kShortFormula) text.call(exec[g], fmt::format("E{}", id->second));
      }
      line.exec = id->second;
      line.begins = g == 0 || !known[g - 1] || exec[g - 1] != exec[g];
      while (!around.empty() && around.back() != exec[g] &&
             !algebra.bounded().implies(exec[g], around.back()))
        around.pop_back();
      if (around.empty() || around.back() != exec[g]) around.push_back(exec[g]);
      line.depth = static_cast<uint32_t>(around.size() - 1);
    }
  }

  const container::ShaderBinary& binary_;
  const container::Kernel& kernel_;
  const MeasureOptions& options_;
  ExploreData data_;
  std::vector<std::vector<uint32_t>> pcs_; ///< of lowered values, by function
  std::vector<uint32_t> first_number_;     ///< likewise: what their handles are added to
};

} // namespace

Expected<ExploreData> explore(const container::ShaderBinary& binary, const container::Kernel& kernel,
                              const MeasureOptions& options) {
  return Explorer(binary, kernel, options).run();
}

} // namespace lanewise::report
