// The meaning of QPU operations for 16 lanes, and the state that they act on. The VIR interpreter and the
// simulator of QPU words share this, so that one text of semantics serves both.
//
// A lane of a register can be undefined (never written, or lost at a thread switch). What is computed from it
// is undefined too; the comparison of two runs lets an undefined lane of the reference match anything.
#pragma once

#include "support/error.hpp"
#include "v3d/vir.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace lanewise::v3d {

using Mask = std::uint16_t;
inline constexpr Mask all_lanes = 0xffff;

/// A register's value; bit i of undef_low/undef_high: that half of lane i is undefined.
struct Lanes {
  std::array<std::uint32_t, lane_count> v{};
  Mask undef_low = 0, undef_high = 0;
  [[nodiscard]] Mask undef() const { return undef_low | undef_high; }
};

[[nodiscard]] Lanes undefined();

struct Flags {
  Mask bits = 0, undef = all_lanes;
};

enum class EffectKind : std::uint8_t { tmu, tmu_store, tlb, vpm_store, branch, msf, end };

/// Something that the outside can see.
struct Effect {
  EffectKind kind = EffectKind::end;
  std::vector<std::uint32_t> tag; ///< addresses, uniforms, decisions
  std::vector<Lanes> values;
  Mask lanes = all_lanes; ///< lanes that take part
};

/// What a run saw. `faults` are violations of the machine's rules that only a run can see.
struct Trace {
  std::vector<Effect> effects;
  std::vector<std::string> faults;
  unsigned max_outstanding = 0; ///< words in the TMU's output FIFO
  std::uint64_t steps = 0;
  /// One entry for each branch: the decision where flags were undefined in some lane, -1 where all was
  /// defined.
  std::vector<signed char> unsure;
};

struct RunOptions {
  std::uint64_t seed = 1;
  unsigned max_branches = 64; ///< a run stops at the branch after these; both sides of a comparison alike
  unsigned threads = 4;
  /// Decisions to follow at branches on undefined flags: `unsure` of the reference run.
  const std::vector<signed char>* follow = nullptr;
};

/// The first difference between two runs of one program, empty if none.
[[nodiscard]] std::string compare(const Trace& reference, const Trace& other);

/// Names and region of the memory that spilled values live in. Accesses there are not effects.
inline constexpr std::string_view spill_offset_uniform = "spill_offset";
inline constexpr std::string_view spill_size_uniform = "spill_size_per_thread";
inline constexpr std::uint32_t spill_region = 0x70000000u;
inline constexpr std::uint32_t spill_region_size = 0x01000000u;

class Machine {
 public:
  Machine(Gpu gpu, const std::vector<Uniform>& uniforms, const RunOptions& options, std::uint32_t temps);

  /// A result that is computed but not yet written.
  struct Pending {
    Alu alu;
    Lanes value;
    Mask enabled = all_lanes, enabled_undef = 0;
    Mask carry = 0;
    std::uint32_t uniform = 0;
    bool active = false;
  };

  [[nodiscard]] Pending compute(const Alu& a, std::uint32_t uniform_value);
  void apply(const Pending& p);

  [[nodiscard]] std::uint32_t uniform_value(std::uint32_t uniform) const;
  [[nodiscard]] Lanes read(const Reg& r) const;
  void write(const Reg& r, const Lanes& v);
  [[nodiscard]] Lanes next_varying(Lanes& c);
  [[nodiscard]] Lanes pop_tmu();
  void configure_tmu(std::uint32_t uniform);
  /// Accumulators and rtop are lost; flags stay.
  void thread_switch();
  /// Records the decision and returns it; nullopt when the budget of branches is spent.
  [[nodiscard]] std::optional<bool> branch(const Branch& b);
  void end();

  Trace trace;

 private:
  Lanes evaluate(const Alu& a, const std::array<Lanes, 2>& s, Mask& carry);
  Lanes special(Op op, const std::array<Lanes, 2>& s);
  void write_peripheral(const Pending& p);
  void tmu_write(const Pending& p);
  void texture();
  void general(std::uint32_t config);
  [[nodiscard]] std::uint64_t hash(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) const;
  [[nodiscard]] Lanes made_up(std::uint64_t what) const;

  struct Parameter {
    std::uint8_t address;
    Lanes value;
    Mask enabled, enabled_undef;
  };

  Gpu gpu_;
  const std::vector<Uniform>& uniforms_;
  RunOptions options_;
  std::vector<Lanes> temps_;
  std::array<Lanes, 64> rf_;
  std::array<Lanes, 6> acc_;
  Flags a_, b_;
  Lanes rtop_;
  std::array<std::uint8_t, lane_count> msf_{};
  std::vector<Parameter> parameters_;
  std::vector<std::uint32_t> configs_; // uniform indices
  std::deque<Lanes> fifo_;
  std::unordered_map<std::uint32_t, std::uint32_t> memory_;
  std::unordered_map<std::uint32_t, std::uint8_t> memory_undef_; // bit 0: low half, bit 1: high half
  unsigned varyings_ = 0, branches_ = 0, vpm_stores_ = 0;
};

/// Runs a program of VIR, before or after allocation (temporaries or registers as operands).
[[nodiscard]] Expected<Trace> interpret(const Program& p, const RunOptions& options);

} // namespace lanewise::v3d
