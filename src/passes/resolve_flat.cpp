// Flat accesses whose address is known to lie in one aperture:
//
//   load.flat pack64(x, shared aperture)       ->  load.lds x
//   load.flat pack64(x, private aperture)      ->  load.scratch x
//   load.flat kernarg_ptr + c                  ->  load.global kernarg_ptr + c
//
// Known is what follows from constants, inputs and additions of 32-bit offsets, through selects and phis. A
// program whose offset carries an address out of its aperture is wrong; which wrong access it makes may
// change.
#include "analysis/users.hpp"
#include "container/guest_abi.hpp"
#include "ir/builder.hpp"
#include "passes/passes.hpp"

#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

/// What is known of an address (i64), or of the upper half of one (i32). Only ever moves down this list.
enum class Known : uint8_t { nothing_yet, lds, scratch, global, unknown };

Known of_high_half(uint64_t high) {
  if (high == guest_abi::shared_aperture_hi) return Known::lds;
  return high == guest_abi::private_aperture_hi ? Known::scratch : Known::global;
}

class ResolveFlat {
 public:
  explicit ResolveFlat(Function& f) : f_(f) {}

  bool run() {
    const auto accesses = flat_accesses();
    if (accesses.empty()) return false;
    solve();
    bool changed = false;
    for (const Value v : accesses) changed |= resolve(v);
    if (changed) place_low_halves();
    return changed;
  }

 private:
  [[nodiscard]] std::vector<Value> flat_accesses() const {
    std::vector<Value> list;
    for (const BasicBlock& b : f_.blocks) {
      for (const Value v : b.instructions) {
        const Op op = f_[v].op;
        if (op != Op::load && op != Op::store && op != Op::atomic) continue;
        if (MemoryAccess::unpack(f_[v].imm).space == Space::flat) list.push_back(v);
      }
    }
    return list;
  }

  [[nodiscard]] Known known(Value v) const {
    if (f_.is_constant(v)) return of_high_half(f_[v].type == Type::i64 ? f_[v].imm >> 32 : f_[v].imm);
    return known_[v.index];
  }

  static Known meet(Known a, Known b) {
    if (a == Known::nothing_yet) return b;
    if (b == Known::nothing_yet) return a;
    return a == b ? a : Known::unknown;
  }

  /// Not an address but an offset: a constant or a number of at most 32 bits.
  [[nodiscard]] bool is_offset(Value v) const {
    const Op op = f_[v].op;
    return op == Op::constant || op == Op::zext || op == Op::sext;
  }

  [[nodiscard]] Known evaluate(Value v) const {
    switch (f_[v].op) {
    case Op::input: return f_[v].type == Type::i64 ? Known::global : Known::unknown;
    case Op::zext: return Known::global; // upper half 0
    case Op::pack64: return known(f_.operand(v, 1));
    case Op::select: return meet(known(f_.operand(v, 1)), known(f_.operand(v, 2)));
    case Op::phi: {
      Known k = Known::nothing_yet;
      for (const Value o : f_.operands(v)) k = meet(k, known(o));
      return k;
    }
    case Op::add: {
      if (f_[v].type != Type::i64) return Known::unknown;
      const Value x = f_.operand(v, 0), y = f_.operand(v, 1);
      if (is_offset(y)) return known(x);
      return is_offset(x) ? known(y) : Known::unknown;
    }
    case Op::sub:
      return f_[v].type == Type::i64 && is_offset(f_.operand(v, 1)) ? known(f_.operand(v, 0))
                                                                    : Known::unknown;
    default: return Known::unknown;
    }
  }

  /// Each value moves down at most twice, so this is linear in uses.
  void solve() {
    const analysis::Users users(f_);
    known_.assign(f_.value_count(), Known::nothing_yet);
    std::vector<Value> work;
    const auto update = [&](Value v) {
      if (f_[v].type != Type::i64 && f_[v].type != Type::i32) return;
      const Known now = evaluate(v);
      if (now == known_[v.index]) return;
      known_[v.index] = now;
      work.push_back(v);
    };
    for (const BasicBlock& b : f_.blocks) {
      for (const Value v : b.instructions) update(v);
    }
    while (!work.empty()) {
      const Value v = work.back();
      work.pop_back();
      for (const Value user : users.of(v)) update(user);
    }
  }

  bool resolve(Value v) {
    const Value address = f_.operand(v, 0);
    const Known k = known(address);
    MemoryAccess m = MemoryAccess::unpack(f_[v].imm);
    switch (k) {
    case Known::lds: m.space = Space::lds; break;
    case Known::scratch: m.space = Space::scratch; break;
    case Known::global: m.space = Space::global; break;
    default: return false;
    }
    f_[v].imm = m.pack();
    if (k != Known::global) narrow_.push_back(v);
    return true;
  }

  /// LDS and scratch have 32-bit addresses: the low half, made in front of the access.
  void place_low_halves() {
    std::vector<bool> wanted(f_.value_count());
    for (const Value v : narrow_) wanted[v.index] = true;
    std::vector<Value> old;
    for (uint32_t i = 0; i < f_.blocks.size() && !narrow_.empty(); ++i) {
      auto& list = f_.blocks[i].instructions;
      old.clear();
      old.swap(list);
      Builder b(f_, Block{i});
      for (const Value v : old) {
        if (v.index < wanted.size() && wanted[v.index]) {
          b.pc = f_[v].pc;
          const Value low = b.lo32(f_.operand(v, 0));
          f_.operands(v)[0] = low;
        }
        list.push_back(v);
      }
    }
  }

  Function& f_;
  std::vector<Known> known_;
  std::vector<Value> narrow_;
};

} // namespace

bool resolve_flat(Function& f) { return ResolveFlat(f).run(); }

} // namespace lanewise::passes
