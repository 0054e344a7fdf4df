#include "report/guest_code.hpp"

#include "rdna2/decoder.hpp"
#include "rdna2/opcode_info.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace lanewise::report {
namespace {

using container::ShaderBinary;
using rdna2::Encoding;
using rdna2::OpcodeFlag;

/// Addresses that the IR comes from, in order, each once.
std::vector<uint32_t> addresses_of(const ir::Program& program) {
  std::vector<uint32_t> all;
  const auto add = [&](const ir::Function& f) {
    for (const ir::BasicBlock& b : f.blocks)
      for (const ir::Value v : b.instructions)
        if (f[v].pc != 0) all.push_back(f[v].pc);
  };
  add(program.main);
  for (const ir::CalleeFunction& c : program.callees) add(c.function);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

class Collector {
 public:
  Collector(const ShaderBinary& binary, GuestCode& code) : binary_(binary), code_(code) {}

  void function(std::string name, std::span<const uint8_t> bytes, uint64_t address) {
    const size_t first = code_.instructions.size();
    rdna2::decode_append(bytes, code_.wave, code_.instructions);
    for (size_t i = first; i < code_.instructions.size(); ++i)
      code_.instructions[i].pc += static_cast<uint32_t>(address);
    close(std::move(name), first);
  }

  /// Code that no symbol covers: the instructions that are known of.
  void loose(std::span<const uint32_t> addresses) {
    const size_t first = code_.instructions.size();
    for (const uint32_t pc : addresses)
      if (auto i = rdna2::decode(binary_.at(pc), 0, code_.wave)) {
        i->pc = pc;
        code_.instructions.push_back(*i);
      }
    if (code_.instructions.size() > first) close("code without a symbol", first);
  }

  [[nodiscard]] bool has(uint32_t pc) const { return code_.index_of.contains(pc); }

 private:
  void close(std::string name, size_t first) {
    for (size_t i = first; i < code_.instructions.size(); ++i)
      code_.index_of.emplace(code_.instructions[i].pc, i);
    code_.functions.push_back({std::move(name), first, code_.instructions.size() - first});
  }

  const ShaderBinary& binary_;
  GuestCode& code_;
};

} // namespace

GuestCode guest_code(const ShaderBinary& binary, const container::Kernel& kernel,
                     const ir::Program& program) {
  GuestCode code;
  code.wave = kernel.descriptor.wave32 ? rdna2::WaveSize::wave32 : rdna2::WaveSize::wave64;
  Collector collect(binary, code);
  collect.function(kernel.name, binary.code_of(kernel), kernel.entry);
  std::vector<uint32_t> loose;
  for (const uint32_t pc : addresses_of(program)) {
    if (collect.has(pc)) continue;
    const container::Symbol* symbol = binary.function_at(pc);
    if (symbol && !collect.has(static_cast<uint32_t>(symbol->address)))
      collect.function(symbol->name, binary.code_of(*symbol), symbol->address);
    if (!collect.has(pc)) loose.push_back(pc);
  }
  collect.loose(loose);
  return code;
}

GuestKind guest_kind(const rdna2::Instruction& instruction) {
  const rdna2::OpcodeInfo& info = rdna2::info(instruction.opcode);
  if (info.has(OpcodeFlag::branch) || info.has(OpcodeFlag::jump) || info.has(OpcodeFlag::call))
    return GuestKind::branch;
  switch (instruction.encoding) {
  case Encoding::sop1:
  case Encoding::sop2:
  case Encoding::sopk:
  case Encoding::sopc: return info.has(OpcodeFlag::wait) ? GuestKind::wait : GuestKind::salu;
  case Encoding::sopp: return info.has(OpcodeFlag::wait) ? GuestKind::wait : GuestKind::other;
  case Encoding::smem: return GuestKind::smem;
  case Encoding::vop1:
  case Encoding::vop2:
  case Encoding::vopc:
  case Encoding::vop3:
  case Encoding::vop3p:
  case Encoding::vintrp: return GuestKind::valu;
  case Encoding::ds: return GuestKind::lds;
  case Encoding::mubuf:
  case Encoding::mtbuf:
  case Encoding::mimg:
  case Encoding::flat:
  case Encoding::global:
  case Encoding::scratch: return GuestKind::vmem;
  case Encoding::exp: return GuestKind::export_;
  }
  return GuestKind::other;
}

std::string_view name(GuestKind kind) {
  static constexpr std::array<std::string_view, kGuestKinds> names{"salu",   "valu", "smem",   "vmem", "lds",
                                                                   "branch", "wait", "export", "other"};
  return names[static_cast<size_t>(kind)];
}

} // namespace lanewise::report
