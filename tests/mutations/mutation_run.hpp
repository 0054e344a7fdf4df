// One kernel of machine code, and what the emulator, the IR interpreter and a Vulkan device leave in its
// output.
#pragma once

#include "calls/kernel.hpp"
#include "runtime/compile.hpp"
#include "runtime/execute.hpp"
#include "runtime/vulkan_device.hpp"
#include "translate/translate.hpp"

#include <gtest/gtest.h>

namespace lanewise::tests {

/// 64 work-items in groups of `group`. The output starts with each word's own index.
class MutationRun {
 public:
  explicit MutationRun(container::ShaderBinary binary, uint32_t group = calls::items)
      : binary_(std::move(binary)), group_(group) {
    runtime::Launch l = launch();
    const auto done = runtime::run_on_emulator(l);
    EXPECT_TRUE(done) << done.error().to_string();
    if (done) expected = calls::words(l.buffers[0]);
  }
  std::vector<uint32_t> expected; ///< of the emulator

  [[nodiscard]] ir::Function translated() const {
    auto f = translate::translate(binary_, binary_.kernels.front(), {.full_waves = group_ % 32 == 0});
    EXPECT_TRUE(f) << f.error().to_string();
    return f ? std::move(*f) : ir::Function{};
  }

  /// Empty when the run fails, which is no other output. `host_lanes` as in ExecuteOptions.
  [[nodiscard]] std::vector<uint32_t> interpreted(const ir::Function& f, unsigned host_lanes = 0) const {
    runtime::Launch l = launch();
    const auto done = runtime::run_on_interpreter(l, f, {.host_invocations = host_lanes});
    EXPECT_TRUE(done) << done.error().to_string();
    return done ? calls::words(l.buffers[0]) : std::vector<uint32_t>{};
  }

  static runtime::VulkanDevice* device() {
    static auto opened = runtime::VulkanDevice::open({});
    return opened ? opened->get() : nullptr;
  }

  [[nodiscard]] std::vector<uint32_t> on_device(ir::Function f) const {
    const auto compiled = runtime::compile_program({.main = std::move(f)}, binary_.kernels.front(),
                                                   runtime::compile_options(launch(), *device()));
    EXPECT_TRUE(compiled) << compiled.error().to_string();
    return compiled ? dispatched(*compiled) : std::vector<uint32_t>{};
  }

  /// A program that is at invocation level already.
  [[nodiscard]] std::vector<uint32_t> lowered_on_device(const ir::Function& f,
                                                        const spirv::Seating& seating) const {
    const auto options = runtime::compile_options(launch(), *device());
    auto module = spirv::emit(f, {.seating = seating, .device = options.host.device});
    EXPECT_TRUE(module) << module.error().to_string();
    if (!module) return {};
    runtime::CompiledKernel kernel;
    kernel.module = std::move(*module);
    kernel.seating = seating;
    return dispatched(kernel);
  }

 private:
  [[nodiscard]] std::vector<uint32_t> dispatched(const runtime::CompiledKernel& kernel) const {
    runtime::Launch l = launch();
    const auto done = runtime::run_on_vulkan(l, *device(), kernel);
    EXPECT_TRUE(done) << done.error().to_string();
    return done ? calls::words(l.buffers[0]) : std::vector<uint32_t>{};
  }
  [[nodiscard]] runtime::Launch launch() const {
    runtime::Launch l = calls::launch_of(binary_);
    l.block = {group_, 1, 1};
    for (uint32_t i = 0; i < calls::items; ++i) l.buffers[0].contents[4 * i] = static_cast<uint8_t>(i);
    return l;
  }

  container::ShaderBinary binary_;
  uint32_t group_;
};

} // namespace lanewise::tests
