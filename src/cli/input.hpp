// What every subcommand does with its input file, its errors and its exit status.
#pragma once

#include "container/shader_binary.hpp"
#include "support/error.hpp"

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lanewise::cli {

class Command;

/// The command's exit status.
inline constexpr int exit_done = 0, exit_input_at_fault = 1, exit_call_at_fault = 2, exit_check_failed = 3;

/// Input, unsupported and limit are the input's fault; call and system the call's; check is a failed check.
[[nodiscard]] int exit_status(ErrorKind kind);

/// Prints "lanewise: WHERE: WHAT (HINT)" to standard error, coloured on a terminal, and returns the exit
/// status.
int report(const Error& error);

struct InputOptions {
  std::string file;   ///< "-" is standard input
  std::string target; ///< of an offload bundle: "gfx1031" or a whole entry ID
};

/// Adds the positional FILE and `--target` to a subcommand.
void add_input(Command& command, InputOptions& options);

/// The bytes of a file, or of standard input for "-". Errors: system, limit.
[[nodiscard]] Expected<std::vector<uint8_t>> read_input(const std::string& file);

/// Reads and loads the input (container::load).
[[nodiscard]] Expected<container::ShaderBinary> load_input(const InputOptions& options);

/// Kernels by name in the order of `names`; all of them when `names` is empty. A name that does not exist is
/// an error (call) that lists those that do.
[[nodiscard]] Expected<std::vector<const container::Kernel*>>
pick_kernels(const container::ShaderBinary& binary, std::span<const std::string> names);

/// The kernel of that name; with an empty name the only one. Errors (call) list the kernels there are.
[[nodiscard]] Expected<const container::Kernel*> pick_kernel(const container::ShaderBinary& binary,
                                                             const std::string& name);

/// Writes to a file, or to standard output for "-". Errors: system.
[[nodiscard]] Expected<void> write_output(const std::string& file, std::string_view bytes);

/// Whether to colour what goes to this stream: it is a terminal and NO_COLOR is not set.
[[nodiscard]] bool use_colour(std::FILE* stream);

/// A name out of a file made safe for a terminal and a comment: control characters become '?'.
[[nodiscard]] std::string printable(std::string_view name);

} // namespace lanewise::cli
