// What the tests of this room share: from IR to a validated module, and a device to run it on.
#pragma once

#include <gtest/gtest.h>

#include <spirv-tools/libspirv.hpp>

#include "ir/builder.hpp"
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "runtime/float_probe.hpp"
#include "runtime/vulkan_runner.hpp"
#include "spirv/emit.hpp"
#include "spirv/wave_lowering.hpp"

namespace lanewise::spirv::test {

inline std::string validate(std::span<const uint32_t> words) {
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_3);
  std::string messages;
  tools.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t& at, const char* m) {
    messages += std::to_string(at.index) + ": " + m + "\n";
  });
  if (!tools.Validate(words.data(), words.size()) && messages.empty()) messages = "invalid";
  return messages;
}

inline std::string disassemble(std::span<const uint32_t> words) {
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_3);
  std::string text;
  tools.Disassemble(std::vector<uint32_t>(words.begin(), words.end()), &text,
                    SPV_BINARY_TO_TEXT_OPTION_NO_HEADER);
  return text;
}

/// Lowers and emits; an invalid module or an error is a test failure and gives an empty module.
inline EmittedModule build(const ir::Function& f, const EmitOptions& options, bool partial = false) {
  const auto lowered = lower_waves(f, {options.seating, {partial, partial, partial}});
  if (!lowered) {
    ADD_FAILURE() << lowered.error().to_string();
    return {};
  }
  auto module = emit(*lowered, options);
  if (!module) {
    ADD_FAILURE() << module.error().to_string() << "\n" << ir::print(f);
    return {};
  }
  const std::string messages = validate(module->words);
  if (!messages.empty()) {
    ADD_FAILURE() << messages << ir::print(*lowered).substr(0, 4000)
                  << disassemble(module->words).substr(0, 8000);
    return {};
  }
  return std::move(*module);
}

inline ir::Function parse(const std::string& text) {
  auto f = ir::parse(text);
  if (!f) ADD_FAILURE() << f.error().to_string();
  return f ? std::move(*f) : ir::Function();
}

/// The first device, or none with a reason.
class Device {
 public:
  static Device& get() {
    static Device d;
    return d;
  }
  [[nodiscard]] runtime::VulkanDevice* device() { return device_.get(); }
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] DeviceTraits traits() const {
    DeviceTraits t;
    if (!device_) return t;
    static const auto exact = runtime::probe_exact_rounding(*device_);
    t.exact_rounding = exact;
    const auto& fc = device_->info().float_controls;
    t.floats.denorm_preserve = {fc.shaderDenormPreserveFloat16 != 0, fc.shaderDenormPreserveFloat32 != 0,
                                fc.shaderDenormPreserveFloat64 != 0};
    t.floats.round_nearest_even = {fc.shaderRoundingModeRTEFloat16 != 0, fc.shaderRoundingModeRTEFloat32 != 0,
                                   fc.shaderRoundingModeRTEFloat64 != 0};
    t.floats.signed_zero_inf_nan_preserve = {fc.shaderSignedZeroInfNanPreserveFloat16 != 0,
                                             fc.shaderSignedZeroInfNanPreserveFloat32 != 0,
                                             fc.shaderSignedZeroInfNanPreserveFloat64 != 0};
    return t;
  }
  [[nodiscard]] unsigned subgroup_size() const { return device_ ? device_->info().subgroup_size : 8; }

 private:
  Device() {
    auto opened = runtime::VulkanDevice::open({.device = {}, .validation = false});
    if (opened)
      device_ = std::move(*opened);
    else
      reason_ = opened.error().to_string();
  }
  std::unique_ptr<runtime::VulkanDevice> device_;
  std::string reason_;
};

/// Runs `groups` workgroups: kernarg_ptr is the address of `in`, dispatch_ptr that of `out`.
inline bool run(const EmittedModule& m, std::span<const uint8_t> in, std::span<uint8_t> out,
                uint32_t groups) {
  auto& device = *Device::get().device();
  const auto report = [](const Error& e) {
    ADD_FAILURE() << e.to_string();
    return false;
  };
  auto input = runtime::DeviceBuffer::create(device, in.size());
  if (!input) return report(input.error());
  auto output = runtime::DeviceBuffer::create(device, out.size());
  if (!output) return report(output.error());
  std::ranges::copy(in, input->host().begin());
  std::ranges::copy(out, output->host().begin());
  auto pipeline = runtime::ComputePipeline::create(device, m.words, {.subgroup_size = m.subgroup_size});
  if (!pipeline) return report(pipeline.error());
  runtime::DispatchRequest request;
  request.block.kernarg_ptr = input->address();
  request.block.dispatch_ptr = output->address();
  const std::array parts{runtime::DispatchRequest::Part{&*pipeline, {}, {groups, 1, 1}}};
  request.parts = parts;
  const std::array<const runtime::DeviceBuffer*, 2> buffers{&*input, &*output};
  request.buffers = buffers;
  const auto done = runtime::dispatch(device, request);
  if (!done) return report(done.error());
  std::ranges::copy(output->host(), out.begin());
  return true;
}

} // namespace lanewise::spirv::test
