#include "cli/select_trial.hpp"

#include "passes/pipeline.hpp"
#include "runtime/execute.hpp"
#include "translate/translate.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::cli {
namespace {

using ir::Value;

/// Instructions that a launch may take, as a multiple of what the whole program takes: without one of its
/// selects a loop may not end.
constexpr uint64_t kSlack = 4;

using Memory = std::vector<std::vector<uint8_t>>;

struct Run {
  Memory memory;
  uint64_t instructions = 0;
};

Expected<Run> run(const runtime::Launch& launch, const ir::Function& f, uint64_t limit) {
  runtime::Launch copy = launch;
  runtime::ExecuteOptions options;
  if (limit != 0) options.max_instructions = limit;
  const auto report = runtime::run_on_interpreter(copy, f, options);
  if (!report) return std::unexpected(report.error());
  Run r{.instructions = report->instructions};
  for (auto& b : copy.buffers) r.memory.push_back(std::move(b.contents));
  return r;
}

/// The program that exec_select gets.
Expected<ir::Function> before_exec_select(const container::ShaderBinary& binary,
                                          const container::Kernel& kernel) {
  auto f = translate::translate(binary, kernel);
  if (!f) return f;
  std::optional<ir::Function> wanted;
  passes::PipelineOptions options{.last = "exec_select"};
  options.after = [&](std::string_view pass, size_t, const ir::Function& now) {
    if (pass != "exec_select") wanted = now;
  };
  if (auto ok = passes::run(*f, options); !ok) return std::unexpected(ok.error());
  return wanted ? std::move(*wanted) : std::move(*f);
}

std::vector<Value> selects_of(const ir::Function& f) {
  std::vector<Value> list;
  for (const auto& b : f.blocks)
    for (const Value v : b.instructions)
      if (f[v].op == ir::Op::select && !f[v].uniform) list.push_back(v);
  return list;
}

ir::Function without(const ir::Function& f, Value select) {
  ir::Function g = f;
  const Value by = f.operand(select, 1);
  for (auto& b : g.blocks)
    for (const Value v : b.instructions)
      for (Value& o : g.operands(v))
        if (o == select) o = by;
  return g;
}

} // namespace

Expected<SelectTrial> try_selects(const container::ShaderBinary& binary, const container::Kernel& kernel,
                                  const MakeLaunch& make, unsigned launches, unsigned most) {
  auto f = before_exec_select(binary, kernel);
  if (!f) return std::unexpected(f.error());
  std::vector<runtime::Launch> inputs;
  std::vector<Run> expected;
  for (unsigned i = 0; i < launches; ++i) {
    auto launch = make(i);
    if (!launch) return std::unexpected(launch.error());
    auto result = run(*launch, *f, 0);
    if (!result) continue; // an access outside its buffers, say: no input for this kernel
    inputs.push_back(std::move(*launch));
    expected.push_back(std::move(*result));
  }
  if (inputs.empty()) return fail(ErrorKind::unsupported, "no generated launch runs", kernel.name);

  ir::Function optimised = *f;
  const auto decided = passes::exec_select(optimised, {.explain = true});
  std::vector<bool> kept(f->value_count());
  for (const auto& k : decided.kept) kept[k.select.index] = true;

  SelectTrial trial;
  const auto selects = selects_of(*f);
  trial.selects = static_cast<unsigned>(selects.size());
  const size_t step = std::max<size_t>(1, (selects.size() + most - 1) / most);
  for (size_t i = 0; i < selects.size(); i += step) {
    ++trial.tried;
    const ir::Function variant = without(*f, selects[i]);
    bool same = true;
    for (size_t l = 0; l < inputs.size() && same; ++l) {
      const auto got = run(inputs[l], variant, kSlack * expected[l].instructions + 100000);
      same = got && got->memory == expected[l].memory;
    }
    const bool dropped = !kept[selects[i].index];
    trial.droppable += same;
    trial.dropped += same && dropped;
  }
  for (size_t l = 0; l < inputs.size(); ++l) {
    const auto got = run(inputs[l], optimised, kSlack * expected[l].instructions + 100000);
    trial.wrong += !got || got->memory != expected[l].memory;
  }
  return trial;
}

} // namespace lanewise::cli
