// The passes in their order.
#pragma once

#include "ir/ir.hpp"
#include "passes/exec_select.hpp"
#include "support/error.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lanewise::passes {

struct PipelineOptions {
  /// Runs the verifier after every pass; an error names the pass.
  bool verify = false;
  /// Called after every pass that ran, with its name and place in the order.
  std::function<void(std::string_view pass, size_t index, const ir::Function&)> after;
  /// Stop behind the first pass of this name; empty = run all. An unknown name is an error.
  std::string_view last;
  /// Stop in front of the first pass of this name, likewise.
  std::string_view before;
  /// Passes that are left out. Those that later stages need cannot be; that, and an unknown name, is an
  /// error.
  std::vector<std::string> without;
  ExecSelectOptions exec_select;
};

struct PassTime {
  std::string_view pass;
  double microseconds = 0;
  bool changed = false;
};

struct PipelineReport {
  std::vector<PassTime> passes;
  ExecSelectResult exec_select; ///< its values are of the function, gone from blocks or not
};

/// Names in the order in which they run.
[[nodiscard]] std::vector<std::string_view> pass_names();
/// `diverge` (passes/diverge.hpp) and `jump_threading` are no rows of the pipeline: they run behind wave
/// lowering. `without` may hold it.
inline constexpr std::string_view kDiverge = "diverge", kJumpThreading = "jump_threading";
/// Names that `without` may hold, each once.
[[nodiscard]] std::vector<std::string_view> optional_pass_names();
/// Lists for `without`: all optional passes, each of them, all but each of them.
[[nodiscard]] std::vector<std::vector<std::string>> variants();

/// The program may only come from verified IR. Errors: `unsupported` from a pass that refuses the program,
/// `check` from the verifier, `call` for an unknown `last` or `without`.
[[nodiscard]] Expected<PipelineReport> run(ir::Function& f, const PipelineOptions& options = {});

} // namespace lanewise::passes
