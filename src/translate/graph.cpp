#include "translate/graph.hpp"

#include "support/limits.hpp"
#include "translate/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>

namespace lanewise::translate {
namespace {

using rdna2::Instruction;
using rdna2::Opcode;

/// Grows the graph from the entry. One run of `grow` is void when new code cut a block that already had
/// nodes.
class GraphBuilder {
 public:
  GraphBuilder(const container::ShaderBinary& binary, rdna2::WaveSize wave)
      : graph_{.code = Code(binary, wave), .nodes = {}} {}

  Expected<Graph> build(uint32_t entry) {
    if (auto explored = graph_.code.explore(entry); !explored)
      return std::unexpected(std::move(explored.error()));
    while (true) {
      const unsigned generation = graph_.code.generation();
      start(entry);
      if (auto grown = grow(); !grown) return std::unexpected(std::move(grown.error()));
      if (graph_.code.generation() == generation) break;
    }
    keep_reachable();
    if (auto checked = check_targets(); !checked) return std::unexpected(std::move(checked.error()));
    return std::move(graph_);
  }

 private:
  /// Where the last instruction of a node leads, by what is known so far.
  struct Target {
    std::optional<uint32_t> node;
    bool checked = false, is_return = false;
    uint32_t pc = 0;
  };

  void start(uint32_t entry) {
    calls_ = std::ranges::any_of(graph_.code.blocks(), [](const CodeBlock& b) {
      return b.exit == Exit::call || b.exit == Exit::jump;
    });
    graph_.nodes.clear();
    graph_.contexts.assign(1, Context{.function_pc = entry});
    states_.clear();
    numbers_.clear();
    callees_.clear();
    queue_.clear();
    instructions_ = 0;
    if (auto first = node(0, entry)) reach(*first, KnownState(graph_.code.wave()));
  }

  const Instruction& last_instruction(const CodeBlock& b) const {
    return graph_.code.instructions()[b.first + b.count - 1];
  }

  [[nodiscard]] std::string text(const Instruction& i) const { return where(i, graph_.code.wave()); }

  /// The node of a block in a context, made if there is none yet.
  Expected<uint32_t> node(uint32_t context, uint32_t pc) {
    const uint32_t block = graph_.code.block_at(pc);
    const auto [it, inserted] = numbers_.try_emplace(uint64_t{context} << 32 | block, graph_.nodes.size());
    if (!inserted) return it->second;
    instructions_ += graph_.code.blocks()[block].count;
    if (instructions_ > limits::max_inlined_instructions)
      return fail(ErrorKind::limit,
                  "calls that are inlined make more instructions than max_inlined_instructions",
                  fmt::format("pc 0x{:x}", pc));
    graph_.nodes.push_back({.block = block, .context = context});
    states_.emplace_back();
    return it->second;
  }

  /// Brings a state to a node along an edge.
  void reach(uint32_t n, const KnownState& state) {
    StateOfNode& s = states_[n];
    if (!s.reached) {
      s.reached = true;
      if (calls_) s.state = std::make_unique<KnownState>(state);
    } else if (!calls_ || !s.state->meet(state)) {
      return;
    }
    if (!s.queued) queue_.push_back(n);
    s.queued = true;
  }

  Expected<void> grow() {
    const unsigned generation = graph_.code.generation();
    while (!queue_.empty() && graph_.code.generation() == generation) {
      const uint32_t n = queue_.front();
      queue_.pop_front();
      states_[n].queued = false;
      if (auto visited = visit(n); !visited) return visited;
    }
    return {};
  }

  Expected<void> visit(uint32_t n) {
    const CodeBlock block = graph_.block(graph_.nodes[n]);
    const uint32_t context = graph_.nodes[n].context;
    KnownState state(graph_.code.wave());
    Target target;
    if (calls_) {
      state = *states_[n].state;
      const auto code = graph_.code.instructions(block);
      for (const Instruction& i : code.first(code.size() - 1)) state.execute(i, graph_.code.binary());
      // The target register is read before the return address is written.
      if (block.exit == Exit::call || block.exit == Exit::jump) {
        auto found = block.exit == Exit::call ? callee(context, block, state) : jump(context, block, state);
        if (!found) return std::unexpected(std::move(found.error()));
        target = *found;
      }
      state.execute(last_instruction(block), graph_.code.binary());
    }
    std::array<std::optional<uint32_t>, 2> next{target.node, {}};
    const auto follow = [&](unsigned k, uint32_t pc) -> Expected<void> {
      auto made = node(context, pc);
      if (!made) return std::unexpected(std::move(made.error()));
      next[k] = *made;
      return {};
    };
    Expected<void> followed;
    if (block.exit == Exit::fall) followed = follow(0, block.next);
    if (block.exit == Exit::branch || block.exit == Exit::cond) followed = follow(0, block.target);
    if (followed && block.exit == Exit::cond) followed = follow(1, block.next);
    if (!followed) return followed;
    Node& self = graph_.nodes[n];
    self.checked = target.checked;
    self.expected_pc = target.pc;
    self.is_return = target.is_return;
    self.successor_count = 0;
    for (const auto& s : next) {
      if (!s) continue;
      graph_.nodes[n].successors[graph_.nodes[n].successor_count++] = *s;
      reach(*s, state);
    }
    return {};
  }

  Expected<Target> callee(uint32_t caller, const CodeBlock& block, const KnownState& state) {
    const Instruction& i = last_instruction(block);
    Target target;
    if (i.opcode == Opcode::s_call_b64) {
      target.pc = block.target;
    } else {
      const auto address = state.address(i.src[0]);
      if (!address) return Target{}; // check_targets complains if it stays so
      target.pc = address->offset;
      target.checked = address->assumed;
    }
    auto context = enter(caller, block, target.pc);
    if (!context) return std::unexpected(std::move(context.error()));
    return lead(target, *context, i);
  }

  /// The context of a call; the same again for the same call site and function.
  Expected<uint32_t> enter(uint32_t caller, const CodeBlock& block, uint32_t function) {
    const uint64_t key = uint64_t{caller} << 32 | block.pc;
    if (const auto it = callees_.find(key);
        it != callees_.end() && graph_.contexts[it->second].function_pc == function)
      return it->second;
    const Instruction& i = last_instruction(block);
    for (uint32_t c = caller;; c = graph_.contexts[c].parent) {
      if (graph_.contexts[c].function_pc == function)
        return fail(ErrorKind::unsupported, fmt::format("recursive call of the function at 0x{:x}", function),
                    text(i), "calls are inlined, so recursion cannot be translated");
      if (c == 0) break;
    }
    if (graph_.contexts[caller].depth + 1 > limits::max_call_depth)
      return fail(ErrorKind::limit, "calls are nested deeper than max_call_depth", text(i));
    const auto context = static_cast<uint32_t>(graph_.contexts.size());
    graph_.contexts.push_back({caller, function, block.next, graph_.contexts[caller].depth + 1});
    callees_[key] = context;
    return context;
  }

  Expected<Target> jump(uint32_t context, const CodeBlock& block, const KnownState& state) {
    const Instruction& i = last_instruction(block);
    const Context& c = graph_.contexts[context];
    const auto address = state.address(i.src[0]);
    Target target;
    if (address && !(context != 0 && address->offset == c.return_pc)) {
      target.pc = address->offset; // a tail call or a far branch
      target.checked = address->assumed;
      return lead(target, context, i);
    }
    if (context == 0) return Target{};
    // clang's callees return through s[30:31]; what cannot be followed through memory is checked.
    target.pc = c.return_pc;
    target.checked = !address || address->assumed;
    target.is_return = true;
    return lead(target, c.parent, i);
  }

  Expected<Target> lead(Target target, uint32_t context, const Instruction& from) {
    if (!graph_.code.is_explored(target.pc)) {
      const unsigned generation = graph_.code.generation();
      if (auto explored = graph_.code.explore(target.pc); !explored) {
        explored.error().hint = fmt::format("reached from {}", text(from));
        return std::unexpected(std::move(explored.error()));
      }
      if (graph_.code.generation() != generation) return target; // everything starts again
    }
    auto made = node(context, target.pc);
    if (!made) return std::unexpected(std::move(made.error()));
    target.node = *made;
    return target;
  }

  Expected<void> check_targets() const {
    for (const Node& n : graph_.nodes) {
      const CodeBlock& block = graph_.block(n);
      if ((block.exit != Exit::call && block.exit != Exit::jump) || n.successor_count != 0) continue;
      return fail(ErrorKind::unsupported, "the target of this call or jump depends on data",
                  text(last_instruction(block)), "function pointers are not supported");
    }
    return {};
  }

  /// Drops nodes that only an assumption given up later led to, and numbers the others in order of discovery.
  void keep_reachable() {
    std::vector<uint32_t> number(graph_.nodes.size(), UINT32_MAX), order{0};
    number[0] = 0;
    for (size_t k = 0; k < order.size(); ++k) {
      const Node& n = graph_.nodes[order[k]];
      for (unsigned s = 0; s < n.successor_count; ++s) {
        if (number[n.successors[s]] != UINT32_MAX) continue;
        number[n.successors[s]] = static_cast<uint32_t>(order.size());
        order.push_back(n.successors[s]);
      }
    }
    std::vector<Node> kept;
    kept.reserve(order.size());
    for (const uint32_t old : order) {
      kept.push_back(graph_.nodes[old]);
      for (uint32_t& s : kept.back().successors) s = number[s] == UINT32_MAX ? 0 : number[s];
    }
    graph_.nodes = std::move(kept);
  }

  struct StateOfNode {
    bool reached = false, queued = false;
    std::unique_ptr<KnownState> state;
  };

  Graph graph_;
  bool calls_ = false;
  std::vector<StateOfNode> states_;
  std::unordered_map<uint64_t, uint32_t> numbers_; ///< (context, block) -> node
  std::unordered_map<uint64_t, uint32_t> callees_; ///< (caller, call site) -> context
  std::deque<uint32_t> queue_;
  size_t instructions_ = 0;
};

} // namespace

Expected<Graph> build_graph(const container::ShaderBinary& binary, uint32_t entry, rdna2::WaveSize wave) {
  return GraphBuilder(binary, wave).build(entry);
}

} // namespace lanewise::translate
