// lanewise explore: one page for one kernel.
#include "report/explore.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "cli/target_options.hpp"

#include <memory>

namespace lanewise::cli {
namespace {

struct ExploreCommand {
  InputOptions input;
  std::string kernel, output;
  TargetOptions target;
};

Expected<void> explore(const ExploreCommand& command) {
  auto compile = compile_options(command.target);
  if (!compile) return std::unexpected(compile.error());
  auto binary = load_input(command.input);
  if (!binary) return std::unexpected(binary.error());
  auto kernel = pick_kernel(*binary, command.kernel);
  if (!kernel) return std::unexpected(kernel.error());
  const auto data = report::explore(*binary, **kernel, {std::move(*compile), true});
  if (!data) return std::unexpected(data.error());
  return write_output(command.output, report::to_html(*data));
}

} // namespace

void add_explore(Command& root, int& status) {
  auto options = std::make_shared<ExploreCommand>();
  Command command = root.add(
      "explore", "Write a page that shows a kernel: machine code, IR and SPIR-V, masks, live values");
  command.footer("The page is one file that needs no network; any browser opens it.\n\n"
                 "  lanewise explore saxpy.co -o saxpy.html");
  add_input(command, options->input);
  command.text("--kernel", options->kernel, "which kernel; may be left out if the file has only one");
  command.text("-o,--output", options->output, "file to write, - for standard output").required();
  add_target_options(command, options->target);
  command.run(status, [options] {
    auto done = explore(*options);
    return done ? exit_done : report(done.error());
  });
}

} // namespace lanewise::cli
