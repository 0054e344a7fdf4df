// Registers that an instruction reads and writes, the implicit ones included, from the opcode table.
#pragma once

#include "rdna2/opcode_info.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace lanewise::rdna2 {

enum class RegisterFile : uint8_t { scalar, vector };

/// `count` consecutive registers (dwords). Scalar numbers are those of Operand::reg; NULL never appears.
struct RegisterRange {
  RegisterFile file{};
  uint16_t first = 0;
  uint16_t count = 0;

  [[nodiscard]] constexpr bool contains(RegisterFile f, unsigned reg) const {
    return f == file && reg >= first && reg < first + count;
  }
  constexpr bool operator==(const RegisterRange&) const = default;
};

/// A few ranges in place: no instruction touches more.
class RegisterList {
 public:
  void add(RegisterFile file, unsigned first, unsigned count);
  [[nodiscard]] std::span<const RegisterRange> ranges() const { return {m_ranges.data(), m_count}; }
  [[nodiscard]] bool contains(RegisterFile file, unsigned reg) const;
  [[nodiscard]] const RegisterRange* begin() const { return m_ranges.data(); }
  [[nodiscard]] const RegisterRange* end() const { return m_ranges.data() + m_count; }

 private:
  std::array<RegisterRange, 24> m_ranges{};
  uint8_t m_count = 0;
};

struct RegisterUse {
  RegisterList reads;
  /// Under EXEC for vector registers: lanes that are off keep their value, and that alone is no read.
  RegisterList writes;
  /// SCC, MODE and PC, which are no registers, and VCC, EXEC and M0, which also stand in the lists.
  State reads_state{}, writes_state{};
  /// M0 chooses the register: any register from the named one on may be read, or written (then none is
  /// certain to be overwritten).
  bool relative_read = false, relative_write = false;
};

/// A destination of which active lanes keep a part (16-bit results, SDWA preserve, DPP lanes without a
/// source, D16 loads) is read as well.
[[nodiscard]] RegisterUse register_use(const Instruction& instruction, WaveSize wave);

} // namespace lanewise::rdna2
