// The options of a subcommand that compiles which say what the passes do.
#pragma once

#include "runtime/compile.hpp"

#include <string>
#include <vector>

namespace lanewise::cli {

class Command;

/// What they say.
struct PassOptions {
  std::vector<std::string> without;
  std::string calls = "by-cost";
  [[nodiscard]] runtime::Calls call_form() const;
};

/// Adds --without and --calls.
void add_pass_options(Command& command, PassOptions& options);
/// Adds --without.
void add_without(Command& command, std::vector<std::string>& without);

} // namespace lanewise::cli
