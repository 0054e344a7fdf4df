// The `lanewise` command.
#include "cli/command.hpp"

int main(int argc, char** argv) { return lanewise::cli::run_command_line(argc, argv); }
