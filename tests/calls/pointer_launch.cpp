#include "pointer_launch.hpp"

namespace lanewise::calls {
namespace {

using runtime::Argument;
using runtime::Buffer;

constexpr uint64_t table_bytes = 256;

/// Where a word points: a label of the kernel, of the buffer of callees, or the table.
struct Place {
  size_t buffer = Buffer::Pointer::image;
  uint64_t byte = 0;
};

class Builder {
 public:
  Builder(const Assembled& assembled) : assembled_(assembled) {
    const auto callees = assembled.labels.find("callees");
    split_ =
        callees == assembled.labels.end() ? static_cast<uint32_t>(assembled.code.size()) : callees->second;
  }

  [[nodiscard]] Assembled kernel() const {
    Assembled part = assembled_;
    part.code.resize(split_);
    return part;
  }
  [[nodiscard]] std::vector<uint8_t> callees() const {
    const auto part = std::span(assembled_.code).subspan(split_);
    return {part.begin(), part.end()};
  }
  [[nodiscard]] Place place(const Word64& w) const {
    if (w.label == "table") return {PointerLaunch::words, w.number};
    const uint32_t at = assembled_.labels.at(w.label);
    if (at < split_) return {Buffer::Pointer::image, kernel_base + at + w.number};
    return {PointerLaunch::code, at - split_ + w.number};
  }
  [[nodiscard]] Argument argument(const Word64& w) const {
    if (w.label.empty()) {
      std::vector<uint8_t> bytes(8);
      std::memcpy(bytes.data(), &w.number, 8);
      return Argument::of_bytes(bytes);
    }
    const Place p = place(w);
    return p.buffer == Buffer::Pointer::image ? Argument::of_code(p.byte)
                                              : Argument::of_buffer(p.buffer, p.byte);
  }

 private:
  const Assembled& assembled_;
  uint32_t split_ = 0;
};

} // namespace

PointerLaunch pointer_launch(const PointerProgram& program, const Assembled& assembled, unsigned wave) {
  const Builder build(assembled);
  PointerLaunch p;
  p.binary = std::make_unique<container::ShaderBinary>(kernel_of(build.kernel(), wave));
  p.launch = launch_of(*p.binary);
  auto code = build.callees();
  if (code.empty()) code.resize(4);
  p.launch.buffers.push_back({"code", runtime::ElementType::u8, std::move(code)});
  Buffer table{"table", runtime::ElementType::u8, std::vector<uint8_t>(table_bytes)};
  for (size_t k = 0; k < program.table.size(); ++k) {
    const Word64& w = program.table[k];
    if (w.label.empty()) {
      std::memcpy(table.contents.data() + 8 * k, &w.number, 8);
    } else {
      const Place at = build.place(w);
      table.pointers.push_back({8 * k, at.buffer, at.byte});
    }
  }
  p.launch.buffers.push_back(std::move(table));
  p.launch.arguments.push_back(build.argument(program.a));
  p.launch.arguments.push_back(build.argument(program.b));
  p.launch.arguments.push_back(Argument::of_buffer(PointerLaunch::words));
  return p;
}

Expected<runtime::LaunchMemory> placed(const runtime::Launch& launch) {
  auto memory = runtime::LaunchMemory::plan(launch);
  if (!memory) return memory;
  std::vector<uint64_t> addresses;
  for (size_t r = 0; r < memory->regions().size(); ++r)
    addresses.push_back(0x5'0000'0000 + (uint64_t{r} << 24));
  if (auto ok = memory->place(launch, addresses); !ok) return std::unexpected(ok.error());
  return memory;
}

runtime::ExecuteOptions with_callees(const runtime::PreparedShader& shader, const runtime::CalleeSets& sets) {
  runtime::ExecuteOptions options;
  options.callee_table_bytes = runtime::callee_table_bytes(shader);
  options.callee_table = [&](const runtime::LaunchMemory& memory) -> Expected<std::vector<uint8_t>> {
    auto targets =
        runtime::resolve(shader, runtime::invocation_of(memory), runtime::LaunchGuestMemory(memory));
    if (!targets) return std::unexpected(targets.error());
    return runtime::callee_table(shader, sets, *targets);
  };
  return options;
}

} // namespace lanewise::calls
