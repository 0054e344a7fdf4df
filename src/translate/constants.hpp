// What is known of scalar registers without running the program: enough to find where calls lead.
#pragma once

#include "container/shader_binary.hpp"
#include "rdna2/instruction.hpp"

#include <array>
#include <optional>
#include <vector>

namespace lanewise::translate {

/// A dword: unknown, a number, or the low or high half of the address `image base + payload`. An assumed
/// value was read from a writable part of the image, so what is built on it has to be checked at run time.
struct Known {
  enum class Kind : uint8_t { unknown, number, address_lo, address_hi } kind = Kind::unknown;
  bool assumed = false;
  uint32_t payload = 0;
  friend bool operator==(const Known&, const Known&) = default;
};

/// An address of the image that a register pair holds.
struct KnownAddress {
  uint32_t offset = 0;
  bool assumed = false;
};

class KnownState {
 public:
  /// Forgets what the other path does not know. True if something was forgotten.
  bool meet(const KnownState& other);
  void execute(const rdna2::Instruction& i, const container::ShaderBinary& image);
  [[nodiscard]] std::optional<KnownAddress> address(const rdna2::Operand& pair) const;
  void set_address(unsigned reg, uint32_t offset);

 private:
  /// SCC as the carry of `address_lo(base) + addend`; none when addend_known is false.
  struct Carry {
    bool known = false;
    uint32_t base = 0, addend = 0;
    friend bool operator==(const Carry&, const Carry&) = default;
  };
  struct Lane {
    uint16_t vgpr;
    uint8_t lane;
    Known value;
    friend bool operator==(const Lane&, const Lane&) = default;
  };
  static constexpr unsigned register_count = 108; ///< SGPRs and VCC

  [[nodiscard]] Known read(const rdna2::Operand& o, unsigned dword = 0) const;
  void write(unsigned reg, Known value) {
    if (reg < register_count) registers_[reg] = value;
  }
  void forget_results(const rdna2::Instruction& i);
  void add(const rdna2::Instruction& i);
  void add_carry(const rdna2::Instruction& i);
  void load(const rdna2::Instruction& i, const container::ShaderBinary& image);
  void write_lane(const rdna2::Instruction& i);
  void read_lane(const rdna2::Instruction& i);

  std::array<Known, register_count> registers_{};
  std::vector<Lane> lanes_;
  Carry carry_;
};

/// Contents of the image at an address, as loads see it: the word, or half of an image address.
[[nodiscard]] Known image_dword(const container::ShaderBinary& image, uint64_t address);

} // namespace lanewise::translate
