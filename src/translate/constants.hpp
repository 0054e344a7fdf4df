// What is known of scalar registers without running the program: enough to find where calls lead.
#pragma once

#include "container/shader_binary.hpp"
#include "rdna2/instruction.hpp"
#include "translate/origins.hpp"

#include <array>
#include <optional>
#include <vector>

namespace lanewise::translate {

/// A dword: unknown, a number, the low or high half of the address `image base + payload`, or an expression
/// over what the host knows. An assumed value went through memory that something else may have written, so
/// what is built on it has to be checked at run time.
struct Known {
  enum class Kind : uint8_t { unknown, number, address_lo, address_hi, origin } kind = Kind::unknown;
  /// Why it is unknown; `payload` is then the pc of the instruction that made it so.
  enum class Why : uint8_t { never_written, lanes, memory, not_followed, paths } why = Why::never_written;
  bool assumed = false;
  uint32_t payload = 0;
  uint32_t preserved = 0; ///< set in Origins: what calls on the way must have left alone
  friend bool operator==(const Known&, const Known&) = default;
  [[nodiscard]] bool same_value(const Known& other) const {
    return kind == other.kind && payload == other.payload;
  }
  [[nodiscard]] bool is_unknown() const { return kind == Kind::unknown; }
};

/// An address of the image that a register pair holds.
struct KnownAddress {
  uint32_t offset = 0;
  bool assumed = false;
  uint32_t preserved = 0;
};

/// Registers of a wave at one point. Compilers keep scalars in lanes of VGPRs (v_writelane_b32), and those
/// VGPRs in scratch memory across calls, so lanes and scratch slots are followed too.
class KnownState {
 public:
  static constexpr unsigned register_count = 108; ///< SGPRs and VCC

  /// `origins` outlives the state and all copies of it.
  KnownState(rdna2::WaveSize wave, Origins& origins)
      : origins_(&origins), wave_(static_cast<unsigned>(wave)) {}

  void set(unsigned reg, Known value) { write(reg, value); }
  [[nodiscard]] const Known& operator[](unsigned reg) const { return registers_[reg]; }

  /// Forgets what the other path, which comes to the block at `pc` too, does not know. True if something
  /// changed.
  bool meet(const KnownState& other, uint32_t pc);
  void execute(const rdna2::Instruction& i, const container::ShaderBinary& image);
  /// A call of code that is not known yet: what is known stays so if the callee leaves it alone.
  void cross(uint32_t slot);

  [[nodiscard]] Known read(const rdna2::Operand& o, unsigned dword = 0) const;
  [[nodiscard]] std::optional<KnownAddress> address(const rdna2::Operand& pair) const;
  /// The same of registers `reg` and `reg` + 1.
  [[nodiscard]] std::optional<KnownAddress> address(unsigned reg) const;
  /// The expression that a value is; 0 for an unknown one.
  [[nodiscard]] uint32_t origin(const Known& k) const;
  void set_address(unsigned reg, uint32_t offset);
  /// Whether a way out of a branch says more about a register than the state: then refine() a copy of the
  /// state for that way.
  [[nodiscard]] bool refines(const rdna2::Instruction& branch, bool taken) const;
  void refine();

 private:
  /// SCC as the outcome of comparing a register with a number: when SCC is `when`, the register is below the
  /// number, or equal to it.
  struct Test {
    uint32_t pc = 0; ///< of the comparison; 0: there is none, or the register changed since
    uint8_t reg = 0;
    bool when = false, equals = false;
    uint64_t number = 0;
    friend bool operator==(const Test&, const Test&) = default;
  };
  /// SCC as the carry of `a + b`, or the borrow of `a - b`.
  struct Carry {
    bool known = false, borrow = false;
    Known a, b;
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

  void write(unsigned reg, Known value) {
    if (reg < register_count) registers_[reg] = value;
    if (reg == test_.reg) test_ = {};
  }
  [[nodiscard]] Test test_of(const rdna2::Instruction& i) const;
  [[nodiscard]] bool is_index_of(const Known& index, const Known& number) const;
  bool meet_value(Known& mine, const Known& theirs, uint32_t pc);
  void forget_results(const rdna2::Instruction& i);
  [[nodiscard]] Known lost(const rdna2::Instruction& i) const;
  [[nodiscard]] Known derived(const Known& a, const Known& b, Known::Kind kind, uint32_t payload) const;
  [[nodiscard]] Known expression(Origin::Kind kind, std::initializer_list<Known> of,
                                 uint64_t value = 0) const;
  [[nodiscard]] Known bounded(const rdna2::Instruction& i, uint64_t limit, unsigned shift) const;
  bool run_scalar(const rdna2::Instruction& i);
  void copy64(const rdna2::Instruction& i);
  void add(const rdna2::Instruction& i);
  void subtract(const rdna2::Instruction& i);
  void add_carry(const rdna2::Instruction& i);
  void and_(const rdna2::Instruction& i);
  void minimum(const rdna2::Instruction& i);
  void extract_field(const rdna2::Instruction& i);
  void shift(const rdna2::Instruction& i);
  void shift64(const rdna2::Instruction& i);
  void shift_right(const rdna2::Instruction& i);
  void choose(const rdna2::Instruction& i);
  [[nodiscard]] Known choice(const rdna2::Instruction& i, const Known& a, const Known& b) const;
  void load(const rdna2::Instruction& i, const container::ShaderBinary& image);
  void load_buffer(const rdna2::Instruction& i);
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
  Test test_;
  uint32_t scc_writer_ = 0; ///< pc of the instruction that made SCC; 0: several
  Origins* origins_;
  unsigned wave_;
};

/// Contents of the image at an address, as loads see it: the word, or half of an image address.
[[nodiscard]] Known image_dword(const container::ShaderBinary& image, uint64_t address);

} // namespace lanewise::translate
