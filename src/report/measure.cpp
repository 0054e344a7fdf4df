#include "report/measure.hpp"

#include "analysis/pressure.hpp"
#include "cfg/loops.hpp"
#include "ir/graph.hpp"
#include "passes/kept_reason.hpp"
#include "passes/passes.hpp"
#include "report/guest_code.hpp"

#include <array>
#include <fmt/format.h>

namespace lanewise::report {
namespace {

template <class F>
void each_function(const ir::Program& program, F visit) {
  visit(program.main);
  for (const ir::CalleeFunction& c : program.callees) visit(c.function);
}

size_t count_loops(const ir::Program& program) {
  size_t loops = 0;
  each_function(program, [&](const ir::Function& f) {
    const cfg::Graph graph = ir::graph_of(f);
    loops += cfg::find_loops(graph, cfg::reverse_post_order(graph), cfg::dominators(graph)).loops.size();
  });
  return loops;
}

/// Per-lane selects in blocks.
size_t count_selects(const ir::Program& program) {
  size_t selects = 0;
  each_function(program, [&](const ir::Function& f) {
    for (const ir::BasicBlock& b : f.blocks)
      for (const ir::Value v : b.instructions) selects += f[v].op == ir::Op::select && !f[v].uniform;
  });
  return selects;
}

void add_guest(ShaderRecord& record, const GuestCode& code) {
  auto& m = record.metrics;
  m["guest.instructions"] = static_cast<double>(code.instructions.size());
  m["guest.functions"] = static_cast<double>(code.functions.size() - 1);
  for (size_t k = 0; k < kGuestKinds; ++k) m[fmt::format("guest.{}", name(static_cast<GuestKind>(k)))] = 0;
  for (const rdna2::Instruction& i : code.instructions) m[fmt::format("guest.{}", name(guest_kind(i)))] += 1;
}

void add_selects(ShaderRecord& record, const passes::ExecSelectResult& selects) {
  auto& m = record.metrics;
  m["selects.found"] += selects.selects;
  m["selects.dropped"] += selects.dropped;
  m["selects.masks_dropped"] += selects.masks;
  for (const auto& k : selects.kept)
    m[fmt::format("selects.kept.{}", name(passes::kept_reason(k.observer_op)))] += 1;
}

/// Live values: "live_lane.WHEN" and so on.
void add_live(ShaderRecord& record, std::string_view when, const ir::Program& program) {
  const analysis::LiveWords live = analysis::most_live(program);
  record.metrics[fmt::format("live_lane.{}", when)] = live.per_lane;
  record.metrics[fmt::format("live_mask.{}", when)] = live.masks;
  record.metrics[fmt::format("live_uniform.{}", when)] = live.uniform;
}

} // namespace

void add_compiled(ShaderRecord& record, const runtime::CompiledKernel& compiled) {
  auto& m = record.metrics;
  m["wave_size"] = compiled.seating.wave_size;
  m["host_lanes"] = compiled.seating.host_lanes;
  m["independent"] = compiled.seating.independent;
  m["values.translated"] = compiled.translated_values;
  m["values.optimised"] = compiled.optimised_values;
  m["values.lowered"] = compiled.lowered_values;
  m["spirv_words"] = static_cast<double>(compiled.module.words.size());
  m["spirv_functions"] = compiled.module.functions;
  m["lds_bytes"] = compiled.module.lds_bytes;
  for (const passes::KeptReason r : passes::kKeptReasons)
    m[fmt::format("selects.kept.{}", passes::name(r))] = 0;
  add_selects(record, compiled.passes.exec_select);
  m["time_us.translate"] = compiled.times.translate_us;
  m["time_us.passes"] = compiled.times.passes_us;
  m["time_us.lower"] = compiled.times.lower_us;
  m["time_us.emit"] = compiled.times.emit_us;
  m["time_us.total"] = compiled.times.total_us();
  const auto add_passes = [&](const passes::PipelineReport& report) {
    for (const passes::PassTime& p : report.passes)
      m[fmt::format("time_us.pass.{}", p.pass)] += p.microseconds;
  };
  add_passes(compiled.passes);
  for (const passes::PipelineReport& report : compiled.callee_passes) {
    add_selects(record, report.exec_select);
    add_passes(report);
  }
}

runtime::ProgramObserver looking_at(ShaderRecord& record, const container::ShaderBinary& binary,
                                    const container::Kernel& kernel) {
  return [&](runtime::Stage stage, const ir::Program& program) {
    if (stage == runtime::Stage::translated) {
      add_guest(record, guest_code(binary, kernel, program));
      record.metrics["scratch_bytes"] = program.main.scratch_bytes;
      ir::Program copy = program; // translation does not know yet which phis of loops are uniform
      passes::uniformity(copy.main);
      for (ir::CalleeFunction& c : copy.callees) passes::uniformity(c.function);
      add_live(record, "translated", copy);
    } else if (stage == runtime::Stage::optimised) {
      add_live(record, "after", program);
      record.metrics["selects.after"] = static_cast<double>(count_selects(program));
      record.metrics["loops"] = static_cast<double>(count_loops(program));
    }
  };
}

Expected<ShaderRecord> measure(const container::ShaderBinary& binary, const container::Kernel& kernel,
                               const MeasureOptions& options) {
  ShaderRecord record;
  runtime::CompileOptions compile = options.compile;
  compile.explain = true;
  compile.look = looking_at(record, binary, kernel);
  const auto compiled = runtime::compile(binary, kernel, compile);
  if (!compiled) return std::unexpected(compiled.error());
  add_compiled(record, *compiled);
  if (!options.bounds) return record;
  compile = options.compile;
  compile.without.emplace_back("exec_select");
  const auto before = runtime::optimised_program(binary, kernel, compile);
  if (!before) return std::unexpected(before.error());
  add_live(record, "before", *before);
  const auto bound =
      runtime::optimised_program(binary, kernel, options.compile, runtime::InactiveLanes::overwritten);
  if (!bound) return std::unexpected(bound.error());
  add_live(record, "bound", *bound);
  record.metrics["selects.bound"] = static_cast<double>(count_selects(*bound));
  return record;
}

std::string to_text(const ShaderRecord& record) {
  const auto n = [&](const std::string& metric) {
    const auto it = record.metrics.find(metric);
    return it == record.metrics.end() ? 0.0 : it->second;
  };
  const bool bounds = record.metrics.contains("live_lane.bound");
  const auto live = [&](const char* kind) {
    const std::string k = kind;
    return bounds ? fmt::format("{:g} -> {:g} -> {:g} (bound {:g})", n(k + ".translated"), n(k + ".before"),
                                n(k + ".after"), n(k + ".bound"))
                  : fmt::format("{:g} -> {:g}", n(k + ".translated"), n(k + ".after"));
  };
  std::string text = fmt::format("{} - {} @{}: wave{:g} on {:g} invocations\n", record.name, record.stage,
                                 record.target, n("wave_size"), n("host_lanes"));
  text += fmt::format("  guest     {:g} instructions", n("guest.instructions"));
  for (size_t k = 0; k < kGuestKinds; ++k) {
    const std::string_view kind = name(static_cast<GuestKind>(k));
    if (const double count = n(fmt::format("guest.{}", kind)); count != 0)
      text += fmt::format(", {:g} {}", count, kind);
  }
  if (n("guest.functions") != 0) text += fmt::format("; {:g} functions called", n("guest.functions"));
  text += fmt::format("\n  live      per lane {}, masks {}, uniform {}\n", live("live_lane"),
                      live("live_mask"), live("live_uniform"));
  text += fmt::format("  selects   {:g} found, {:g} dropped", n("selects.found"), n("selects.dropped"));
  std::string kept;
  for (const passes::KeptReason r : passes::kKeptReasons)
    if (const double count = n(fmt::format("selects.kept.{}", passes::name(r))); count != 0)
      kept += fmt::format("{}{:g} {}", kept.empty() ? "" : ", ", count, passes::name(r));
  text += kept.empty() ? "" : fmt::format("; kept: {}", kept);
  text += fmt::format("; {:g} masks dropped\n", n("selects.masks_dropped"));
  text += fmt::format("  values    {:g} -> {:g} -> {:g}, {:g} loops\n", n("values.translated"),
                      n("values.optimised"), n("values.lowered"), n("loops"));
  text += fmt::format("  SPIR-V    {:g} words\n", n("spirv_words"));
  text += fmt::format("  time      {:.1f} us: translate {:.1f}, passes {:.1f}, lower {:.1f}, emit {:.1f}\n",
                      n("time_us.total"), n("time_us.translate"), n("time_us.passes"), n("time_us.lower"),
                      n("time_us.emit"));
  return text;
}

} // namespace lanewise::report
