// Inside of the emulator: the state of a wave and what an instruction's handler sees.
#pragma once

#include "container/guest_abi.hpp"
#include "container/shader_binary.hpp"
#include "rdna2/emulator.hpp"
#include "rdna2/opcode_info.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace lanewise::rdna2::emu {

struct Wave;
struct Step;

/// What a wave does after an instruction.
enum class Flow : uint8_t {
  next,    ///< the instruction behind
  jump,    ///< Wave::pc is set
  end,     ///< the wave is done
  barrier, ///< waits for the other waves of the workgroup, then the instruction behind
  yield,   ///< lets the other waves run, then the instruction behind
  fault,   ///< Wave::fault is set
};

using Handler = Flow (*)(Wave&, const Step&);

/// An instruction made ready to run.
struct Step {
  Instruction in;
  Handler handler = nullptr;
  const OpcodeInfo* info = nullptr;
  uint8_t modified = 0;         ///< bit i: source i is not read plainly (DPP, SDWA, neg, abs, op_sel)
  bool plain_result = true;     ///< no SDWA or DPP, which change what is written and where
  bool float_modifiers = false; ///< clamp or omod is set
};

/// Registers of a wave by their numbers in the ISA's scalar register file.
enum : unsigned { reg_vcc = 106, reg_m0 = 124, reg_null = 125, reg_exec = 126, scalar_registers = 128 };

/// MODE (RDNA2 ISA, "MODE register").
struct Mode {
  uint32_t bits = 0;
  [[nodiscard]] unsigned round_32() const { return bits & 3; }
  [[nodiscard]] unsigned round_16_64() const { return bits >> 2 & 3; }
  [[nodiscard]] unsigned denorm_32() const { return bits >> 4 & 3; }
  [[nodiscard]] unsigned denorm_16_64() const { return bits >> 6 & 3; }
  [[nodiscard]] bool dx10_clamp() const { return (bits >> 8 & 1) != 0; }
  [[nodiscard]] bool ieee() const { return (bits >> 9 & 1) != 0; }
  /// Nearest even and denormals kept: what the host's own arithmetic does.
  [[nodiscard]] bool host_like_32() const { return (bits & 0x33) == 0x30; }
  [[nodiscard]] bool host_like_64() const { return (bits & 0xcc) == 0xc0; }
};

/// Decoded code of one executable segment, filled as waves reach it. Shared by all threads.
class CodeCache {
 public:
  CodeCache(std::span<const uint8_t> code, uint64_t address, WaveSize wave)
      : code_(code), address_(address), wave_(wave), steps_(code.size() / 4) {}
  ~CodeCache();

  /// The instruction at a guest address; an error when it is outside or no instruction.
  [[nodiscard]] const Step* find(uint64_t pc) const {
    const uint64_t slot = (pc - address_) / 4;
    if (pc < address_ || slot >= steps_.size() || pc % 4 != 0) return nullptr;
    return steps_[slot].load(std::memory_order_acquire);
  }
  [[nodiscard]] Expected<const Step*> decode_at(uint64_t pc);
  [[nodiscard]] bool holds(uint64_t pc) const { return pc >= address_ && pc - address_ < code_.size(); }

  /// Vector registers that code decoded so far may have written: the rows to clear for the next wave.
  [[nodiscard]] unsigned vgprs_touched() const { return vgprs_.load(std::memory_order_relaxed); }

 private:
  std::span<const uint8_t> code_;
  uint64_t address_;
  WaveSize wave_;
  std::vector<std::atomic<const Step*>> steps_; // by dword
  std::mutex decoding_;
  std::atomic<unsigned> vgprs_ = 3;
};

/// Why a wave stopped.
struct Fault {
  ErrorKind kind = ErrorKind::input;
  std::string what;
  int lane = -1;
};

/// What the waves of one dispatch share.
struct Launch {
  const container::ShaderBinary* binary = nullptr;
  const container::Kernel* kernel = nullptr;
  Memory* memory = nullptr;
  const Dispatch* dispatch = nullptr;
  std::vector<std::unique_ptr<CodeCache>> code;
  unsigned lanes = 32;
  uint64_t entry = 0; ///< guest address
  uint64_t image = 0; ///< guest address minus file address
  uint64_t kernarg = 0, packet = 0, queue = 0;
  uint64_t scratch_bytes = 0; ///< per lane
  uint32_t lds_bytes = 0;
  uint64_t max_instructions = 0;
  unsigned other_turns = 0; ///< Dispatch::other_turns
  std::vector<SeenCompare>* compares = nullptr;

  /// Code that a wave reaches in a buffer of the guest's memory, through a pointer that the host passed; null
  /// where there is no buffer. It must not change while the dispatch runs.
  [[nodiscard]] CodeCache* buffer_code(uint64_t pc);
  [[nodiscard]] unsigned buffer_vgprs_touched();

  std::mutex buffers_lock{};
  std::vector<std::unique_ptr<CodeCache>> buffers{};
};

/// What the waves of one workgroup share.
struct Group {
  std::array<uint32_t, 3> id{};
  std::array<uint32_t, 3> size{}; ///< work-items in it; smaller than the block at the grid's end
  std::vector<uint8_t> lds;
};

struct Wave {
  std::array<uint32_t, scalar_registers> sgpr{};
  bool scc = false;
  Mode mode;
  unsigned lanes = 32;
  uint64_t pc = 0;
  uint64_t next_pc = 0; ///< of the instruction being run; calls store it
  uint64_t flat_scratch = 0;
  unsigned index = 0; ///< in the workgroup
  uint64_t instructions = 0, lane_instructions = 0;
  Launch* launch = nullptr;
  Group* group = nullptr;
  CodeCache* code = nullptr;                     ///< segment that pc is in
  const Memory::Buffer* hot = nullptr;           ///< buffer of the last global access
  uint64_t expanded = 0;                         ///< mask that `select` shows
  alignas(64) std::array<uint32_t, 64> select{}; ///< all ones in the lanes of `expanded`
  std::vector<uint8_t> scratch;                  ///< as guest_abi::scratch_rsrc swizzles it
  std::vector<uint32_t> vgprs;                   ///< 256 rows of `lanes`
  bool done = false, waiting = false;
  Fault fault;

  [[nodiscard]] uint32_t* v(unsigned reg) { return vgprs.data() + std::size_t{reg} * lanes; }
  [[nodiscard]] const uint32_t* v(unsigned reg) const { return vgprs.data() + std::size_t{reg} * lanes; }

  [[nodiscard]] uint64_t pair(unsigned reg) const {
    if (reg == reg_null) return 0;
    return sgpr[reg] | uint64_t{sgpr[(reg + 1) % scalar_registers]} << 32;
  }
  void set_pair(unsigned reg, uint64_t value) {
    set(reg, static_cast<uint32_t>(value));
    if (reg != reg_null) set(reg + 1, static_cast<uint32_t>(value >> 32));
  }
  void set(unsigned reg, uint32_t value) {
    if (reg != reg_null && reg < scalar_registers) sgpr[reg] = value;
  }

  /// A wave mask in a register: one dword in wave32, two in wave64.
  [[nodiscard]] uint64_t mask(unsigned reg) const { return lanes == 32 ? sgpr[reg] : pair(reg); }
  void set_mask(unsigned reg, uint64_t value) {
    if (lanes == 32)
      set(reg, static_cast<uint32_t>(value));
    else
      set_pair(reg, value);
  }
  [[nodiscard]] uint64_t exec() const { return mask(reg_exec); }
  [[nodiscard]] uint64_t vcc() const { return mask(reg_vcc); }
  [[nodiscard]] uint32_t m0() const { return sgpr[reg_m0]; }

  /// A scalar operand: register, constant or special value.
  [[nodiscard]] uint32_t read32(const Operand& o) const;
  [[nodiscard]] uint64_t read64(const Operand& o) const;
  void write32(const Operand& o, uint32_t value) { set(o.reg, value); }
  void write64(const Operand& o, uint64_t value) { set_pair(o.reg, value); }

  /// A lane mask as one word of all ones or zeros for each lane.
  [[nodiscard]] const uint32_t* expand(uint64_t bits) {
    if (bits != expanded) {
      for (unsigned l = 0; l < 64; ++l) select[l] = (bits >> l & 1) != 0 ? ~0u : 0u;
      expanded = bits;
    }
    return select.data();
  }

  Flow fail(ErrorKind kind, std::string what, int lane = -1) {
    fault = {kind, std::move(what), lane};
    return Flow::fault;
  }
};

/// Handlers by opcode; null where an opcode is not supported. Each family of instructions fills in its own.
using HandlerTable = std::array<Handler, opcode_count>;
[[nodiscard]] const HandlerTable& handlers();

/// An instruction with its handler; one that is not supported gets a handler that says so.
[[nodiscard]] Step make_step(const Instruction& in);

void add_salu(HandlerTable&);
void add_control(HandlerTable&);
void add_scalar_memory(HandlerTable&);
void add_integer(HandlerTable&);
void add_integer_wide(HandlerTable&);
void add_integer_16(HandlerTable&);
void add_packed(HandlerTable&);
void add_float_32(HandlerTable&);
void add_float_16(HandlerTable&);
void add_float_64(HandlerTable&);
void add_divide(HandlerTable&);
void add_transcendental(HandlerTable&);
void add_convert(HandlerTable&);
void add_compare(HandlerTable&);
void add_lanes(HandlerTable&);
void add_lds(HandlerTable&);
void add_flat(HandlerTable&);
void add_buffer(HandlerTable&);
void add_typed_buffer(HandlerTable&);

/// What clocks read: the wave's own instructions, so that runs repeat exactly; faster and from another start
/// where other choices are asked for.
[[nodiscard]] inline uint64_t clock_of(const Wave& w) {
  constexpr uint64_t later = 1'000'003;
  return w.launch->other_turns == 0 ? w.instructions : 3 * w.instructions + later;
}

/// Runs a wave until it ends, waits, faults or has run `quantum` instructions (yield).
[[nodiscard]] Flow run_wave(Wave& wave, uint64_t quantum);

/// "pc 0x40: v_foo_b32 v0, v1", with the kernel, workgroup and wave before it.
[[nodiscard]] Error describe_fault(const Wave& wave);

} // namespace lanewise::rdna2::emu
