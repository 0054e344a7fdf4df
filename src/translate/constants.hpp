// What is known of scalar registers without running the program: enough to find where calls lead.
#pragma once

#include "container/shader_binary.hpp"
#include "rdna2/instruction.hpp"

#include <array>
#include <optional>
#include <vector>

namespace lanewise::translate {

/// A dword: unknown, a number, or the low or high half of the address `image base + payload`. An assumed
/// value went through memory that something else may have written, so what is built on it has to be checked
/// at run time.
struct Known {
  enum class Kind : uint8_t { unknown, number, address_lo, address_hi } kind = Kind::unknown;
  bool assumed = false;
  uint32_t payload = 0;
  friend bool operator==(const Known&, const Known&) = default;
  [[nodiscard]] bool same_value(const Known& other) const {
    return kind == other.kind && payload == other.payload;
  }
};

/// An address of the image that a register pair holds.
struct KnownAddress {
  uint32_t offset = 0;
  bool assumed = false;
};

/// Registers of a wave at one point. Compilers keep scalars in lanes of VGPRs (v_writelane_b32), and those
/// VGPRs in scratch memory across calls, so lanes and scratch slots are followed too.
class KnownState {
 public:
  explicit KnownState(rdna2::WaveSize wave) : wave_(static_cast<unsigned>(wave)) {}

  /// Forgets what the other path does not know. True if something changed.
  bool meet(const KnownState& other);
  void execute(const rdna2::Instruction& i, const container::ShaderBinary& image);
  [[nodiscard]] std::optional<KnownAddress> address(const rdna2::Operand& pair) const;

 private:
  /// SCC as the carry of `address_lo(base) + addend`.
  struct Carry {
    bool known = false;
    uint32_t base = 0, addend = 0;
    friend bool operator==(const Carry&, const Carry&) = default;
  };
  /// A lane of a VGPR, or of a dword of scratch.
  struct Place {
    uint32_t dword; ///< 0..255: VGPR; from scratch_base on: byte offset in the lane's scratch
    uint32_t lane;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Lane {
    Place place;
    Known value;
  };
  static constexpr uint32_t scratch_base = 256;
  static constexpr unsigned register_count = 108; ///< SGPRs and VCC

  [[nodiscard]] Known read(const rdna2::Operand& o, unsigned dword = 0) const;
  void write(unsigned reg, Known value) {
    if (reg < register_count) registers_[reg] = value;
  }
  void set_address(unsigned reg, uint32_t offset);
  void forget_results(const rdna2::Instruction& i);
  void add(const rdna2::Instruction& i);
  void add_carry(const rdna2::Instruction& i);
  void and_(const rdna2::Instruction& i);
  void load(const rdna2::Instruction& i, const container::ShaderBinary& image);
  void write_lane(const rdna2::Instruction& i);
  void read_lane(const rdna2::Instruction& i);
  void store_scratch(const rdna2::Instruction& i);
  void load_scratch(const rdna2::Instruction& i);
  [[nodiscard]] std::optional<uint32_t> scratch_slot(const rdna2::Instruction& i) const;
  void forget_dwords(uint32_t first, uint32_t end);
  void copy_lanes(uint32_t from, uint32_t to);

  std::array<Known, register_count> registers_{};
  std::vector<Lane> lanes_; ///< sorted by place
  Carry carry_;
  unsigned wave_;
};

/// Contents of the image at an address, as loads see it: the word, or half of an image address.
[[nodiscard]] Known image_dword(const container::ShaderBinary& image, uint64_t address);

} // namespace lanewise::translate
