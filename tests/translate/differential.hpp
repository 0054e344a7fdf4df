// Running one program on the emulator and, translated, on the interpreter; random words and operands.
#pragma once

#include "ir/interpreter.hpp"
#include "passes/pipeline.hpp"
#include "program.hpp"
#include "rdna2/emulator.hpp"
#include "rdna2/opcode_info.hpp"
#include "translate/translate.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>

namespace lanewise::translate {

using Random = std::mt19937;
using Buffer = std::vector<uint8_t>;

inline constexpr unsigned lanes = 64; ///< work-items of a run

/// The interpreter's view of the emulator's memory.
class SharedMemory final : public ir::InterpreterMemory {
 public:
  explicit SharedMemory(rdna2::Memory& memory) : memory_(&memory) {}
  bool load(uint64_t address, unsigned bytes, uint64_t& value) override {
    const auto at = memory_->at(address);
    if (at.size() < bytes) return false;
    value = 0;
    std::memcpy(&value, at.data(), bytes);
    return true;
  }
  bool store(uint64_t address, unsigned bytes, uint64_t value) override {
    const auto at = memory_->at(address);
    if (at.size() < bytes) return false;
    std::memcpy(at.data(), &value, bytes);
    return true;
  }

 private:
  rdna2::Memory* memory_;
};

/// A dispatch of `grid` items in groups of `block`. The kernel's arguments are the addresses of input and
/// output.
struct Run {
  unsigned grid, block;
  Buffer input;
  size_t output_bytes;
  Buffer data; ///< a third buffer, which the program finds by addresses in its input
};

/// The buffers of a run in guest memory: at the same addresses every time.
struct Setting {
  rdna2::Memory memory;
  uint64_t in = 0, out = 0, kernarg = 0, data = 0;
  size_t output_bytes, data_bytes;
  explicit Setting(const Run& run) : output_bytes(run.output_bytes), data_bytes(run.data.size()) {
    in = memory.allocate(run.input.size(), "in");
    out = memory.allocate(run.output_bytes, "out");
    kernarg = memory.allocate(64, "kernarg");
    data = memory.allocate(run.data.size(), "data");
    std::ranges::copy(run.input, memory.at(in).begin());
    std::ranges::copy(run.data, memory.at(data).begin());
    const std::array<uint64_t, 2> arguments{in, out};
    std::memcpy(memory.at(kernarg).data(), arguments.data(), sizeof arguments);
  }
  /// Output, then data.
  Buffer result() {
    const auto at = memory.at(out);
    Buffer all(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(output_bytes));
    if (data_bytes == 0) return all;
    const auto more = memory.at(data);
    all.insert(all.end(), more.begin(), more.begin() + static_cast<std::ptrdiff_t>(data_bytes));
    return all;
  }
};

/// Empty, or what went wrong.
inline std::string emulate(const container::ShaderBinary& binary, const Run& run, Buffer& output) {
  Setting s(run);
  rdna2::Dispatch dispatch{
      .grid = {run.grid, 1, 1}, .block = {run.block, 1, 1}, .kernarg = Buffer(64), .threads = 1};
  const std::array<uint64_t, 2> arguments{s.in, s.out};
  std::memcpy(dispatch.kernarg.data(), arguments.data(), sizeof arguments);
  const auto ran = rdna2::run(binary, binary.kernels[0], s.memory, dispatch);
  if (!ran) return "emulator: " + ran.error().to_string();
  output = s.result();
  return {};
}

inline std::string interpret(const container::ShaderBinary& binary, const Run& run, bool passes,
                             Buffer& output) {
  auto f = translate(binary, binary.kernels[0], {});
  if (!f) return f.error().to_string();
  if (passes)
    if (auto ok = passes::run(*f, {}); !ok) return "passes: " + ok.error().to_string();
  Setting s(run);
  SharedMemory memory(s.memory);
  const ir::InterpreterDispatch dispatch{
      .grid = {run.grid, 1, 1}, .workgroup = {run.block, 1, 1}, .kernarg_ptr = s.kernarg};
  if (auto ran = ir::interpret(*f, dispatch, memory); !ran) return "interpreter: " + ran.error().to_string();
  output = s.result();
  return {};
}

inline uint32_t word_at(const Buffer& b, size_t offset) {
  uint32_t w;
  std::memcpy(&w, b.data() + offset, 4);
  return w;
}

/// The MODE register at the kernel's start: rounding and denormals of both groups, DX10_CLAMP, IEEE.
inline void set_mode(container::KernelDescriptor& d, unsigned mode) {
  const auto field = [&](unsigned bit) { return static_cast<uint8_t>(mode >> bit & 3); };
  d.float_mode = {field(0), field(2), field(4), field(6)};
  d.dx10_clamp = (mode >> 8 & 1) != 0;
  d.ieee = (mode >> 9 & 1) != 0;
}

inline constexpr uint32_t interesting32[] = {
    0,          1,          2,          0xffffffff, 0x80000000, 0x7fffffff, 0x3f800000, 0xbf800000,
    0x7f800000, 0xff800000, 0x7fc00000, 0x7fa00001, 0xffc12345, 0x00000123, 0x807fffff, 0x00800000,
    0x7f7fffff, 0x40490fdb, 0x3effffff, 0x4b000001, 0x4f000000, 0xcf000001, 0x5f000000, 0x3c003c00,
    0x7c007c01, 0xfc00fe00, 0x03ff0001, 0x7bff8000, 0x38003555, 0x3f000000};

inline uint32_t random_word(Random& random) {
  const uint32_t bits = static_cast<uint32_t>(random());
  switch (random() % 8) {
  case 0: return interesting32[bits % std::size(interesting32)];
  case 1: return bits % 70;
  case 2: return 0x3f000000 + (bits & 0x80ffffff); // about 1
  case 3: return (bits & 0x87ff87ff) | 0x38003800; // two f16 about 1
  case 4: return (bits & 0x800fffff) | 0x3ff00000; // high half of an f64 about 1
  case 5: return bits & 0x0f0f0f0f;                // byte selectors
  default: return bits;
  }
}

inline rdna2::Operand register_operand(bool vector, unsigned reg, unsigned count) {
  using enum rdna2::OperandKind;
  rdna2::Operand o{.kind = vector ? vgpr : sgpr, .dwords = static_cast<uint8_t>(count)};
  o.reg = static_cast<uint16_t>(reg);
  o.code = static_cast<uint16_t>(vector ? 256 + reg : reg);
  return o;
}

} // namespace lanewise::translate
