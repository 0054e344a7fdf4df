#include "passes/pipeline.hpp"

#include "ir/verifier.hpp"
#include "passes/passes.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace lanewise::passes {
namespace {

struct Context {
  const PipelineOptions& options;
  PipelineReport& report;
};

using Run = Expected<bool> (*)(ir::Function&, Context&);

template <bool (*pass)(ir::Function&)>
Expected<bool> always(ir::Function& f, Context&) {
  return pass(f);
}

template <Expected<bool> (*pass)(ir::Function&)>
Expected<bool> unless_refused(ir::Function& f, Context&) {
  return pass(f);
}

Expected<bool> drop_selects(ir::Function& f, Context& context) {
  context.report.exec_select = exec_select(f, context.options.exec_select);
  return context.report.exec_select.changed;
}

/// Scratch that became values brings constants to light, and branches on them.
template <bool (*pass)(ir::Function&)>
Expected<bool> behind_scratch_values(ir::Function& f, Context& context) {
  const auto& done = context.report.passes;
  const auto values = std::ranges::find(done, std::string_view("scratch_values"), &PassTime::pass);
  return values != done.end() && values->changed && pass(f);
}

enum class Need : uint8_t { optional, required };
using enum Need;

struct Pass {
  std::string_view name;
  Run run;
  Need need = optional; ///< required: what comes behind the pipeline relies on it
};

/// What runs, in order. Each later row profits from the ones before it; see docs/passes.md for why.
constexpr std::array kPasses{
    Pass{"cfg_cleanup", always<cfg_cleanup>},
    Pass{"dead_code", always<dead_code>},
    Pass{"uniformity", always<uniformity>, required},
    Pass{"simplify", always<simplify>},
    Pass{"lower_buffers", unless_refused<lower_buffers>, required},
    Pass{"resolve_flat", always<resolve_flat>},
    Pass{"scratch_values", always<scratch_values>},
    Pass{"lane_spills", always<lane_spills>},
    Pass{"simplify", behind_scratch_values<simplify>},
    Pass{"cfg_cleanup", behind_scratch_values<cfg_cleanup>},
    Pass{"wave_fences", always<wave_fences>},
    Pass{"mask_phis", always<mask_phis>},
    Pass{"dead_code", always<dead_code>},
    Pass{"exec_select", drop_selects},
    Pass{"unroll", always<unroll>},
    Pass{"uniformity", always<uniformity>, required},
    Pass{"simplify", always<simplify>},
    Pass{"cfg_cleanup", always<cfg_cleanup>},
    Pass{"dead_code", always<dead_code>},
};

Expected<void> check_names(const PipelineOptions& options) {
  const auto known = [](std::string_view name) {
    return std::ranges::find(kPasses, name, &Pass::name) != kPasses.end();
  };
  for (const std::string_view name : {options.last, options.before})
    if (!name.empty() && !known(name))
      return fail(ErrorKind::call, "there is no pass '" + std::string(name) + "'");
  for (const std::string& name : options.without) {
    if (name == kDiverge || name == kJumpThreading) continue;
    const auto pass = std::ranges::find(kPasses, std::string_view(name), &Pass::name);
    if (pass == kPasses.end()) return fail(ErrorKind::call, "there is no pass '" + name + "'");
    if (pass->need == required)
      return fail(ErrorKind::call, "pass '" + name + "' cannot be left out: later stages rely on it");
  }
  return {};
}

} // namespace

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const Pass& p : kPasses) names.push_back(p.name);
  return names;
}

std::vector<std::string_view> optional_pass_names() {
  std::vector<std::string_view> names;
  for (const Pass& p : kPasses)
    if (p.need == optional && std::ranges::find(names, p.name) == names.end()) names.push_back(p.name);
  names.push_back(kDiverge);
  names.push_back(kJumpThreading);
  return names;
}

std::vector<std::vector<std::string>> variants() {
  const auto names = optional_pass_names();
  std::vector<std::vector<std::string>> lists{{names.begin(), names.end()}};
  for (const auto name : names) {
    lists.push_back({std::string(name)});
    std::vector<std::string> others;
    for (const auto other : names)
      if (other != name) others.emplace_back(other);
    lists.push_back(std::move(others));
  }
  return lists;
}

Expected<PipelineReport> run(ir::Function& f, const PipelineOptions& options) {
  using Clock = std::chrono::steady_clock;
  PipelineReport report;
  if (auto ok = check_names(options); !ok) return std::unexpected(ok.error());
  Context context{options, report};
  for (size_t i = 0; i < kPasses.size(); ++i) {
    const Pass& pass = kPasses[i];
    if (pass.name == options.before) break;
    if (std::ranges::find(options.without, pass.name) != options.without.end()) continue;
    const auto start = Clock::now();
    const auto changed = pass.run(f, context);
    const std::chrono::duration<double, std::micro> time = Clock::now() - start;
    if (!changed) return std::unexpected(changed.error());
    report.passes.push_back({pass.name, time.count(), *changed});
    if (options.after) options.after(pass.name, i, f);
    if (options.verify) {
      if (auto ok = ir::verify(f); !ok) {
        ok.error().where = "after pass " + std::string(pass.name) + ", " + ok.error().where;
        return std::unexpected(std::move(ok.error()));
      }
    }
    if (pass.name == options.last) break;
  }
  return report;
}

} // namespace lanewise::passes
