// The options of a subcommand that compiles which say what the passes do.
#pragma once

#include <string>
#include <vector>

namespace lanewise::cli {

class Command;

/// Adds --without.
void add_without(Command& command, std::vector<std::string>& without);

} // namespace lanewise::cli
