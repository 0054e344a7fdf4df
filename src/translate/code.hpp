// The guest code that a program can reach: decoded once, cut into basic blocks. Calls and indirect jumps end
// a block here; where they lead is found out by the graph (graph.hpp), which then asks for more code.
#pragma once

#include "container/shader_binary.hpp"
#include "rdna2/instruction.hpp"
#include "support/error.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lanewise::translate {

/// How a block of guest code ends.
enum class Exit : uint8_t {
  fall,   ///< runs into the block at `next`
  branch, ///< always goes to `target`
  cond,   ///< goes to `target` if the condition holds, on to `next` if not
  call,   ///< s_call_b64 (to `target`) or s_swappc_b64 (to a register's address); comes back to `next`
  jump,   ///< s_setpc_b64: to a register's address
  end,    ///< the wave ends
  trap,   ///< s_trap
};

struct CodeBlock {
  uint32_t pc = 0;
  uint32_t first = 0, count = 0; ///< in Code::instructions()
  Exit exit{};
  uint32_t target = 0, next = 0; ///< addresses; see Exit
};

/// "pc 0x40: v_add_f32_e32 v0, v1, v2", the `where` of an error about an instruction.
[[nodiscard]] std::string where(const rdna2::Instruction& instruction, rdna2::WaveSize wave);

/// Growth: linear in the reachable instructions.
class Code {
 public:
  Code(const container::ShaderBinary& binary, rdna2::WaveSize wave) : binary_(&binary), wave_(wave) {}

  /// Decodes what can be reached from `pc` (a virtual address of the image) without calls and indirect jumps.
  /// Errors: code that cannot be decoded, jumps out of the program or into an instruction.
  [[nodiscard]] Expected<void> explore(uint32_t pc);

  [[nodiscard]] const std::vector<rdna2::Instruction>& instructions() const { return instructions_; }
  [[nodiscard]] const std::vector<CodeBlock>& blocks() const { return blocks_; }
  [[nodiscard]] std::span<const rdna2::Instruction> instructions(const CodeBlock& b) const {
    return {instructions_.data() + b.first, b.count};
  }
  /// The block that starts at `pc`, which must have been explored.
  [[nodiscard]] uint32_t block_at(uint32_t pc) const { return block_of_[slot(pc) & index_bits] - 1; }
  [[nodiscard]] bool is_explored(uint32_t pc) const { return (slot(pc) & leader_bit) != 0; }
  /// How often blocks that existed had to be cut: their numbers are then void.
  [[nodiscard]] unsigned generation() const { return generation_; }

  [[nodiscard]] const container::ShaderBinary& binary() const { return *binary_; }
  [[nodiscard]] rdna2::WaveSize wave() const { return wave_; }

 private:
  // A slot for each dword of code: the number of the instruction that starts there (0: none) and two flags.
  static constexpr uint32_t leader_bit = 1u << 31, inside_bit = 1u << 30, index_bits = inside_bit - 1;
  static constexpr uint32_t page_dwords = 1024;
  using Page = std::unique_ptr<uint32_t[]>;

  [[nodiscard]] uint32_t slot(uint32_t pc) const;
  uint32_t& make_slot(uint32_t pc);
  [[nodiscard]] Expected<void> sweep(uint32_t pc);
  [[nodiscard]] Expected<void> add(uint32_t pc, std::span<const uint8_t> segment, size_t offset);
  void mark_leader(uint32_t pc);
  void build_blocks();
  void build_block(uint32_t leader);

  const container::ShaderBinary* binary_;
  rdna2::WaveSize wave_;
  std::vector<Page> pages_;
  std::vector<rdna2::Instruction> instructions_{1}; ///< [0] stands for none
  std::vector<uint32_t> block_of_{0};               ///< by instruction: block that starts with it, plus one
  std::vector<CodeBlock> blocks_;
  std::vector<uint32_t> leaders_, work_;
  size_t built_leaders_ = 0, built_instructions_ = 1;
  bool cut_ = false;
  unsigned generation_ = 0;
};

} // namespace lanewise::translate
