#include "analysis/buffer_roots.hpp"

#include "ir/dominators.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::analysis {

using namespace ir;

namespace {

/// Grows upwards: not seen yet; a number; made of one pointer; anything.
constexpr uint32_t kUnseen = ~1u, kNumber = ~2u, kMixed = kNoRoot;

uint32_t joined(uint32_t a, uint32_t b) {
  if (a == kUnseen || a == b) return b;
  if (b == kUnseen) return a;
  return kMixed;
}

/// Of an operation on both: a number does not change what a pointer points into.
uint32_t combined(uint32_t a, uint32_t b) {
  if (a == kNumber) return b;
  if (b == kNumber) return a;
  return joined(a, b);
}

class Roots {
 public:
  Roots(const Function& f, std::span<const uint32_t> pointers)
      : f_(f), pointers_(pointers), dominators_(f), root_(f.value_count(), kUnseen) {}

  std::vector<uint32_t> run() {
    for (uint32_t i = 0; i < root_.size(); ++i)
      if (f_[Value{i}].op == Op::constant) root_[i] = kNumber;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Block b : dominators_.reverse_postorder())
        for (const Value v : f_[b].instructions) {
          const uint32_t r = root_of(v);
          changed = changed || r != root_[v.index];
          root_[v.index] = r;
        }
    }
    for (uint32_t& r : root_)
      if (r >= kNumber) r = kNoRoot;
    return std::move(root_);
  }

 private:
  [[nodiscard]] uint32_t root_of(Value v) const {
    const Inst& inst = f_[v];
    if (inst.op == Op::phi) {
      uint32_t r = kUnseen;
      for (const Value o : f_.operands(v)) r = joined(r, root_[o.index]);
      return r;
    }
    if (inst.op == Op::extract)
      if (const auto at = kernarg_offset(f_, f_.operand(v, 0)))
        return pointer_at(*at + static_cast<uint32_t>(inst.imm) *
                                    MemoryAccess::unpack(f_[f_.operand(v, 0)].imm).bytes);
    if (inst.op == Op::select) return joined(root_[f_.operand(v, 1).index], root_[f_.operand(v, 2).index]);
    switch (info(inst.op).kind) {
    case OpKind::pure: break;
    case OpKind::load:
      if (const auto at = kernarg_offset(f_, v); at && inst.components == 1) return pointer_at(*at);
      return kNumber; // as an address it has no root
    case OpKind::input:
    case OpKind::atomic: return kNumber;
    default: return kMixed;
    }
    uint32_t r = kNumber;
    for (const Value o : f_.operands(v)) {
      if (root_[o.index] == kUnseen) return kUnseen;
      r = combined(r, root_[o.index]);
    }
    return r;
  }

  /// The pointer that a dword of the kernarg segment belongs to, either half.
  [[nodiscard]] uint32_t pointer_at(uint32_t offset) const {
    const auto behind = std::ranges::upper_bound(pointers_, offset);
    if (behind == pointers_.begin() || offset - *(behind - 1) >= 8) return kNumber;
    return *(behind - 1);
  }

  const Function& f_;
  std::span<const uint32_t> pointers_;
  Dominators dominators_;
  std::vector<uint32_t> root_;
};

} // namespace

std::optional<uint32_t> kernarg_offset(const Function& f, Value load) {
  if (f[load].op != Op::load || MemoryAccess::unpack(f[load].imm).space != Space::global) return {};
  Value address = f.operand(load, 0);
  uint64_t offset = 0;
  if (f[address].op == Op::add && f.is_constant(f.operand(address, 1))) {
    offset = f[f.operand(address, 1)].imm;
    address = f.operand(address, 0);
  }
  const bool arguments =
      f[address].op == Op::input && static_cast<Input>(f[address].imm) == Input::kernarg_ptr;
  return arguments && offset < kNumber - 64 ? std::optional(static_cast<uint32_t>(offset)) : std::nullopt;
}

std::vector<uint32_t> buffer_roots(const Function& f, std::span<const uint32_t> pointers) {
  if (pointers.empty()) return std::vector<uint32_t>(f.value_count(), kNoRoot);
  return Roots(f, pointers).run();
}

} // namespace lanewise::analysis
