// Wave masks that go through phis as numbers become per-lane phis:
//
//   w = phi i32 ballot(m), ballot(n)              p = phi u1 m, n
//   x = lane_bit(w)                         ->    x = p
//   y = ne(w, 0)                                  y = any(p)
//
// also around loops, through and/or/xor/not/select between phis, and where a wave64 mask lives in two 32-bit
// registers: w = pack64(phi(lo32(a), ...), phi(hi32(a), ...)). The words die where nobody reads them as
// numbers.
#include "analysis/users.hpp"
#include "ir/builder.hpp"
#include "ir/dominators.hpp"
#include "passes/passes.hpp"
#include "passes/replacements.hpp"

#include <unordered_map>

namespace lanewise::passes {

using namespace ir;

namespace {

/// A wave word: one value, or a wave64 word as two halves.
struct Word {
  Value lo, hi;
  [[nodiscard]] uint64_t key() const { return uint64_t{lo.index} << 32 | hi.index; }
};

enum class Shape : uint8_t { leaf, ballot, phi, logic };

class MaskPhis {
 public:
  explicit MaskPhis(Function& f) : f_(f), replaced_(f) {}

  bool run() {
    find_consumers();
    if (consumers_.empty()) return false;
    mark_masks();
    collect();
    if (needed_.empty()) return false;
    make_phis();
    make_logic();
    fill_phis();
    rebuild();
    replaced_.apply(f_);
    return true;
  }

 private:
  struct Needed {
    Word word;
    Shape shape;
  };

  /// lane_bit(w), w == 0 and w != 0, where w may be a mask that a phi carries.
  void find_consumers() {
    home_.resize(f_.value_count(), kNoBlock);
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) {
      for (const Value v : f_.blocks[i].instructions) {
        home_[v.index] = i;
        const Op op = f_[v].op;
        const bool test = (op == Op::eq || op == Op::ne) && f_.is_constant(f_.operand(v, 1), 0) &&
                          f_[f_.operand(v, 0)].type == f_.word_type();
        if (op == Op::lane_bit || test) consumers_.push_back(v);
      }
    }
  }

  /// Words that a ballot reaches through phis and bitwise operations.
  void mark_masks() {
    const analysis::Users users(f_);
    masks_.resize(f_.value_count());
    std::vector<Value> work;
    const auto mark = [&](Value v) {
      if (masks_[v.index]) return;
      masks_[v.index] = true;
      work.push_back(v);
    };
    for (const BasicBlock& b : f_.blocks) {
      for (const Value v : b.instructions) {
        if (f_[v].op == Op::ballot) mark(v);
      }
    }
    while (!work.empty()) {
      const Value v = work.back();
      work.pop_back();
      for (const Value user : users.of(v)) {
        if (carries(user)) mark(user);
      }
    }
  }

  /// A wave word is one for the wave. The same operations on numbers that differ among lanes are no masks,
  /// even where a ballot's word was moved into such a number.
  [[nodiscard]] bool carries(Value v) const {
    if (!f_[v].uniform) return false;
    switch (f_[v].op) {
    case Op::phi:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::not_:
    case Op::select:
    case Op::lo32:
    case Op::hi32:
    case Op::pack64: return f_[v].type == Type::i32 || f_[v].type == Type::i64;
    default: return false;
    }
  }

  [[nodiscard]] Word canonical(Word w) {
    for (;;) {
      if (!w.hi) {
        if (f_[w.lo].op != Op::pack64) return w;
        w = {f_.operand(w.lo, 0), f_.operand(w.lo, 1)};
      }
      if (f_.is_constant(w.lo) && f_.is_constant(w.hi)) {
        return {f_.constant(Type::i64, f_[w.lo].imm | f_[w.hi].imm << 32), {}};
      }
      const bool one =
          f_[w.lo].op == Op::lo32 && f_[w.hi].op == Op::hi32 && f_.operand(w.lo, 0) == f_.operand(w.hi, 0);
      if (!one) return w;
      w = {f_.operand(w.lo, 0), {}};
    }
  }

  [[nodiscard]] bool is_mask(Value v) const { return v.index < masks_.size() && masks_[v.index]; }

  [[nodiscard]] Shape shape(Word w) const {
    if (w.hi) {
      const bool phis =
          f_[w.lo].op == Op::phi && f_[w.hi].op == Op::phi && home_[w.lo.index] == home_[w.hi.index];
      const bool uniform = f_[w.lo].uniform && f_[w.hi].uniform;
      return phis && uniform && (is_mask(w.lo) || is_mask(w.hi)) ? Shape::phi : Shape::leaf;
    }
    if (!is_mask(w.lo)) return Shape::leaf;
    switch (f_[w.lo].op) {
    case Op::ballot: return Shape::ballot;
    case Op::phi: return Shape::phi;
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::not_: return Shape::logic;
    case Op::select: return f_[f_.operand(w.lo, 0)].uniform ? Shape::logic : Shape::leaf;
    default: return Shape::leaf;
    }
  }

  [[nodiscard]] Word incoming(Word phi, unsigned i) {
    return canonical({f_.operand(phi.lo, i), phi.hi ? f_.operand(phi.hi, i) : Value{}});
  }

  void collect() {
    std::vector<Word> work;
    const auto need = [&](Word w) {
      const Shape s = shape(w);
      if (s != Shape::phi && s != Shape::logic) return;
      if (!mask_.try_emplace(w.key()).second) return;
      needed_.push_back({w, s});
      work.push_back(w);
    };
    for (const Value c : consumers_) need(canonical({f_.operand(c, 0), {}}));
    while (!work.empty()) {
      const Word w = work.back();
      work.pop_back();
      const unsigned first = f_[w.lo].op == Op::select ? 1 : 0;
      for (unsigned i = first; i < f_[w.lo].operand_count; ++i) need(incoming(w, i));
    }
  }

  void make_phis() {
    for (const Needed& n : needed_) {
      if (n.shape != Shape::phi) continue;
      const Value p = f_.create(Op::phi, {}, Type::u1, 0, 1, f_[n.word.lo].pc);
      f_[p].uniform = false;
      mask_[n.word.key()] = p;
      new_phis_[home_[n.word.lo.index]].push_back(p);
    }
  }

  /// The mask of a word whose mask is made already or is a leaf; a leaf's lane_bit goes where `b` is.
  Value mask(Builder& b, Word w) {
    switch (shape(w)) {
    case Shape::ballot: return f_.operand(w.lo, 0);
    case Shape::leaf: return b.lane_bit(w.hi ? b.pack64(w.lo, w.hi) : w.lo);
    default: return mask_[w.key()];
    }
  }

  /// Operations are made behind the word's own, in the same order, so that operands come first.
  void make_logic() {
    const Dominators dominators(f_);
    for (const Block block : dominators.reverse_postorder()) {
      for (const Value v : f_[block].instructions) {
        const auto it = mask_.find(Word{v, {}}.key());
        const Op op = f_[v].op;
        if (it == mask_.end() || op == Op::phi) continue;
        Builder b(f_, behind_[v.index]);
        b.pc = f_[v].pc;
        const Value first = op == Op::select ? f_.operand(v, 0) : mask(b, incoming({v, {}}, 0));
        const Value second = op == Op::not_ ? Value{} : mask(b, incoming({v, {}}, 1));
        if (op == Op::select) {
          it->second = b.select(first, second, mask(b, incoming({v, {}}, 2)));
        } else {
          it->second = second ? b.emit(op, {first, second}) : b.not_(first);
        }
      }
    }
  }

  void fill_phis() {
    for (const Needed& n : needed_) {
      if (n.shape != Shape::phi) continue;
      const BasicBlock& block = f_.blocks[home_[n.word.lo.index]];
      std::vector<Value> operands;
      for (unsigned i = 0; i < block.predecessors.size(); ++i) {
        Builder b(f_, at_end_[block.predecessors[i].index]);
        operands.push_back(mask(b, incoming(n.word, i)));
      }
      f_.set_operands(mask_[n.word.key()], operands);
    }
    for (const Value c : consumers_) {
      const Word w = canonical({f_.operand(c, 0), {}});
      const auto it = mask_.find(w.key());
      if (it == mask_.end() || !it->second) continue;
      Builder b(f_, behind_[c.index]);
      b.pc = f_[c].pc;
      Value now = it->second;
      if (f_[c].op != Op::lane_bit) now = b.any(now);
      if (f_[c].op == Op::eq) now = b.not_(now);
      replaced_.set(c, now);
    }
  }

  void rebuild() {
    std::vector<Value> old;
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) {
      auto& list = f_.blocks[i].instructions;
      old.swap(list);
      list.clear();
      list.reserve(old.size());
      const auto add = [&](std::unordered_map<uint32_t, std::vector<Value>>& from, uint32_t key) {
        if (const auto it = from.find(key); it != from.end())
          list.insert(list.end(), it->second.begin(), it->second.end());
      };
      add(new_phis_, i);
      for (const Value v : old) {
        if (info(f_[v].op).kind == OpKind::end) add(at_end_, i);
        list.push_back(v);
        add(behind_, v.index);
      }
    }
  }

  Function& f_;
  Replacements replaced_;
  std::vector<Value> consumers_;
  std::vector<uint32_t> home_; ///< block of each value
  std::vector<bool> masks_;
  std::vector<Needed> needed_;
  std::unordered_map<uint64_t, Value> mask_;                                    ///< by Word::key
  std::unordered_map<uint32_t, std::vector<Value>> new_phis_, at_end_, behind_; ///< by block, block, value
};

} // namespace

bool mask_phis(Function& f) { return MaskPhis(f).run(); }

} // namespace lanewise::passes
