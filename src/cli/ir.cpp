// lanewise ir: the IR of a kernel as text, after translation and after each pass.
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "cli/pass_options.hpp"
#include "ir/printer.hpp"
#include "passes/linearize.hpp"
#include "passes/passes.hpp"
#include "passes/pipeline.hpp"
#include "runtime/compile.hpp"
#include "translate/translate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace lanewise::cli {
namespace {

/// Names for --after beside those of the passes: before all of them, and behind all of them.
constexpr std::string_view kTranslate = "translate", kAll = "all";
/// Behind all passes of waves: what one host invocation does, each lane on one of its own.
constexpr std::array<std::string_view, 3> kInvocation{"lower_waves", "diverge", "linearize"};

struct IrOptions {
  InputOptions input;
  std::vector<std::string> kernels, without;
  std::string after{kAll};
  bool times = false, full = false, separate = false;
};

/// Comment lines, one a pass.
std::string times_of(const passes::PipelineReport& report) {
  std::string text;
  double sum = 0;
  for (const passes::PassTime& p : report.passes) {
    text += fmt::format("; {:<14} {:9.1f} us{}\n", p.pass, p.microseconds, p.changed ? "" : "  (no change)");
    sum += p.microseconds;
  }
  return text + fmt::format("; {:<14} {:9.1f} us\n", "together", sum);
}

/// What one of the invocations does that carry a lane each, up to a stage of kInvocation.
Expected<ir::Function> on_invocations(const container::ShaderBinary& binary, const container::Kernel& kernel,
                                      const IrOptions& asked) {
  runtime::CompileOptions options;
  const std::string_view last = asked.after;
  std::vector<std::string> without = asked.without;
  if (asked.full) options.partial_workgroups = {};
  options.separate_buffers = asked.separate;
  options.host.subgroup_size = kernel.descriptor.wave32 ? 32 : 64;
  options.host.subgroup_operations = options.host.device.reconverges = true;
  options.calls = runtime::Calls::inlined;
  if (last == kInvocation[0]) without.emplace_back(passes::kDiverge);
  options.without = std::move(without);
  auto program = runtime::lowered_program(binary, kernel, options);
  if (!program) return std::unexpected(program.error());
  ir::Function& f = program->main;
  if (last == kInvocation[2]) {
    if (auto ok = passes::linearize(f); !ok) return std::unexpected(ok.error());
    passes::simplify(f);
    passes::cfg_cleanup(f);
    passes::dead_code(f);
  }
  return std::move(f);
}

/// The kernel as its waves run it.
Expected<ir::Function> of_waves(const container::ShaderBinary& binary, const container::Kernel& kernel,
                                const IrOptions& options, std::string& text) {
  auto function = translate::translate(binary, kernel);
  if (!function || options.after == kTranslate) return function;
  passes::PipelineOptions pipeline{.verify = true, .without = options.without};
  if (options.after != kAll) pipeline.last = options.after;
  const auto result = passes::run(*function, pipeline);
  if (!result) return std::unexpected(result.error());
  if (options.times) text += times_of(*result);
  return function;
}

Expected<std::string> text_of(const IrOptions& options) {
  const bool invocations = std::ranges::find(kInvocation, options.after) != kInvocation.end();
  if (invocations && options.times)
    return fail(ErrorKind::call, fmt::format("--times has none of '{}'", options.after), {},
                "lanewise compile --stats has the time of wave lowering");
  auto binary = load_input(options.input);
  if (!binary) return std::unexpected(binary.error());
  auto kernels = pick_kernels(*binary, options.kernels);
  if (!kernels) return std::unexpected(kernels.error());
  std::string text;
  for (const container::Kernel* kernel : *kernels) {
    const auto function =
        invocations ? on_invocations(*binary, *kernel, options) : of_waves(*binary, *kernel, options, text);
    if (!function) return std::unexpected(function.error());
    text += ir::print(*function);
  }
  return text;
}

int run(const IrOptions& options) {
  auto text = text_of(options);
  if (!text) return report(text.error());
  if (auto written = write_output("-", *text); !written) return report(written.error());
  return exit_done;
}

} // namespace

void add_ir(Command& root, int& status) {
  auto options = std::make_shared<IrOptions>();
  Command command = root.add("ir", "Print a kernel's IR as text");
  add_input(command, options->input);
  command.list("--kernel", options->kernels, "print only this kernel; may be repeated");
  std::vector<std::string> names{std::string(kTranslate), std::string(kAll)};
  for (const std::string_view name : passes::pass_names()) {
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  }
  for (const std::string_view name : kInvocation) names.emplace_back(name);
  command
      .text("--after", options->after,
            "stop behind the first pass of this name; lower_waves, diverge and linearize run behind all "
            "others, with "
            "each lane on an invocation of its own")
      .one_of(names)
      .show_default();
  add_without(command, options->without);
  command.flag("--full", options->full, "on invocations: every grid is a multiple of the block");
  command.flag("--separate", options->separate, "on invocations: buffers given as arguments do not overlap");
  command.flag("--times", options->times, "print how long each pass took, as comments");
  command.run(status, [options] { return run(*options); });
}

} // namespace lanewise::cli
