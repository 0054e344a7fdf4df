// Guest registers as SSA variables: one per dword, SCC, and EXEC as a mask. Only those that a program touches
// get a number, so that arrays by variable are dense.
#pragma once

#include "ir/program.hpp"
#include "rdna2/instruction.hpp"
#include "rdna2/opcode_info.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace lanewise::translate {

/// Names of all registers of the machine.
namespace reg {
inline constexpr unsigned vcc_lo = 106, vcc_hi = 107, m0 = 124, null = 125, exec_lo = 126, exec_hi = 127;
inline constexpr unsigned scc = 128;  ///< u1, uniform
inline constexpr unsigned exec = 129; ///< u1, per lane
inline constexpr unsigned vgpr0 = 130;
// Not registers, but followed like them: whether a loop loads or stores memory that other lanes see.
inline constexpr unsigned loads = vgpr0 + 256;
inline constexpr unsigned stores = vgpr0 + 257;
inline constexpr unsigned count = vgpr0 + 258;
} // namespace reg

/// Calls `f(register)` for each register that an instruction may write. A relative destination is one of
/// `reach` registers.
template <class F>
void for_each_written(const rdna2::Instruction& i, rdna2::WaveSize wave, unsigned reach, F&& f) {
  const auto& row = rdna2::info(i.opcode);
  const bool wave64 = wave == rdna2::WaveSize::wave64;
  for (const rdna2::Operand& d : i.dst) {
    const bool relative = row.has(rdna2::OpcodeFlag::relative_dst);
    if (d.is_vgpr()) {
      const unsigned end = relative ? std::min(256u, d.reg + reach) : d.reg + unsigned{d.dwords};
      for (unsigned r = d.reg; r < end; ++r) f(reg::vgpr0 + r);
    } else if (d.is_sgpr()) {
      const unsigned end = d.reg + unsigned{d.dwords} + (relative ? reach - 1 : 0);
      for (unsigned r = d.reg; r < (relative ? std::min(end, reg::vcc_hi + 1) : end); ++r)
        f(r == reg::exec_lo || (r == reg::exec_hi && wave64) ? unsigned{reg::exec} : r);
    }
  }
  if (i.encoding != rdna2::Encoding::smem && i.encoding != rdna2::Encoding::scratch) {
    if (row.access.kind == rdna2::Access::Kind::load) f(unsigned{reg::loads});
    if (row.access.kind > rdna2::Access::Kind::load) f(unsigned{reg::stores});
  }
  if (row.writes_state(rdna2::State::scc)) f(unsigned{reg::scc});
  if (row.writes_state(rdna2::State::exec)) f(unsigned{reg::exec});
}

/// SCC and the scalar registers are one for the wave.
[[nodiscard]] constexpr ir::InterfaceRegister interface_register(unsigned r) {
  return {static_cast<uint16_t>(r), r == reg::scc || r == reg::exec ? ir::Type::u1 : ir::Type::i32,
          r >= reg::exec};
}

/// Calls `f(register)` for what a call through a slot passes and takes back, of a program with so many VGPRs.
template <class F>
void for_each_interface(unsigned vgprs, F&& f) {
  for (unsigned r = 0; r <= reg::vcc_hi; ++r) f(r);
  f(unsigned{reg::m0});
  f(unsigned{reg::exec_hi}); // a plain register in wave32
  f(unsigned{reg::scc});
  f(unsigned{reg::exec});
  for (unsigned v = 0; v < vgprs; ++v) f(reg::vgpr0 + v);
}

/// Sets of variables, all of one size, stored one behind the other.
class VariableSets {
 public:
  VariableSets(size_t sets, unsigned variables) : words_((variables + 63) / 64), bits_(sets * words_) {}
  void insert(size_t set, unsigned v) { bits_[set * words_ + v / 64] |= uint64_t{1} << (v % 64); }
  [[nodiscard]] bool contains(size_t set, unsigned v) const {
    return bits_[set * words_ + v / 64] >> (v % 64) & 1;
  }
  void unite(size_t into, size_t from) { unite(into, *this, from); }
  /// With a set of another collection over the same variables.
  void unite(size_t into, const VariableSets& other, size_t from) {
    for (size_t w = 0; w < words_; ++w) bits_[into * words_ + w] |= other.bits_[from * words_ + w];
  }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

} // namespace lanewise::translate
