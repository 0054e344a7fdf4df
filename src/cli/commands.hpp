// The subcommands. Each lives in one file, adds itself to the CLI11 application and, when it is called,
// stores its exit status: 0 done, 1 the input is at fault, 2 the call is at fault, 3 a check failed.
#pragma once

#include <array>

namespace CLI {
class App;
}

namespace lanewise::cli {

using AddCommand = void (*)(CLI::App&, int& status);

void add_dis(CLI::App& app, int& status);
void add_ir(CLI::App& app, int& status);

inline constexpr std::array<AddCommand, 2> commands{add_dis, add_ir};

} // namespace lanewise::cli
