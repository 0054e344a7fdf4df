#include "cli/pass_options.hpp"

#include "cli/command.hpp"
#include "passes/pipeline.hpp"

namespace lanewise::cli {

runtime::Calls CallForm::value() const {
  if (text == "inlined") return runtime::Calls::inlined;
  return text == "functions" ? runtime::Calls::functions : runtime::Calls::by_cost;
}

void add_calls(Command& command, CallForm& calls) {
  command
      .text("--calls", calls.text,
            "which callees are functions of the module: by-cost, inlined (none) or functions (all)")
      .one_of({"by-cost", "inlined", "functions"})
      .show_default();
}

void add_pass_options(Command& command, PassOptions& options) {
  add_without(command, options.without);
  add_calls(command, options.calls);
}

void add_without(Command& command, std::vector<std::string>& without) {
  const auto optional = passes::optional_pass_names();
  command.list("--without", without, "leave this pass out, wherever it runs; may be repeated, or with commas")
      .one_of({optional.begin(), optional.end()})
      .commas();
}

} // namespace lanewise::cli
