#include "spirv/reducible.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "cfg/dominators.hpp"
#include "cfg/irreducible.hpp"
#include "ir/graph.hpp"
#include "support/limits.hpp"

namespace lanewise::spirv {

using ir::Block;
using ir::Function;
using ir::Op;
using ir::Type;
using ir::Value;

namespace {

size_t phi_count(const Function& f, Block b) {
  const auto& list = f[b].instructions;
  return static_cast<size_t>(std::ranges::find_if(list, [&](Value v) { return f[v].op != Op::phi; }) -
                             list.begin());
}

Value add_phi(Function& f, Block b, Value like, std::span<const Value> incoming) {
  const Type type = f[like].type;
  const bool uniform = f[like].uniform;
  const Value phi = f.create(Op::phi, incoming, type, 0, 1, f[like].pc);
  f[phi].uniform = uniform;
  auto& list = f[b].instructions;
  list.insert(list.begin(), phi);
  return phi;
}

// -- dispatch blocks
// --------------------------------------------------------------------------------------------------

/// A way to an entry that is to lead through the dispatch.
struct Way {
  Block from;
  unsigned slot;    ///< among the successors of `from`
  uint32_t entry;   ///< index into the entries
  unsigned operand; ///< of the entry's phis
};

/// In the order of blocks and their successors, as a block's predecessors stand.
std::vector<Way> ways_to(const Function& f, std::span<const uint32_t> entries) {
  std::vector<Way> ways;
  for (uint32_t e = 0; e < entries.size(); ++e) {
    const auto& preds = f.blocks[entries[e]].predecessors;
    for (unsigned p = 0; p < preds.size(); ++p) {
      const auto& from = f[preds[p]];
      const bool second = p > 0 && std::find(preds.begin(), preds.begin() + p, preds[p]) != preds.begin() + p;
      const unsigned slot = from.successors[0].index != entries[e] || second ? 1 : 0;
      ways.push_back({preds[p], slot, e, p});
    }
  }
  std::ranges::sort(
      ways, [](const Way& a, const Way& b) { return std::pair(a.from, a.slot) < std::pair(b.from, b.slot); });
  return ways;
}

void add_dispatch(Function& f, std::span<const uint32_t> entries) {
  const std::vector<Way> ways = ways_to(f, entries);
  std::vector<Block> chain; // of questions: number 0? number 1? ...
  for (size_t i = 0; i + 1 < entries.size(); ++i) chain.push_back(f.add_block(f.blocks[entries[0]].pc));
  const Block head = chain[0];
  struct Moved {
    Value phi;
    uint32_t entry;
    std::vector<Value> incoming;
  };
  std::vector<Moved> moved;
  for (uint32_t e = 0; e < entries.size(); ++e)
    for (size_t i = 0; i < phi_count(f, {entries[e]}); ++i)
      moved.push_back({f.blocks[entries[e]].instructions[i], e, {}});
  std::vector<Value> which;
  for (const Way& w : ways) {
    which.push_back(f.constant(Type::i32, w.entry));
    f[head].predecessors.push_back(w.from);
    f[w.from].successors[w.slot] = head;
    for (Moved& m : moved)
      m.incoming.push_back(m.entry == w.entry ? f.operand(m.phi, w.operand) : f.constant(f[m.phi].type, 0));
  }
  for (const uint32_t e : entries) f.blocks[e].predecessors.clear();
  const Value number = f.create(Op::phi, which, Type::i32);
  f[number].uniform = true;
  f[head].instructions.push_back(number);
  for (const Moved& m : moved) {
    const Value phi = add_phi(f, head, m.phi, m.incoming);
    f.set_operands(m.phi, std::array{phi});
  }
  for (size_t i = 0; i < chain.size(); ++i) {
    const Block b = chain[i];
    const Value is = f.append(b, Op::eq, {number, f.constant(Type::i32, i)});
    f.append(b, Op::cond_br, {is});
    f.add_edge(b, {entries[i]});
    f.add_edge(b, i + 1 < chain.size() ? chain[i + 1] : Block{entries[i + 1]});
  }
}

// -- values that lost their place above their uses
// ----------------------------------------------------------------------

class Repair {
 public:
  explicit Repair(Function& f) : f_(f), graph_(graph_of(f)), dominators_(cfg::dominators(graph_)) {}

  Expected<void> run() {
    std::vector<uint32_t> home(f_.value_count(), cfg::none);
    for (uint32_t b = 0; b < f_.blocks.size(); ++b)
      for (const Value v : f_.blocks[b].instructions) home[v.index] = b;
    std::map<uint32_t, std::vector<Use>> broken;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b)
      for (const Value user : f_.blocks[b].instructions)
        for (unsigned i = 0; i < f_[user].operand_count; ++i) {
          const Value v = f_.operand(user, i);
          const uint32_t at = f_[user].op == Op::phi ? f_.blocks[b].predecessors[i].index : b;
          if (home[v.index] == cfg::none || dominators_.dominates(home[v.index], at)) continue;
          if (reachable(at)) broken[v.index].push_back({user, i, at});
        }
    for (const auto& [v, uses] : broken)
      if (auto ok = repair({v}, home[v], uses); !ok) return ok;
    return {};
  }

 private:
  struct Use {
    Value user;
    unsigned operand;
    uint32_t block; ///< where the value is wanted, at its end
  };
  [[nodiscard]] bool reachable(uint32_t b) const { return dominators_.enter[b] < dominators_.exit[b]; }

  Expected<void> repair(Value v, uint32_t home, const std::vector<Use>& uses) {
    if (f_[v].components != 1)
      return fail(ErrorKind::unsupported, "a tuple crosses irreducible control flow",
                  fmt::format("pc {:#x}", f_[v].pc));
    // Blocks between the definition and the uses; each gets a phi.
    std::vector<uint32_t> work;
    std::map<uint32_t, Value> at{{home, v}};
    const Value nothing = f_.constant(f_[v].type, 0);
    const auto want = [&](uint32_t b) {
      if (at.contains(b)) return;
      at[b] = b == 0 ? nothing : add_phi(f_, {b}, v, {});
      if (b != 0) work.push_back(b);
    };
    for (const Use& u : uses) want(u.block);
    std::vector<uint32_t> made;
    while (!work.empty()) {
      const uint32_t b = work.back();
      work.pop_back();
      made.push_back(b);
      for (const Block p : f_.blocks[b].predecessors) want(p.index);
    }
    for (const uint32_t b : made) {
      std::vector<Value> incoming;
      for (const Block p : f_.blocks[b].predecessors) incoming.push_back(at[p.index]);
      f_.set_operands(at[b], incoming);
    }
    for (const Use& u : uses) f_.operands(u.user)[u.operand] = at[u.block];
    return {};
  }

  Function& f_;
  cfg::Graph graph_;
  cfg::Dominators dominators_;
};

} // namespace

Expected<void> make_reducible(Function& f) {
  std::vector<uint32_t> entries = cfg::irreducible_entries(graph_of(f));
  if (entries.empty()) return {};
  for (size_t count = 0; !entries.empty(); entries = cfg::irreducible_entries(graph_of(f))) {
    if (++count > limits::max_dispatch_blocks)
      return fail(ErrorKind::limit, "control flow needs more than max_dispatch_blocks dispatches",
                  fmt::format("pc {:#x}", f.blocks[entries[0]].pc));
    add_dispatch(f, entries);
  }
  return Repair(f).run();
}

} // namespace lanewise::spirv
