// The `lanewise` command.
#include "cli/command.hpp"
#include "cli/heap.hpp"
#include "runtime/vulkan_device.hpp"

#include <cstdio>
#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
  lanewise::cli::prepare_heap();
  const int status = lanewise::cli::run_command_line(argc, argv);
  if (lanewise::runtime::VulkanDevice::any_abandoned()) {
    std::cout.flush();
    std::fflush(nullptr);
    std::_Exit(status); // the driver may be at work in what exit() takes down
  }
  return status;
}
