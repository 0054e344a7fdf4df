// lanewise check --prove: nothing runs, the solver has to agree.
#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/check.hpp"
#include "passes/diverge.hpp"
#include "passes/passes.hpp"
#include "passes/pipeline.hpp"
#include "spirv/wave_lowering.hpp"
#include "translate/translate.hpp"

namespace lanewise::cli {

namespace {

/// Lanes taking branches of their own, each invocation carrying one lane: diverge's conversions as
/// obligations.
Expected<passes::DivergeResult> prove_diverge(const ir::Function& function, const container::Kernel& kernel) {
  const spirv::Seating seating{function.wave_size, function.wave_size,
                               kernel.required_workgroup_size.value_or(std::array<uint32_t, 3>{64, 1, 1})};
  auto lowered = spirv::lower_waves(function, {.seating = seating, .partial = {true, true, true}});
  if (!lowered) return std::unexpected(lowered.error());
  passes::simplify(*lowered);
  passes::dead_code(*lowered);
  return passes::diverge(*lowered, {.reconverges = true, .prove = true});
}

} // namespace

Expected<bool> prove_one(const CheckCommand& command, const container::ShaderBinary& binary,
                         const container::Kernel& kernel) {
  auto function = translate::translate(binary, kernel);
  if (!function) return std::unexpected(function.error());
  passes::PipelineOptions options{.without = command.passes.without};
  options.exec_select.prove = true;
  const auto result = passes::run(*function, options);
  if (!result) return std::unexpected(result.error());
  passes::DivergeResult diverged;
  if (std::ranges::find(command.passes.without, passes::kDiverge) == command.passes.without.end()) {
    auto d = prove_diverge(*function, kernel);
    if (!d) return std::unexpected(d.error());
    diverged = std::move(*d);
  }
  const auto& selects = result->exec_select;
  auto proof = selects.proof;
  proof += diverged.proof;
  const bool passed = proof.failures.empty() && proof.proved == proof.total();
  if (command.json) {
    std::cout << nlohmann::ordered_json{{"kernel", kernel.name},
                                        {"passed", passed},
                                        {"selects", selects.selects},
                                        {"dropped", selects.dropped},
                                        {"regions", diverged.regions},
                                        {"loops", diverged.loops},
                                        {"obligations",
                                         {{"facts", proof.facts},
                                          {"flow", proof.flow},
                                          {"selects", proof.selects},
                                          {"masks", proof.masks},
                                          {"regions", proof.regions}}},
                                        {"proved", proof.proved},
                                        {"seconds", proof.seconds}}
                     .dump()
              << '\n';
    return passed;
  }
  std::cout << fmt::format("{}: {} of {} selects dropped, {} regions and {} loops diverged; {} obligations "
                           "({} facts, {} flow, {} selects, "
                           "{} masks, {} regions), {} proved, {:.3f} s{}\n",
                           printable(kernel.name), selects.dropped, selects.selects, diverged.regions,
                           diverged.loops, proof.total(), proof.facts, proof.flow, proof.selects, proof.masks,
                           proof.regions, proof.proved, proof.seconds, passed ? "" : ": NOT all proved");
  for (const auto& f : selects.proof.failures)
    std::cout << fmt::format("  pc {:#x}: {}{}\n", (*function)[f.value].pc, f.what,
                             f.refuted ? " (counterexample)" : " (not decided)");
  for (const auto& f : diverged.proof.failures)
    std::cout << fmt::format("  diverge: {}{}\n", f.what, f.refuted ? " (counterexample)" : " (not decided)");
  return passed;
}

} // namespace lanewise::cli
