// The options of a subcommand that compiles which say what the passes do.
#pragma once

#include "runtime/compile.hpp"

#include <string>
#include <vector>

namespace lanewise::cli {

class Command;

/// What --calls says.
struct CallForm {
  std::string text = "by-cost";
  [[nodiscard]] runtime::Calls value() const;
};
/// Adds --calls.
void add_calls(Command& command, CallForm& calls);

struct PassOptions {
  std::vector<std::string> without;
  CallForm calls;
};

/// Adds --without and --calls.
void add_pass_options(Command& command, PassOptions& options);
/// Adds --without.
void add_without(Command& command, std::vector<std::string>& without);

} // namespace lanewise::cli
