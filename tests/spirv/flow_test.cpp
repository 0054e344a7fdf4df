// Control flow: any graph, with values and phis that cross its edges, gives a valid module that computes what
// a walk through the graph computes.
#include <algorithm>
#include <map>
#include <random>
#include <regex>

#include "../cfg/graphs.hpp"
#include "support.hpp"

namespace lanewise::spirv {
namespace {

using ir::Block;
using ir::Builder;
using ir::Op;
using ir::Type;
using ir::Value;

constexpr uint32_t max_steps = 40;

/// A program that walks a graph for max_steps blocks: in each it mixes the block's number into a hash, and
/// the hash decides the way. Two state values travel through phis in every block with several predecessors;
/// `kept` values are used far from where they are made.
class Walker {
 public:
  explicit Walker(const cfg::Graph& g) : g_(g), f_(32) {}

  ir::Function make() {
    f_.name = "walk";
    for (uint32_t n = 0; n < g_.size(); ++n) f_.add_block(n * 4);
    const Block end = f_.add_block();
    for (uint32_t n = 0; n < g_.size(); ++n) head(n);
    for (uint32_t n = 0; n < g_.size(); ++n) body(n, end);
    finish(end);
    return std::move(f_);
  }

 private:
  struct State {
    Value hash, steps, kept;
  };

  /// Values on entry to a block: phis for all its predecessors, filled later.
  void head(uint32_t n) {
    Builder b(f_, Block{n});
    in_.push_back({});
    if (n == 0) {
      const Value wide = b.add(b.input(ir::Input::kernarg_ptr),
                               b.shl(b.zext(b.input(ir::Input::workgroup_id_x), Type::i64), b.i64(2)));
      in_[0] = {b.load(Type::i32, wide, b.u1(true), {}), b.i32(0), b.i32(7)};
      return;
    }
    in_[n] = {phi(n), phi(n), phi(n)};
  }
  Value phi(uint32_t n) {
    const Value v = f_.append(Block{n}, Op::phi, {}, Type::i32);
    f_[v].uniform = true;
    return v;
  }

  void body(uint32_t n, Block end) {
    Builder b(f_, Block{n});
    b.folding = false;
    const State& in = in_[n];
    const Value hash =
        b.mul(b.xor_(b.add(in.hash, b.i32(n + 1)), b.lshr(in.hash, b.i32(13))), b.i32(0x9e3779b1));
    const Value steps = b.add(in.steps, b.i32(1));
    const Value kept = b.xor_(in.kept, b.shl(hash, b.i32(3)));
    out_.push_back({hash, steps, kept});
    // Only the blocks' own order of edges counts: one more leaves when the steps are used up.
    const auto s = g_.successors(n);
    const Value way = b.ne(b.and_(hash, b.i32(0x1000)), b.i32(0));
    const Value go_on = b.ult(steps, b.i32(max_steps));
    if (s.empty()) {
      edge(n, end, b);
      b.function.append(b.block, Op::br, {});
    } else if (s.size() == 1) {
      b.function.append(b.block, Op::cond_br, {go_on});
      edge(n, Block{s[0]}, b);
      edge(n, end, b);
    } else {
      const Block choose = f_.add_block(n * 4 + 1);
      b.function.append(b.block, Op::cond_br, {go_on});
      f_.add_edge(b.block, choose);
      edge(n, end, b);
      f_.append(choose, Op::cond_br, {way});
      b.block = choose;
      edge(n, Block{s[1]}, b);
      edge(n, Block{s[0]}, b);
    }
  }
  void edge(uint32_t n, Block to, Builder& b) {
    f_.add_edge(b.block, to);
    incoming_[to.index].push_back(out_[n]);
  }

  void finish(Block end) {
    Builder b(f_, end);
    const State last{phi(end.index), phi(end.index), phi(end.index)};
    in_.resize(end.index + 1);
    in_[end.index] = last;
    for (const auto& [block, states] : incoming_) {
      std::vector<Value> hashes, steps, kept;
      for (const State& s : states)
        hashes.push_back(s.hash), steps.push_back(s.steps), kept.push_back(s.kept);
      if (block == 0) continue;
      f_.set_operands(in_[block].hash, hashes);
      f_.set_operands(in_[block].steps, steps);
      f_.set_operands(in_[block].kept, kept);
    }
    const Value at = b.add(b.input(ir::Input::dispatch_ptr),
                           b.shl(b.zext(b.input(ir::Input::workgroup_id_x), Type::i64), b.i64(3)));
    b.store(at, b.u1(true), std::array{last.hash, b.add(last.steps, b.shl(last.kept, b.i32(8)))},
            {.bytes = 4, .align = 8});
    b.ret();
  }

  const cfg::Graph& g_;
  ir::Function f_;
  std::vector<State> in_, out_;
  std::map<uint32_t, std::vector<State>> incoming_;
};

std::pair<uint32_t, uint32_t> walk(const cfg::Graph& g, uint32_t hash) {
  uint32_t steps = 0, kept = 7, n = 0;
  while (true) {
    hash = ((hash + n + 1) ^ (hash >> 13)) * 0x9e3779b1u;
    ++steps;
    kept ^= hash << 3;
    const auto s = g.successors(n);
    if (s.empty() || steps >= max_steps) break;
    n = s.size() == 1 || (hash & 0x1000) == 0 ? s[0] : s[1];
  }
  return {hash, steps + (kept << 8)};
}

void check(const cfg::Graph& g, const std::string& name) {
  EmitOptions options;
  options.seating = {32, 1, {1, 1, 1}};
  const auto m = test::build(Walker(g).make(), options);
  ASSERT_FALSE(m.words.empty()) << name;
  if (!test::Device::get().device()) return;
  constexpr uint32_t groups = 64;
  std::vector<uint32_t> in(groups), out(groups * 2);
  for (uint32_t i = 0; i < groups; ++i) in[i] = i * 0x01234567u;
  const auto bytes = [](auto& v) { return std::span(reinterpret_cast<uint8_t*>(v.data()), v.size() * 4); };
  ASSERT_TRUE(test::run(m, bytes(in), bytes(out), groups)) << name;
  for (uint32_t i = 0; i < groups; ++i) {
    const auto [hash, rest] = walk(g, in[i]);
    ASSERT_EQ(out[i * 2], hash) << name << ", group " << i;
    ASSERT_EQ(out[i * 2 + 1], rest) << name << ", group " << i;
  }
}

TEST(Flow, RandomReducibleGraphs) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    check(cfg::test::random_reducible(seed, 2 + seed % 20), "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(Flow, RandomGraphsOfAnyKind) {
  std::mt19937 rng(11);
  for (unsigned i = 0; i < 60; ++i) {
    const auto nodes = static_cast<uint32_t>(3 + rng() % 10);
    std::vector<cfg::Edge> edges;
    for (uint32_t n = 0; n < nodes; ++n)
      for (auto s = rng() % 5 == 0 ? 0 : 1 + rng() % 2; s > 0; --s)
        edges.emplace_back(n, static_cast<uint32_t>(1 + rng() % (nodes - 1)));
    check(cfg::Graph(nodes, edges), "graph " + std::to_string(i));
    if (HasFatalFailure()) return;
  }
}

/// A loop that is tested at its end is a do-while: the test stands in the continue block, and the value that
/// leaves comes from there.
TEST(Flow, TheTestAtTheEndOfALoopIsInItsContinueBlock) {
  EmitOptions options;
  options.seating = {32, 32, {32, 1, 1}};
  const auto m = test::build(test::parse(R"(function "f" wave32 lds 0 scratch 0 {
b0:
  %p = uniform i64 input.kernarg_ptr
  br b1
b1: from b0, b2
  %1 = uniform i32 phi i32 0, %3
  %2 = uniform i32 load.global.4 %p, u1 true
  %4 = uniform u1 eq %2, i32 7
  cond_br %4, b3, b2
b2: from b1
  %3 = uniform i32 add %1, i32 1
  %5 = uniform u1 ult %3, %2
  cond_br %5, b1, b3
b3: from b1, b2
  %6 = uniform i32 phi %1, %3
  store.global.4 %p, u1 true, %6
  ret
})"),
                             options);
  const std::string text = test::disassemble(m.words);
  std::smatch merge;
  ASSERT_TRUE(std::regex_search(text, merge, std::regex("OpLoopMerge (%\\w+) (%\\w+)"))) << text;
  const std::string exit = merge[1], back = merge[2];
  EXPECT_TRUE(
      std::regex_search(text, std::regex(back + " = OpLabel\\s+OpBranchConditional %\\w+ %\\w+ " + exit)))
      << text;
  EXPECT_TRUE(std::regex_search(text, std::regex(exit + " = OpLabel\\s+%\\w+ = OpPhi [^\n]*" + back)))
      << text;
}

/// Far more reducible graphs than a device would run: all valid.
TEST(Flow, ManyModulesAreValid) {
  EmitOptions options;
  options.seating = {32, 1, {1, 1, 1}};
  for (uint32_t seed = 1000; seed < 1200; ++seed) {
    const auto m = test::build(Walker(cfg::test::random_reducible(seed, 2 + seed % 40)).make(), options);
    ASSERT_FALSE(m.words.empty()) << seed;
  }
}

} // namespace
} // namespace lanewise::spirv
