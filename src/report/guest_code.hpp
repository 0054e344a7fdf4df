// The machine code that a program was made of.
#pragma once

#include "container/shader_binary.hpp"
#include "ir/program.hpp"
#include "rdna2/instruction.hpp"

#include <string>
#include <unordered_map>
#include <vector>

namespace lanewise::report {

/// A kernel and the functions of its image that it calls, each once, the kernel first. `pc` of an instruction
/// is its virtual address in the image, as in the IR.
struct GuestCode {
  struct Function {
    std::string name;
    size_t first = 0, count = 0; ///< in `instructions`
  };
  rdna2::WaveSize wave{};
  std::vector<rdna2::Instruction> instructions;
  std::vector<Function> functions;
  std::unordered_map<uint32_t, size_t> index_of; ///< by pc
};

/// `program` is the kernel's after translation: what it names beside the kernel's own code was called.
[[nodiscard]] GuestCode guest_code(const container::ShaderBinary& binary, const container::Kernel& kernel,
                                   const ir::Program& program);

/// What a person asks first of an instruction.
enum class GuestKind : uint8_t { salu, valu, smem, vmem, lds, branch, wait, export_, other };
inline constexpr size_t kGuestKinds = 9;
[[nodiscard]] GuestKind guest_kind(const rdna2::Instruction& instruction);
/// "salu", as statistics spell it.
[[nodiscard]] std::string_view name(GuestKind kind);

} // namespace lanewise::report
