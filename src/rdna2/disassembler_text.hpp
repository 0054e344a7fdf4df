// Inside of the disassembler: names and operands as text.
#pragma once

#include "rdna2/opcode_info.hpp"

#include <cstring>
#include <string>
#include <string_view>

namespace lanewise::rdna2::detail {

/// Text output. Pieces are a few bytes each and disassembly is a hot path: they are gathered here and go to
/// the string when the buffer is full and at the end.
class TextWriter {
 public:
  explicit TextWriter(std::string& out) : m_out(out) {}
  ~TextWriter() { flush(); }
  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  void text(std::string_view s) {
    if (s.size() > sizeof m_buffer - m_size) {
      flush();
      if (s.size() > sizeof m_buffer) return void(m_out.append(s));
    }
    std::memcpy(m_buffer + m_size, s.data(), s.size());
    m_size += unsigned(s.size());
  }
  void decimal(int64_t value);
  void hex(uint64_t value); ///< "0x1f"

  /// "s4", "s[4:7]", "v7", "vcc", "exec_lo", "ttmp[4:5]", "m0", "null".
  void scalar_register(unsigned reg, unsigned count);
  void vector_register(unsigned reg, unsigned count);

  /// A constant as an operand of a type shows it.
  void constant(const Operand& o, OperandType type);
  void operand(const Operand& o, OperandType type);

 private:
  void flush() {
    m_out.append(m_buffer, m_size);
    m_size = 0;
  }

  std::string& m_out;
  char m_buffer[256];
  unsigned m_size = 0;
};

/// Whether the constant can be written in a way that assembles to the same operand.
[[nodiscard]] bool constant_assembles_back(const Operand& o, OperandType type);

/// simm16 of SOPP and SOPK, and the offset of ds_swizzle_b32, as their opcodes show it.
void write_simm(TextWriter& t, const Instruction& i, const OpcodeInfo& row);
void write_swizzle(TextWriter& t, unsigned offset);
[[nodiscard]] bool simm_assembles_back(const Instruction& i);

[[nodiscard]] std::string_view buffer_format_name(unsigned format); ///< empty if it has none

} // namespace lanewise::rdna2::detail
