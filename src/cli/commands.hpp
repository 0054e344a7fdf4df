// The subcommands. Each lives in one file, adds itself to the command and, when it is called,
// stores its exit status: 0 done, 1 the input is at fault, 2 the call is at fault, 3 a check failed.
#pragma once

namespace lanewise::cli {

class Command;

using AddCommand = void (*)(Command&, int& status);

void add_cache(Command& root, int& status);
void add_cfg(Command& root, int& status);
void add_check(Command& root, int& status);
void add_compare(Command& root, int& status);
void add_compile(Command& root, int& status);
void add_dis(Command& root, int& status);
void add_explore(Command& root, int& status);
void add_ir(Command& root, int& status);
void add_reduce(Command& root, int& status);
void add_replay(Command& root, int& status);
void add_run(Command& root, int& status);
void add_stats(Command& root, int& status);
void add_v3d(Command& root, int& status);

/// In the order of the help text.
inline constexpr AddCommand commands[]{
    add_dis,
    add_cfg,
    add_ir,
    add_compile,
    add_run,
    add_check,
    add_stats,
    add_explore,
    add_compare,
    add_replay,
    add_reduce,
    add_cache,
    add_v3d,
};

} // namespace lanewise::cli
