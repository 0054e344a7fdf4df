// The `lanewise` command.
#include "cli/command.hpp"
#include "cli/heap.hpp"

int main(int argc, char** argv) {
  lanewise::cli::prepare_heap();
  return lanewise::cli::run_command_line(argc, argv);
}
