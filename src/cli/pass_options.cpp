#include "cli/pass_options.hpp"

#include "cli/command.hpp"
#include "passes/pipeline.hpp"

namespace lanewise::cli {

void add_without(Command& command, std::vector<std::string>& without) {
  const auto optional = passes::optional_pass_names();
  command.list("--without", without, "leave this pass out, wherever it runs; may be repeated, or with commas")
      .one_of({optional.begin(), optional.end()})
      .commas();
}

} // namespace lanewise::cli
