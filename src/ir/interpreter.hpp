// Executes the IR, a wave at a time: the reference that every pass is held against.
//
// Uniform values are computed once, per-lane values for all lanes of the wave. Workgroups run one after the
// other, their waves in turns between barriers. Nothing here is shared with the guest ISA's emulator.
#pragma once

#include "ir/ir.hpp"
#include "support/error.hpp"

namespace lanewise::ir {

/// Guest global memory. All functions return false where the address is not (wholly) inside a buffer.
class InterpreterMemory {
 public:
  virtual ~InterpreterMemory() = default;
  /// 1, 2, 4 or 8 bytes, little endian; upper bits of `value` become zero.
  virtual bool load(uint64_t address, unsigned bytes, uint64_t& value) = 0;
  virtual bool store(uint64_t address, unsigned bytes, uint64_t value) = 0;
};

/// One piece of memory from a given address on, for tests and small programs.
class FlatMemory final : public InterpreterMemory {
 public:
  FlatMemory(uint64_t base_, size_t size) : base(base_), bytes(size) {}
  bool load(uint64_t address, unsigned count, uint64_t& value) override;
  bool store(uint64_t address, unsigned count, uint64_t value) override;

  uint64_t base;
  std::vector<uint8_t> bytes;
};

/// The order in which the lanes of a wave execute. Apart, a lane goes on by itself up to the next operation
/// that lanes do together, or to the next barrier in a program that has none: what fences are for shows.
enum class LaneOrder : uint8_t {
  together,   ///< each instruction in all lanes before the next, as on the guest
  ascending,  ///< apart, the lowest lane first
  descending, ///< apart, the highest lane first
};

struct InterpreterDispatch {
  std::array<uint32_t, 3> grid{1, 1, 1};      ///< work-items; workgroups at the border may be partial
  std::array<uint32_t, 3> workgroup{1, 1, 1}; ///< work-items
  uint64_t kernarg_ptr = 0, dispatch_ptr = 0, queue_ptr = 0, dispatch_id = 0, image_base = 0;
  uint32_t dynamic_lds_bytes = 0; ///< in addition to Function::lds_bytes
  /// Invocations that carry one guest wave after wave lowering; 0: the function is at wave level.
  unsigned host_invocations = 0;
  LaneOrder order = LaneOrder::together;
  /// Instructions of all waves together, a bound on programs that do not end.
  uint64_t max_instructions = uint64_t{1} << 32;
};

/// Whether lanes of a wave may execute apart without changing what a program without races leaves: not where
/// they take turns at a word and tell from what they get, or from rounding, who came first.
[[nodiscard]] bool lanes_may_part(const Function& f);

struct InterpreterResult {
  uint64_t instructions = 0; ///< executed, of all waves
};

/// Errors: `check` for IR that the verifier refuses; `call` for an impossible dispatch; `input` for an access
/// outside memory, a trap, or a barrier that not all waves reach, with guest pc, workgroup, wave and lane;
/// `limit` when max_instructions is exceeded; `unsupported` for buffer formats, by number.
[[nodiscard]] Expected<InterpreterResult> interpret(const Function& f, const InterpreterDispatch& dispatch,
                                                    InterpreterMemory& memory);

} // namespace lanewise::ir
