#include "spirv/unrolling.hpp"

#include "analysis/counted_loop.hpp"

namespace lanewise::spirv {

using ir::Block;
using ir::Function;
using ir::Op;
using ir::Value;

namespace {

constexpr uint64_t kMaxRounds = 64, kMaxValues = 32768; ///< of all rounds together
constexpr unsigned kMinChoices = 8;                     ///< as of a tree for eight registers or more

/// Values between a header and the blocks that lead back to it; blocks stand in an order in which loops are
/// together.
uint64_t size_of_loop(const Function& f, uint32_t header) {
  uint32_t last = header;
  for (const Block p : f.blocks[header].predecessors) last = std::max(last, p.index);
  uint64_t size = 0;
  for (uint32_t b = header; b <= last; ++b) size += f.blocks[b].instructions.size();
  return size;
}

class Choices {
 public:
  explicit Choices(const Function& f)
      : f_(f), counted_by_(f.value_count(), kNone), choices_(f.blocks.size()) {}

  std::vector<bool> run() {
    std::vector<bool> result(f_.blocks.size());
    for (uint32_t b = 0; b < f_.blocks.size(); ++b)
      for (const Value v : f_.blocks[b].instructions) visit(b, v);
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) result[b] = choices_[b] >= kMinChoices;
    return result;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  void visit(uint32_t block, Value v) {
    if (f_[v].op == Op::phi) {
      const auto count = analysis::count_of(f_, {block}, v);
      if (count && count->rounds() <= kMaxRounds && count->rounds() * size_of_loop(f_, block) <= kMaxValues)
        counted_by_[v.index] = block;
      return;
    }
    if (f_[v].op == Op::select) {
      const uint32_t by = counted_by_[f_.operand(v, 0).index];
      if (by != kNone) ++choices_[by];
    }
    if (ir::info(f_[v].op).kind == ir::OpKind::pure) counted_by_[v.index] = count_behind(v);
  }
  /// The loop whose count the value follows from, with constants.
  [[nodiscard]] uint32_t count_behind(Value v) const {
    uint32_t by = kNone;
    for (const Value o : f_.operands(v)) {
      if (f_.is_constant(o)) continue;
      const uint32_t its = counted_by_[o.index];
      if (its == kNone || (by != kNone && its != by)) return kNone;
      by = its;
    }
    return by;
  }

  const Function& f_;
  std::vector<uint32_t> counted_by_; ///< header of the loop
  std::vector<unsigned> choices_;    ///< selects whose condition follows from the count
};

} // namespace

std::vector<bool> chooses_by_count(const Function& f) { return Choices(f).run(); }

} // namespace lanewise::spirv
