// The `lanewise` command: parses nothing itself, each subcommand registers with CLI11 in its own file.
#include "cli/commands.hpp"

#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
  CLI::App app{"lanewise: lane-aware shader recompiler, RDNA2 machine code to SPIR-V", "lanewise"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "lanewise 0.1.0");
  int status = 0;
  for (auto add : lanewise::cli::commands) add(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  return status;
}
