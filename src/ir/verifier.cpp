#include "ir/verifier.hpp"

#include "ir/dominators.hpp"
#include "ir/graphics.hpp"
#include "ir/printer.hpp"
#include "ir/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::ir {
namespace {

using namespace std::string_view_literals;

/// What the operands of an operation must be, one letter each:
///   * anything   n integer   k integer or u1   f float   m u1   i i32   l i64   w wave word
///   a address of the access' space     0, 1 type of that operand     + one or more like the letter before
///   ~ any number of anything
std::string_view signature(Op op) {
  switch (op) {
  case Op::constant:
  case Op::input:
  case Op::lane_id:
  case Op::phi:
  case Op::barrier:
  case Op::wave_fence:
  case Op::memory_fence:
  case Op::group_fence:
  case Op::clock:
  case Op::host_lane:
  case Op::host_wave:
  case Op::br:
  case Op::ret:
  case Op::trap:
  case Op::param_scalar:
  case Op::param_vector: return "";
  case Op::call: return "l~";
  case Op::call_return: return "~";
  case Op::call_scalar:
  case Op::call_vector: return "i";
  case Op::select: return "m*1";
  case Op::bitcast:
  case Op::extract:
  case Op::dpp: return "*";
  case Op::zext:
  case Op::sext:
  case Op::not_: return "k";
  case Op::trunc:
  case Op::bit_reverse:
  case Op::popcount:
  case Op::find_lsb:
  case Op::find_msb:
  case Op::s2f:
  case Op::u2f: return "n";
  case Op::pack64: return "ii";
  case Op::lo32:
  case Op::hi32: return "l";
  case Op::and_:
  case Op::or_:
  case Op::xor_:
  case Op::eq:
  case Op::ne: return "k0";
  case Op::add_c:
  case Op::carry:
  case Op::sub_c:
  case Op::borrow: return "n0m";
  case Op::ubfe:
  case Op::sbfe:
  case Op::byte_perm: return "iii";
  case Op::ffma:
  case Op::fdiv_scale:
  case Op::fdiv_scale_flag:
  case Op::fdiv_fixup: return "f00";
  case Op::fdiv_fmas: return "f00m";
  case Op::fadd:
  case Op::fmul:
  case Op::fmin:
  case Op::fmax:
  case Op::fcmp: return "f0";
  case Op::fldexp:
  case Op::fclass:
  case Op::ftrig_preop: return "fi";
  case Op::ballot:
  case Op::any:
  case Op::host_ballot:
  case Op::host_any:
  case Op::cond_br: return "m";
  case Op::lane_bit: return "w";
  case Op::mbcnt: return "i";
  case Op::read_lane:
  case Op::permute:
  case Op::host_shuffle:
  case Op::host_broadcast: return "*i";
  case Op::read_first: return "*m";
  case Op::push: return "*im";
  case Op::load: return "am";
  case Op::store:
  case Op::atomic: return "am*+";
  case Op::buffer_load: return "iiiiiiim";
  case Op::buffer_store:
  case Op::buffer_atomic: return "iiiiiiim*+";
  case Op::image_sample:
  case Op::image_sample_implicit: return "iiiiiiiiiiiimi+";
  case Op::export_: return "mi+";
  default: return info(op).operands == 1 ? "f" : "n0"; // float functions, integer arithmetic
  }
}

class Verifier {
 public:
  explicit Verifier(const Function& f) : f_(f), home_(f.value_count(), kNoBlock), place_(f.value_count()) {}

  Expected<void> run() {
    if (f_.wave_size != 32 && f_.wave_size != 64) report("wave size is neither 32 nor 64");
    if (f_.blocks.empty()) report("the function has no blocks");
    place();
    links();
    if (ok()) {
      const Dominators dominators(f_);
      for (block_ = 0; ok() && block_ < f_.blocks.size(); ++block_) block(dominators);
    }
    if (!ok()) return std::unexpected(std::move(*error_));
    return {};
  }

 private:
  [[nodiscard]] bool ok() const { return !error_; }

  void report(std::string what, std::optional<Value> at = {}) {
    if (error_) return;
    std::string where = fmt::format("function {}", f_.name);
    if (block_ < f_.blocks.size()) where += fmt::format(", b{}", block_);
    if (at) {
      const Inst& inst = f_[*at];
      where += ": ";
      if (inst.type != Type::none) where += ValueNames(f_)(*at) + " = ";
      where += name(inst.op);
      if (inst.pc) where += fmt::format(" @{:#x}", inst.pc);
    }
    error_ = Error{ErrorKind::check, std::move(what), std::move(where), {}};
  }

  void place() {
    for (block_ = 0; ok() && block_ < f_.blocks.size(); ++block_) {
      const auto& list = f_.blocks[block_].instructions;
      for (uint32_t i = 0; i < list.size(); ++i) {
        const Value v = list[i];
        if (!v || v.index >= f_.value_count()) return report("an instruction's handle is invalid");
        if (f_.is_constant(v)) return report("a constant stands in a block");
        if (home_[v.index] != kNoBlock) return report("stands twice", v);
        home_[v.index] = static_cast<uint32_t>(block_);
        place_[v.index] = i;
      }
    }
  }

  /// Every edge is known at both ends, as often as it exists.
  void links() {
    std::vector<std::vector<Block>> incoming(f_.blocks.size());
    for (block_ = 0; ok() && block_ < f_.blocks.size(); ++block_) {
      const BasicBlock& b = f_.blocks[block_];
      if (b.successor_count > 2) return report("more than two successors");
      for (unsigned i = 0; i < b.successor_count; ++i) {
        if (b.successors[i].index >= f_.blocks.size()) return report("a successor does not exist");
        incoming[b.successors[i].index].push_back({static_cast<uint32_t>(block_)});
      }
    }
    for (block_ = 0; ok() && block_ < f_.blocks.size(); ++block_) {
      auto predecessors = f_.blocks[block_].predecessors;
      std::ranges::sort(predecessors);
      if (predecessors != incoming[block_]) return report("predecessors are not the blocks that lead here");
      if (block_ == 0 && !predecessors.empty()) return report("the entry block has predecessors");
    }
  }

  void block(const Dominators& dominators) {
    const BasicBlock& b = f_.blocks[block_];
    if (b.instructions.empty() || info(f_[b.instructions.back()].op).kind != OpKind::end) {
      return report("the block does not end with a terminator");
    }
    bool phis = true;
    for (const Value v : b.instructions) {
      const Op op = f_[v].op;
      if (info(op).kind == OpKind::end && v != b.instructions.back()) return report("a terminator inside", v);
      if (op == Op::phi && !phis) return report("a phi behind other instructions", v);
      phis = op == Op::phi;
      operands(v);
      if (ok()) types(v);
      if (ok()) rules(v);
      if (ok()) uniformity(v);
      if (ok()) dominance(v, dominators);
      if (!ok()) return;
    }
    const Op end = f_[b.instructions.back()].op;
    const unsigned wanted = end == Op::br ? 1 : end == Op::cond_br ? 2 : 0;
    if (b.successor_count != wanted)
      report(fmt::format("needs {} successors", wanted), b.instructions.back());
  }

  void operands(Value v) {
    const Inst& inst = f_[v];
    const int wanted = info(inst.op).operands;
    if (wanted != kVariadic && inst.operand_count != wanted) {
      return report(fmt::format("has {} operands, needs {}", inst.operand_count, wanted), v);
    }
    for (const Value o : f_.operands(v)) {
      if (!o || o.index >= f_.value_count()) return report("an operand is no value", v);
      const Inst& def = f_[o];
      if (def.type == Type::none) return report("an operand has no result", v);
      if (def.op != Op::constant && home_[o.index] == kNoBlock)
        return report("an operand stands in no block", v);
      if (def.components != 1 && inst.op != Op::extract) return report("a tuple is used without extract", v);
    }
  }

  [[nodiscard]] bool matches(char letter, Type t, const Inst& inst, std::span<const Value> ops) const {
    switch (letter) {
    case '*': return true;
    case 'n': return is_integer(t);
    case 'k': return is_integer(t) || t == Type::u1;
    case 'f': return is_float(t);
    case 'm': return t == Type::u1;
    case 'i': return t == Type::i32;
    case 'l': return t == Type::i64;
    case 'w': return t == f_.word_type();
    case 'a': {
      const Space space = MemoryAccess::unpack(inst.imm).space;
      return t == (space == Space::lds || space == Space::scratch ? Type::i32 : Type::i64);
    }
    default: return t == f_[ops[static_cast<size_t>(letter - '0')]].type;
    }
  }

  void types(Value v) {
    const Inst& inst = f_[v];
    const auto ops = f_.operands(v);
    if (inst.op == Op::phi) {
      if (ops.size() != f_.blocks[block_].predecessors.size()) report("one operand for each predecessor", v);
      for (const Value o : ops) {
        if (f_[o].type != inst.type) report("an operand has another type", v);
      }
      return;
    }
    const std::string_view letters = signature(inst.op);
    const bool open = letters.ends_with('+') || letters.ends_with('~'), mixed = letters.ends_with('~');
    const size_t fixed = letters.size() - (open ? 1 : 0);
    if (open ? ops.size() < fixed : ops.size() != fixed) return report("too few or too many operands", v);
    for (size_t i = 0; i < ops.size(); ++i) {
      const bool rest = i >= fixed;
      const bool fits = rest ? mixed || f_[ops[i]].type == f_[ops[fixed - 1]].type
                             : matches(letters[i], f_[ops[i]].type, inst, ops);
      if (!fits) return report(fmt::format("operand {} has the wrong type {}", i, name(f_[ops[i]].type)), v);
    }
    result(v);
  }

  void result(Value v) {
    const Inst& inst = f_[v];
    const auto ops = f_.operands(v);
    const bool is_load = inst.op == Op::load || inst.op == Op::buffer_load || is_image(inst.op);
    if (inst.components == 0 || (inst.components != 1 && !is_load))
      return report("only a load makes a tuple", v);
    if (inst.type != f_.result_type(inst.op, ops, inst.type)) return report("the result's type is wrong", v);
    const Type t = inst.type, from = ops.empty() ? Type::none : f_[ops[0]].type;
    bool fits = true;
    switch (inst.op) {
    case Op::bitcast: fits = bit_width(t) == bit_width(from); break;
    case Op::zext:
    case Op::sext: fits = is_integer(t) && bit_width(t) > bit_width(from); break;
    case Op::trunc: fits = is_integer(t) && bit_width(t) < bit_width(from); break;
    case Op::extract: fits = t == from && inst.imm < f_[ops[0]].components; break;
    case Op::input:
      fits = inst.imm < static_cast<uint64_t>(Input::count_) && t == type_of(static_cast<Input>(inst.imm));
      break;
    case Op::f2f:
    case Op::s2f:
    case Op::u2f: fits = is_float(t); break;
    case Op::f2s:
    case Op::f2u: fits = is_integer(t); break;
    case Op::image_sample:
    case Op::image_sample_implicit: fits = t == Type::i32 || t == Type::f32; break;
    case Op::atomic: fits = t == f_[ops[2]].type; break;
    case Op::buffer_atomic: fits = t == f_[ops[8]].type; break;
    default: fits = t != Type::none || info(inst.op).result == ResultRule::none;
    }
    if (!fits) report(fmt::format("cannot have a result of type {}", name(t)), v);
  }

  void rules(Value v) {
    const Inst& inst = f_[v];
    if (is_image(inst.op)) return image_rules(v);
    if (inst.op == Op::export_ && inst.operand_count != 1 + ExportTarget::unpack(inst.imm).words())
      return report("has the wrong number of words", v);
    const OpKind kind = info(inst.op).kind;
    if (kind != OpKind::load && kind != OpKind::store && kind != OpKind::atomic) return;
    const MemoryAccess m = MemoryAccess::unpack(inst.imm);
    const bool buffer = inst.op >= Op::buffer_load;
    const size_t data = buffer ? 8 : 2;
    const Type t = kind == OpKind::load ? inst.type : f_[f_.operand(v, static_cast<unsigned>(data))].type;
    if (m.bytes != 1 && m.bytes != 2 && m.bytes != 4 && m.bytes != 8)
      return report("accesses 1, 2, 4 or 8 bytes", v);
    if (t == Type::u1 || m.bytes * 8u > bit_width(t))
      return report("accesses more bytes than the type has", v);
    if (m.align == 0 || (m.align & (m.align - 1))) return report("the alignment is no power of two", v);
    if (kind != OpKind::atomic) {
      if (m.atomic != AtomicOp::none) report("has an atomic operation", v);
      return;
    }
    const bool compares = m.atomic == AtomicOp::cmpswap || m.atomic == AtomicOp::fcmpswap ||
                          m.atomic == AtomicOp::mskor || m.atomic == AtomicOp::wrap;
    if (m.atomic == AtomicOp::none || name(m.atomic) == "?") return report("has no atomic operation", v);
    if (inst.operand_count != data + (compares ? 2 : 1))
      return report("has the wrong number of data operands", v);
    if (m.bytes * 8u != bit_width(t)) report("an atomic accesses its whole type", v);
  }

  void image_rules(Value v) {
    const Inst& inst = f_[v];
    const auto a = ImageAccess::unpack(inst.imm);
    if (a.level > ImageAccess::Level::derivatives || a.implicit() != (inst.op == Op::image_sample_implicit))
      return report("takes its level otherwise than the operation says", v);
    if (a.dimension >= ImageAccess::Dimension::d2_msaa) return report("samples a multisampled image", v);
    if (inst.operand_count != kImageAddress + a.address_words())
      return report(fmt::format("has {} words of address, needs {}", inst.operand_count - kImageAddress,
                                a.address_words()),
                    v);
    if (inst.components != a.components()) report("gives another number of components than asked for", v);
  }

  void uniformity(Value v) {
    const Inst& inst = f_[v];
    const auto ops = f_.operands(v);
    if (inst.op == Op::cond_br && !f_[ops[0]].uniform && !f_.divergent)
      return report("branches on a value that lanes differ in", v);
    if ((inst.op == Op::read_lane || inst.op == Op::host_broadcast) && !f_[ops[1]].uniform) {
      return report("the lane to read is not uniform", v);
    }
    if (inst.type != Type::none && inst.uniform && !f_.derive_uniform(inst.op, ops, inst.imm)) {
      report("is called uniform but depends on the lane", v);
    }
  }

  void dominance(Value v, const Dominators& dominators) {
    const Block here{static_cast<uint32_t>(block_)};
    if (!dominators.reachable(here)) return;
    const auto ops = f_.operands(v);
    const bool phi = f_[v].op == Op::phi;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (f_.is_constant(ops[i])) continue;
      const Block def{home_[ops[i].index]};
      const Block use = phi ? f_[here].predecessors[i] : here;
      if (!dominators.reachable(use)) continue;
      const bool before = def == use && !phi ? place_[ops[i].index] < place_[v.index]
                                             : dominators.reachable(def) && dominators.dominates(def, use);
      if (!before)
        return report(fmt::format("operand {} is not defined on every way here", ValueNames(f_)(ops[i])), v);
    }
  }

  const Function& f_;
  size_t block_ = ~size_t{0};
  std::vector<uint32_t> home_, place_; ///< block and index of each value
  std::optional<Error> error_;
};

} // namespace

Expected<void> verify(const Function& f) { return Verifier(f).run(); }

} // namespace lanewise::ir
