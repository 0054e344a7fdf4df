// Scratch that is only reached by addresses known here becomes values, word by word:
//
//   store.scratch.4 i32 16, m, x                 w = select m, x, w0        (w0: what the word held)
//   ...                                   ->     ...
//   y = load.scratch.4 i32 16, n                 y = select n, w, 0         (w through phis where ways join)
//
// Code without optimisation keeps all its variables, and whole registers full of spilled SGPRs, in scratch.
// The selects are what lane demand is for. A program that also has an address nobody knows keeps its scratch,
// since that address may be any.
#include "ir/builder.hpp"
#include "ir/dominators.hpp"
#include "passes/passes.hpp"
#include "passes/replacements.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>

namespace lanewise::passes {

using namespace ir;

namespace {

/// The bytes of one component, inside one word or over two.
struct Piece {
  uint32_t word;
  unsigned shift; ///< of its low bit in the word
  unsigned bits;  ///< 8, 16, 32 or 64
};

class ScratchValues {
 public:
  explicit ScratchValues(Function& f) : f_(f), replaced_(f), dominators_(f) {}

  bool run() {
    if (!collect()) return false;
    rebuilt_.resize(f_.blocks.size());
    for (const Block b : dominators_.reverse_postorder()) rewrite(b);
    fill_phis();
    drop_trivial_phis();
    for (const Block b : dominators_.reverse_postorder()) {
      auto& list = f_[b].instructions;
      list = std::move(new_phis_[b.index]);
      list.insert(list.end(), rebuilt_[b.index].begin(), rebuilt_[b.index].end());
    }
    replaced_.apply(f_);
    if (std::ranges::find(kept_, true) == kept_.end()) f_.scratch_bytes = 0;
    return true;
  }

 private:
  [[nodiscard]] static uint64_t key(uint32_t a, uint32_t b) { return uint64_t{a} << 32 | b; }

  /// Finds the words that may go. False if there are none.
  bool collect() {
    if (f_.scratch_bytes == 0 || !f_.blocks[0].predecessors.empty()) return false;
    kept_.assign((f_.scratch_bytes + 3) / 4, false);
    for (const BasicBlock& b : f_.blocks) {
      for (const Value v : b.instructions) {
        if (is_unlinked(f_[v].op)) return false; // callers and callees have one scratch
        const OpKind kind = info(f_[v].op).kind;
        if (kind != OpKind::load && kind != OpKind::store && kind != OpKind::atomic) continue;
        const Op op = f_[v].op;
        if (op == Op::buffer_load || op == Op::buffer_store || op == Op::buffer_atomic) return false;
        const MemoryAccess m = MemoryAccess::unpack(f_[v].imm);
        if (m.space == Space::flat) return false;
        if (m.space != Space::scratch) continue;
        if (kind == OpKind::atomic || !f_.is_constant(f_.operand(v, 0))) return false;
        const uint64_t end = f_[f_.operand(v, 0)].imm + uint64_t{m.bytes} * components(v);
        if (end > f_.scratch_bytes) return false;
        accesses_.push_back(v);
      }
    }
    keep_odd_words();
    return std::ranges::any_of(accesses_, [&](Value v) { return goes(v); });
  }

  /// A component that lies across words in an odd way stays in memory, with all that shares words with it.
  void keep_odd_words() {
    const auto odd = [](Piece p) { return p.bits == 64 ? p.shift != 0 : p.shift + p.bits > 32; };
    const auto keep = [&](Value v) {
      bool changed = false;
      for (unsigned i = 0; i < components(v); ++i) {
        const Piece p = piece(v, i);
        const uint32_t last = p.word + (p.shift + p.bits - 1) / 32;
        for (uint32_t w = p.word; w <= last; ++w) changed |= !kept_[w], kept_[w] = true;
      }
      return changed;
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (const Value v : accesses_) {
        bool stays = false;
        for (unsigned i = 0; i < components(v); ++i) stays |= odd(piece(v, i)) || touches_kept(piece(v, i));
        changed |= stays && keep(v);
      }
    }
  }

  [[nodiscard]] bool touches_kept(Piece p) const {
    return kept_[p.word] || (p.bits == 64 && kept_[p.word + 1]);
  }

  [[nodiscard]] unsigned components(Value v) const {
    return f_[v].op == Op::store ? f_[v].operand_count - 2u : f_[v].components;
  }

  [[nodiscard]] Piece piece(Value v, unsigned component) const {
    const unsigned bytes = MemoryAccess::unpack(f_[v].imm).bytes;
    const auto at = static_cast<uint32_t>(f_[f_.operand(v, 0)].imm + uint64_t{bytes} * component);
    return {at / 4, at % 4 * 8, bytes * 8};
  }

  [[nodiscard]] bool goes(Value v) const {
    const OpKind kind = info(f_[v].op).kind;
    return (kind == OpKind::load || kind == OpKind::store) &&
           MemoryAccess::unpack(f_[v].imm).space == Space::scratch && !kept_[piece(v, 0).word];
  }

  // -- values of words --------------------------------------------------------------------------------------

  /// The word at the end of what is rewritten of a block. Phis get their operands when all is rewritten.
  Value read(uint32_t word, uint32_t block) {
    uint32_t b = block;
    for (;;) {
      if (const auto it = now_.find(key(b, word)); it != now_.end())
        return now_[key(block, word)] = it->second;
      const auto& preds = f_.blocks[b].predecessors;
      if (b == 0 || !dominators_.reachable({b})) return now_[key(block, word)] = f_.constant(Type::i32, 0);
      if (preds.size() != 1) break;
      b = preds[0].index;
    }
    const Value phi = f_.create(Op::phi, {}, Type::i32, 0, 1, f_.blocks[b].pc);
    f_[phi].uniform = false;
    new_phis_[b].push_back(phi);
    unfilled_.push_back({phi, word, b});
    now_[key(b, word)] = phi;
    return now_[key(block, word)] = phi;
  }

  void fill_phis() {
    std::vector<Value> incoming;
    for (size_t i = 0; i < unfilled_.size(); ++i) { // grows on the way
      const Unfilled u = unfilled_[i];
      incoming.clear();
      for (const Block p : f_.blocks[u.block].predecessors) incoming.push_back(read(u.word, p.index));
      f_.set_operands(u.phi, incoming);
    }
  }

  /// phi(x, x, itself) -> x, as long as there are any; what nested loops leave goes in simplify.
  void drop_trivial_phis() {
    constexpr unsigned rounds = 8;
    bool changed = true;
    for (unsigned round = 0; round < rounds && changed; ++round) {
      changed = false;
      for (const Unfilled& u : unfilled_) {
        if (!u.phi || replaced_(u.phi) != u.phi) continue;
        Value only;
        bool trivial = true;
        for (Value o : f_.operands(u.phi)) {
          o = replaced_(o);
          if (o == u.phi || o == only) continue;
          trivial = !only;
          if (!trivial) break;
          only = o;
        }
        if (!trivial || !only) continue;
        replaced_.set(u.phi, only);
        changed = true;
      }
    }
    for (auto& [block, phis] : new_phis_) std::erase_if(phis, [&](Value p) { return replaced_(p) != p; });
  }

  // -- accesses
  // -----------------------------------------------------------------------------------------------

  void rewrite(Block block) {
    Builder b(f_, rebuilt_[block.index]);
    for (const Value v : f_[block].instructions) {
      b.pc = f_[v].pc;
      const Op op = f_[v].op;
      if ((op == Op::load || op == Op::store) && goes(v)) {
        op == Op::load ? load(b, v, block.index) : store(b, v, block.index);
      } else if (const auto it = op == Op::extract ? parts_.find(f_.operand(v, 0).index) : parts_.end();
                 it != parts_.end()) {
        replaced_.set(v, it->second[f_[v].imm]);
      } else if (op == Op::phi) {
        new_phis_[block.index].push_back(v);
      } else {
        rebuilt_[block.index].push_back(v);
      }
    }
  }

  void load(Builder& b, Value v, uint32_t block) {
    const bool sign = MemoryAccess::unpack(f_[v].imm).sign_extend;
    const Type type = f_[v].type;
    const Value active = f_.operand(v, 1);
    std::vector<Value> parts;
    for (unsigned i = 0; i < f_[v].components; ++i) {
      const Piece p = piece(v, i);
      const Value low = read(p.word, block);
      Value bits = p.bits == 64 ? b.pack64(low, read(p.word + 1, block)) : narrow(b, low, p, sign);
      bits = resize(b, bits, bit_width(type), sign);
      const Value whole = is_float(type) ? b.bitcast(bits, type) : bits;
      parts.push_back(b.select(active, whole, b.constant(type, 0)));
    }
    if (f_[v].components == 1) replaced_.set(v, parts[0]);
    parts_.emplace(v.index, std::move(parts));
  }

  /// The piece as an i32, extended.
  static Value narrow(Builder& b, Value word, Piece p, bool sign) {
    if (p.bits == 32) return word;
    const Value up = b.shl(word, b.i32(32 - p.shift - p.bits)), down = b.i32(32 - p.bits);
    return sign ? b.ashr(up, down) : b.lshr(up, down);
  }

  /// An i32 or i64 as an integer of so many bits.
  static Value resize(Builder& b, Value v, unsigned bits, bool sign) {
    const unsigned have = bit_width(b.function[v].type);
    constexpr std::array<std::pair<unsigned, Type>, 4> types{
        {{8, Type::i8}, {16, Type::i16}, {32, Type::i32}, {64, Type::i64}}};
    const Type to = std::ranges::find(types, bits, &std::pair<unsigned, Type>::first)->second;
    if (have == bits) return v;
    if (have > bits) return b.trunc(v, to);
    return sign ? b.sext(v, to) : b.zext(v, to);
  }

  void store(Builder& b, Value v, uint32_t block) {
    const Value active = f_.operand(v, 1);
    const auto write = [&](uint32_t word, Value now) {
      now_[key(block, word)] = b.select(active, now, read(word, block));
    };
    for (unsigned i = 0; i < components(v); ++i) {
      const Piece p = piece(v, i);
      const Value data = replaced_(f_.operand(v, i + 2));
      const Type type = f_[data].type;
      constexpr std::array<Type, 4> same_width{Type::i8, Type::i16, Type::i32, Type::i64};
      const auto log2_bytes = static_cast<unsigned>(std::countr_zero(bit_width(type)) - 3);
      const Value bits = is_float(type) ? b.bitcast(data, same_width[log2_bytes]) : data;
      if (p.bits == 64) {
        const Value whole = resize(b, bits, 64, false);
        write(p.word, b.lo32(whole));
        write(p.word + 1, b.hi32(whole));
      } else {
        write(p.word, inserted(b, resize(b, bits, 32, false), p, block));
      }
    }
  }

  /// The word with the piece replaced.
  Value inserted(Builder& b, Value value, Piece p, uint32_t block) {
    if (p.bits == 32) return value;
    const uint32_t mask = (1u << p.bits) - 1;
    const Value rest = b.and_(read(p.word, block), b.i32(~(mask << p.shift)));
    return b.or_(rest, b.shl(b.and_(value, b.i32(mask)), b.i32(p.shift)));
  }

  struct Unfilled {
    Value phi;
    uint32_t word, block;
  };
  Function& f_;
  Replacements replaced_;
  Dominators dominators_;
  std::vector<Value> accesses_;
  std::vector<bool> kept_; ///< by word
  std::unordered_map<uint64_t, Value> now_;
  std::unordered_map<uint32_t, std::vector<Value>> new_phis_, parts_; ///< by block, by load
  std::vector<std::vector<Value>> rebuilt_;                           ///< by block, phis apart
  std::vector<Unfilled> unfilled_;
};

} // namespace

bool scratch_values(Function& f) { return ScratchValues(f).run(); }

} // namespace lanewise::passes
