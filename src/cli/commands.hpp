// The subcommands. Each lives in one file, adds itself to the CLI11 application and, when it is called,
// stores its exit status: 0 done, 1 the input is at fault, 2 the call is at fault, 3 a check failed.
#pragma once

#include <array>

namespace CLI {
class App;
}

namespace lanewise::cli {

using AddCommand = void (*)(CLI::App&, int& status);

void add_compare(CLI::App& app, int& status);
void add_dis(CLI::App& app, int& status);
void add_run(CLI::App& app, int& status);
void add_v3d(CLI::App& app, int& status);

/// In the order of the help text.
inline constexpr AddCommand commands[]{
    add_dis,
    add_run,
    add_compare,
    add_v3d,
};

} // namespace lanewise::cli
