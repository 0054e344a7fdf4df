#include "spirv/alignment.hpp"

#include "analysis/buffer_roots.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::spirv {
namespace {

using ir::Op;
using ir::Value;

constexpr uint8_t most = 3;

/// What the dispatcher makes is aligned to 8 bytes at least (docs/abi.md).
bool is_pointer(ir::Input which) {
  return which == ir::Input::kernarg_ptr || which == ir::Input::dispatch_ptr || which == ir::Input::queue_ptr;
}

class AlignmentRules {
 public:
  AlignmentRules(const ir::Function& f, const std::vector<uint8_t>& known, std::span<const uint32_t> aligned)
      : f_(f), known_(known), aligned_(aligned) {}

  [[nodiscard]] uint8_t operator()(Value v) const {
    const ir::Inst& inst = f_[v];
    switch (inst.op) {
    case Op::input: return is_pointer(static_cast<ir::Input>(inst.imm)) ? most : uint8_t{0};
    case Op::constant: return static_cast<uint8_t>(std::min<int>(most, std::countr_zero(inst.imm)));
    case Op::phi: return least_of(v, 0);
    case Op::add:
    case Op::sub:
    case Op::or_:
    case Op::xor_:
    case Op::umin:
    case Op::umax: return least_of(v, 0);
    case Op::select: return least_of(v, 1);
    case Op::and_: return std::max(operand(v, 0), operand(v, 1));
    case Op::mul: return static_cast<uint8_t>(std::min<int>(most, operand(v, 0) + operand(v, 1)));
    case Op::shl: return shifted(v);
    case Op::load: return inst.components == 1 && is_aligned_argument(v, 0) ? most : uint8_t{0};
    case Op::extract: return is_aligned_argument(f_.operand(v, 0), inst.imm) ? most : uint8_t{0};
    case Op::zext:
    case Op::sext:
    case Op::trunc:
    case Op::lo32:
    case Op::pack64:
    case Op::read_first:
    case Op::read_lane:
    case Op::permute:
    case Op::dpp:
    case Op::host_shuffle:
    case Op::host_broadcast: return ir::is_float(f_[f_.operand(v, 0)].type) ? uint8_t{0} : operand(v, 0);
    default: return 0;
    }
  }

 private:
  [[nodiscard]] uint8_t operand(Value v, unsigned i) const { return known_[f_.operand(v, i).index]; }
  [[nodiscard]] uint8_t least_of(Value v, unsigned first) const {
    uint8_t least = most;
    for (unsigned i = first; i < f_[v].operand_count; ++i) least = std::min(least, operand(v, i));
    return least;
  }
  [[nodiscard]] uint8_t shifted(Value v) const {
    const Value count = f_.operand(v, 1);
    const uint64_t by = f_.is_constant(count) ? f_[count].imm % ir::bit_width(f_[v].type) : 0;
    return static_cast<uint8_t>(std::min<uint64_t>(most, operand(v, 0) + by));
  }

  /// The component of a load is an aligned pointer, or its lower half.
  [[nodiscard]] bool is_aligned_argument(Value load, uint64_t component) const {
    if (aligned_.empty()) return false;
    const auto at = analysis::kernarg_offset(f_, load);
    return at && std::ranges::binary_search(aligned_,
                                            *at + component * ir::MemoryAccess::unpack(f_[load].imm).bytes);
  }

  const ir::Function& f_;
  const std::vector<uint8_t>& known_;
  std::span<const uint32_t> aligned_;
};

} // namespace

std::vector<uint8_t> known_low_zeros(const ir::Function& f, std::span<const uint32_t> aligned) {
  std::vector<uint8_t> known(f.value_count(), most);
  const AlignmentRules rules(f, known, aligned);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < known.size(); ++i) {
      const uint8_t now = std::min(known[i], rules({i}));
      changed |= now != known[i];
      known[i] = now;
    }
  }
  return known;
}

} // namespace lanewise::spirv
