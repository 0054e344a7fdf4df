#include "cli/pass_options.hpp"

#include "cli/command.hpp"
#include "passes/pipeline.hpp"

namespace lanewise::cli {

namespace {
constexpr const char* by_cost = "by-cost";
constexpr const char* inlined = "inlined";
constexpr const char* functions = "functions";
} // namespace

runtime::Calls PassOptions::call_form() const {
  return calls == inlined     ? runtime::Calls::inlined
         : calls == functions ? runtime::Calls::functions
                              : runtime::Calls::by_cost;
}

void add_pass_options(Command& command, PassOptions& options) {
  add_without(command, options.without);
  command
      .text("--calls", options.calls, "callees become functions of the module: by-cost, inlined or functions")
      .one_of({by_cost, inlined, functions})
      .show_default();
}

void add_without(Command& command, std::vector<std::string>& without) {
  const auto optional = passes::optional_pass_names();
  command.list("--without", without, "leave this pass out, wherever it runs; may be repeated, or with commas")
      .one_of({optional.begin(), optional.end()})
      .commas();
}

} // namespace lanewise::cli
