#include "analysis/pressure.hpp"

#include "analysis/needed.hpp"
#include "ir/graph.hpp"

#include <algorithm>
#include <array>

namespace lanewise::analysis {

using ir::Op;
using ir::Type;
using ir::Value;

namespace {

enum class Kind : uint8_t { per_lane, mask, uniform };
constexpr uint32_t kNoWord = ~0u; ///< of a constant
constexpr uint32_t kNever = ~0u;

/// 32 bits of a value that is no name for another.
struct Word {
  Kind kind;
  uint32_t block, from; ///< first point at which it is live
};

struct Use {
  uint32_t word, block, point;
};

Kind kind_of(const ir::Inst& i) {
  if (i.uniform) return Kind::uniform;
  return i.type == Type::u1 ? Kind::mask : Kind::per_lane;
}

uint32_t words_of(Type t) { return ir::bit_width(t) == 64 ? 2 : 1; }

class Pressure {
 public:
  explicit Pressure(const ir::Function& f)
      : f_(f), needed_(needed_values(f)), first_(f.value_count(), kNever), live_in_(f.blocks.size(), kNever),
        touched_(f.blocks.size(), kNever), last_(f.blocks.size()) {
    order_ = cfg::reverse_post_order(ir::graph_of(f));
  }

  PressureCurve run() {
    curve_.begin.push_back(0);
    for (const ir::BasicBlock& b : f_.blocks)
      curve_.begin.push_back(curve_.begin.back() + b.instructions.size() + 1);
    for (auto& c : changes_) c.assign(curve_.begin.back() + 1, 0);
    for (const uint32_t b : order_.reverse_post)
      for (uint32_t i = 0; i < f_.blocks[b].instructions.size(); ++i)
        define(f_.blocks[b].instructions[i], b, i);
    for (const uint32_t b : order_.reverse_post) collect_uses(b);
    add_ranges();
    sum();
    return std::move(curve_);
  }

 private:
  [[nodiscard]] uint32_t end_of(uint32_t block) const {
    return static_cast<uint32_t>(f_.blocks[block].instructions.size());
  }
  [[nodiscard]] uint32_t word(Value v, unsigned i) const {
    return f_.is_constant(v) || first_[v.index] == kNever ? kNoWord : list_[first_[v.index] + i];
  }
  [[nodiscard]] uint32_t count(Value v) const { return f_[v].components * words_of(f_[v].type); }

  /// Names parts of its operands, whose definitions dominate it and so have their words already.
  bool define_name(Value v) {
    const auto operands = f_.operands(v);
    const auto take = [&](Value from, unsigned first, unsigned n) {
      for (unsigned i = 0; i < n; ++i) list_.push_back(word(from, first + i));
    };
    switch (f_[v].op) {
    case Op::bitcast: take(operands[0], 0, count(v)); return true;
    case Op::lo32: take(operands[0], 0, 1); return true;
    case Op::hi32: take(operands[0], 1, 1); return true;
    case Op::extract:
      take(operands[0], static_cast<unsigned>(f_[v].imm) * words_of(f_[v].type), words_of(f_[v].type));
      return true;
    case Op::pack64:
      take(operands[0], 0, 1);
      take(operands[1], 0, 1);
      return true;
    default: return false;
    }
  }

  void define(Value v, uint32_t block, uint32_t at) {
    const ir::Inst& inst = f_[v];
    if (inst.type == Type::none || inst.op == Op::call || !needed_[v.index]) return;
    const auto first = static_cast<uint32_t>(list_.size());
    if (!define_name(v)) {
      const uint32_t from = inst.op == Op::phi ? 0 : at + 1;
      for (uint32_t i = 0; i < count(v); ++i) {
        list_.push_back(static_cast<uint32_t>(words_.size()));
        words_.push_back({kind_of(inst), block, from});
      }
    }
    first_[v.index] = first;
  }

  static bool is_name(Op op) {
    return op == Op::bitcast || op == Op::lo32 || op == Op::hi32 || op == Op::extract || op == Op::pack64;
  }

  void use(Value v, uint32_t block, uint32_t point) {
    if (f_.is_constant(v) || first_[v.index] == kNever) return;
    for (uint32_t i = 0; i < count(v); ++i)
      if (const uint32_t w = word(v, i); w != kNoWord) uses_.push_back({w, block, point});
  }

  void collect_uses(uint32_t b) {
    const ir::BasicBlock& block = f_.blocks[b];
    for (uint32_t at = 0; at < block.instructions.size(); ++at) {
      const Value v = block.instructions[at];
      if (!needed_[v.index] || is_name(f_[v].op)) continue;
      const auto operands = f_.operands(v);
      for (size_t i = 0; i < operands.size(); ++i) {
        if (f_[v].op != Op::phi)
          use(operands[i], b, at);
        else if (const uint32_t from = block.predecessors[i].index; order_.reachable(from))
          use(operands[i], from, end_of(from));
      }
    }
  }

  /// The word is live in `block` up to this point.
  void touch(uint32_t w, uint32_t block, uint32_t point) {
    if (touched_[block] != w) {
      touched_[block] = w;
      last_[block] = point;
      list_of_touched_.push_back(block);
    }
    last_[block] = std::max(last_[block], point);
  }

  void enter(uint32_t w, uint32_t block) {
    if (block == words_[w].block || live_in_[block] == w) return;
    live_in_[block] = w;
    work_.push_back(block);
  }

  void add_range(uint32_t w, std::span<const Use> uses) {
    list_of_touched_.clear();
    for (const Use& u : uses) {
      touch(w, u.block, u.point);
      enter(w, u.block);
    }
    while (!work_.empty()) {
      const uint32_t b = work_.back();
      work_.pop_back();
      for (const ir::Block p : f_.blocks[b].predecessors) {
        if (!order_.reachable(p.index)) continue;
        touch(w, p.index, end_of(p.index));
        enter(w, p.index);
      }
    }
    auto& changes = changes_[static_cast<size_t>(words_[w].kind)];
    for (const uint32_t b : list_of_touched_) {
      const uint32_t from = b == words_[w].block ? words_[w].from : 0;
      ++changes[curve_.begin[b] + from];
      --changes[curve_.begin[b] + last_[b] + 1];
    }
  }

  void add_ranges() {
    std::vector<uint32_t> begin(words_.size() + 1);
    for (const Use& u : uses_) ++begin[u.word + 1];
    for (size_t w = 0; w < words_.size(); ++w) begin[w + 1] += begin[w];
    std::vector<Use> sorted(uses_.size());
    std::vector<uint32_t> next = begin;
    for (const Use& u : uses_) sorted[next[u.word]++] = u;
    for (uint32_t w = 0; w < words_.size(); ++w)
      add_range(w, std::span(sorted).subspan(begin[w], begin[w + 1] - begin[w]));
  }

  /// Blocks lie one behind the other, and a range ends in its block, so one running sum serves them all.
  void sum() {
    curve_.points.resize(curve_.begin.back());
    std::array<int32_t, 3> now{};
    for (size_t p = 0; p < curve_.points.size(); ++p) {
      for (size_t k = 0; k < 3; ++k) now[k] += changes_[k][p];
      curve_.points[p] = {static_cast<uint32_t>(now[0]), static_cast<uint32_t>(now[1]),
                          static_cast<uint32_t>(now[2])};
    }
  }

  const ir::Function& f_;
  std::vector<bool> needed_;
  cfg::Order order_;
  std::vector<Word> words_;
  std::vector<uint32_t> list_;  ///< words of all values, one value behind the other
  std::vector<uint32_t> first_; ///< of each value, in list_
  std::vector<Use> uses_;
  PressureCurve curve_;
  std::array<std::vector<int32_t>, 3> changes_; ///< by Kind: +1 where a range begins, -1 behind its end
  // Of the word that is being followed; stamps hold its number.
  std::vector<uint32_t> live_in_, touched_, last_;
  std::vector<uint32_t> list_of_touched_, work_;
};

} // namespace

LiveWords at_most(const LiveWords& a, const LiveWords& b) {
  return {std::max(a.per_lane, b.per_lane), std::max(a.masks, b.masks), std::max(a.uniform, b.uniform)};
}

LiveWords PressureCurve::most() const {
  LiveWords m;
  for (const LiveWords& p : points) m = at_most(m, p);
  return m;
}

PressureCurve pressure_curve(const ir::Function& f) { return Pressure(f).run(); }

LiveWords most_live(const ir::Program& program) {
  std::vector<LiveWords> callees;
  const auto of = [&](const ir::Function& f) {
    const PressureCurve curve = pressure_curve(f);
    LiveWords most = curve.most();
    for (uint32_t b = 0; b < f.blocks.size(); ++b)
      for (size_t i = 0; i < f.blocks[b].instructions.size(); ++i) {
        const ir::Inst& inst = f[f.blocks[b].instructions[i]];
        if (inst.op != Op::call || inst.imm >= callees.size()) continue;
        const LiveWords& across = curve.at({b}, i + 1);
        const LiveWords& inside = callees[inst.imm];
        most = at_most(most, {across.per_lane + inside.per_lane, across.masks + inside.masks,
                              across.uniform + inside.uniform});
      }
    return most;
  };
  for (const ir::CalleeFunction& c : program.callees) callees.push_back(of(c.function));
  LiveWords most = of(program.main);
  for (const LiveWords& c : callees) most = at_most(most, c);
  return most;
}

} // namespace lanewise::analysis
