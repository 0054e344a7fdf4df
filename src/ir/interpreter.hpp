// Executes the IR, a wave at a time: the reference that every pass is held against.
//
// Uniform values are computed once, per-lane values for all lanes of the wave. Workgroups run one after the
// other, their waves in turns between barriers. Nothing here is shared with the guest ISA's emulator.
#pragma once

#include "ir/graphics.hpp"
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

/// What a sample of one lane may depend on.
struct ImageSample {
  ImageAccess access;
  std::array<uint32_t, kImageWords + kSamplerWords> descriptors{}; ///< the image's, then the sampler's
  unsigned address_words = 0;
  unsigned place_in_quad = 0; ///< of the lane: 0 and 1 lie in one row, 2 and 3 in the next
  /// Of the lanes of the quad, whether they are on or off; if the level is given, all four are the lane's
  /// own.
  std::array<std::array<uint32_t, kMaxImageAddressWords>, 4> address{};
};

/// What one lane exports.
struct LaneExport {
  ExportTarget target;
  std::array<uint32_t, 3> workgroup{};
  uint64_t item = 0; ///< number of the lane in its workgroup
  std::array<uint32_t, 4> words{};
};

/// Images and what comes behind exports: the interpreter knows who samples and exports what, not what that
/// means.
class InterpreterGraphics {
 public:
  virtual ~InterpreterGraphics() = default;
  /// As many words as the access has components count. Depends on nothing but the argument.
  virtual std::array<uint32_t, 4> sample(const ImageSample& s) = 0;
  virtual void take(const LaneExport& e) = 0;
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
  InterpreterGraphics* graphics = nullptr; ///< none: samples and exports are errors
};

/// Whether lanes of a wave may execute apart without changing what a program without races leaves: not where
/// they take turns at a word and tell from what they get, or from rounding, who came first.
[[nodiscard]] bool lanes_may_part(const Function& f);

struct InterpreterResult {
  uint64_t instructions = 0; ///< executed, of all waves
};

/// Errors: `check` for IR that the verifier refuses; `call` for an impossible dispatch; `input` for an access
/// outside memory, a trap, or a barrier that not all waves reach, with guest pc, workgroup, wave and lane;
/// `limit` when max_instructions is exceeded; `unsupported` for buffer formats, by number, and for samples
/// and exports without InterpreterDispatch::graphics.
[[nodiscard]] Expected<InterpreterResult> interpret(const Function& f, const InterpreterDispatch& dispatch,
                                                    InterpreterMemory& memory);

} // namespace lanewise::ir
