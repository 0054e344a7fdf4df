#include "analysis/counted_loop.hpp"

namespace lanewise::analysis {
namespace {

using ir::Block;
using ir::Function;
using ir::Op;
using ir::Value;

struct Test {
  Op op; ///< ne or ult
  Value value, limit;
};

/// What surely holds of a value and a constant when control goes from `from` to `to`.
std::optional<Test> test_between(const Function& f, Block from, Block to) {
  for (int empty = 0; empty < 2; ++empty) { // an edge of its own may have a block
    const Value end = f[from].instructions.back();
    if (f[end].op == Op::cond_br) {
      const auto& successors = f[from].successors;
      const Value test = f.operand(end, 0);
      const Op op = f[test].op;
      const bool holds = successors[0] == to ? op == Op::ne || op == Op::ult : op == Op::eq;
      if (!holds || successors[0] == successors[1] || !f.is_constant(f.operand(test, 1))) return {};
      return Test{op == Op::eq ? Op::ne : op, f.operand(test, 0), f.operand(test, 1)};
    }
    if (f[from].predecessors.size() != 1) return {};
    to = from;
    from = f[from].predecessors[0];
  }
  return {};
}

} // namespace

std::optional<Count> count_of(const Function& f, Block header, Value phi) {
  const auto& blocks = f[header].predecessors;
  if (f[phi].op != Op::phi || f[phi].operand_count != 2 || ir::is_float(f[phi].type)) return {};
  for (const unsigned back : {0u, 1u}) {
    const Value first = f.operand(phi, 1 - back), next = f.operand(phi, back);
    if (!f.is_constant(first) || f[next].op != Op::add || f.operand(next, 0) != phi) continue;
    const Value by = f.operand(next, 1);
    const auto test = test_between(f, blocks[back], header);
    if (!test || !f.is_constant(by) || (test->value != next && test->value != phi)) continue;
    const uint64_t start = f[first].imm, step = f[by].imm, limit = f[test->limit].imm;
    // The sum that is not reached.
    const uint64_t width = ir::bit_width(f[phi].type),
                   most = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    const uint64_t end = test->value == phi ? limit + step : limit;
    if (step == 0 || limit > most - step || end <= start || end > most - step) continue;
    if (test->op == Op::ult || (end - start) % step == 0)
      return Count{start, step, start + (end - start - 1) / step * step};
  }
  return {};
}

} // namespace lanewise::analysis
