#include "passes/pipeline.hpp"

#include "ir/verifier.hpp"
#include "passes/passes.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace lanewise::passes {
namespace {

using Run = Expected<bool> (*)(ir::Function&);

template <bool (*pass)(ir::Function&)>
Expected<bool> always(ir::Function& f) {
  return pass(f);
}

struct Pass {
  std::string_view name;
  Run run;
};

/// What runs, in order. Each later row profits from the ones before it; see docs/passes.md for why.
constexpr std::array kPasses{
    Pass{"cfg_cleanup", always<cfg_cleanup>},   Pass{"uniformity", always<uniformity>},
    Pass{"simplify", always<simplify>},         Pass{"lower_buffers", lower_buffers},
    Pass{"resolve_flat", always<resolve_flat>}, Pass{"mask_phis", always<mask_phis>},
    Pass{"dead_code", always<dead_code>},       Pass{"uniformity", always<uniformity>},
    Pass{"simplify", always<simplify>},         Pass{"cfg_cleanup", always<cfg_cleanup>},
    Pass{"dead_code", always<dead_code>},
};

} // namespace

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const Pass& p : kPasses) names.push_back(p.name);
  return names;
}

Expected<PipelineReport> run(ir::Function& f, const PipelineOptions& options) {
  using Clock = std::chrono::steady_clock;
  PipelineReport report;
  if (!options.last.empty() && std::ranges::find(kPasses, options.last, &Pass::name) == kPasses.end()) {
    return fail(ErrorKind::call, "there is no pass '" + std::string(options.last) + "'");
  }
  for (size_t i = 0; i < kPasses.size(); ++i) {
    const Pass& pass = kPasses[i];
    const auto start = Clock::now();
    const auto changed = pass.run(f);
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
