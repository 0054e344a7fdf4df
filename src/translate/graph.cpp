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
  GraphBuilder(const container::ShaderBinary& binary, rdna2::WaveSize wave, const GraphOptions& options)
      : graph_{.code = options.explored ? std::move(*options.explored) : Code(binary, wave),
               .nodes = {},
               .callee = options.entry == nullptr,
               .functions = options.functions,
               .vgprs = options.vgprs},
        options_(options), at_end_(wave, *graph_.origins) {}

  Expected<Graph> build(uint32_t entry) {
    if (auto explored = graph_.code.explore(entry); !explored)
      return std::unexpected(std::move(explored.error()));
    while (true) {
      const unsigned generation = graph_.code.generation();
      start(entry);
      if (auto grown = grow(); !grown) return std::unexpected(std::move(grown.error()));
      if (graph_.code.generation() == generation) break;
    }
    if (auto checked = check_targets(); !checked) return std::unexpected(std::move(checked.error()));
    keep_reachable();
    if (auto slots = number_slots(); !slots) return std::unexpected(std::move(slots.error()));
    return std::move(graph_);
  }

 private:
  /// Where the last instruction of a node leads, by what is known so far.
  struct Target {
    std::optional<uint32_t> node;
    bool checked = false, is_return = false;
    uint32_t pc = 0;
    std::optional<uint8_t> leaves; ///< link pair of the callee that the jump ends
    std::optional<CallSlot> slot;  ///< the target is the host's
    uint32_t preserved = 0;        ///< what the decision rests on
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
    targets_.clear();
    if (auto first = node(0, entry)) reach(*first, entry_state(), entry);
  }

  [[nodiscard]] KnownState entry_state() const {
    KnownState state(graph_.code.wave(), *graph_.origins);
    const auto origin = [&](Origin::Kind kind, uint64_t value) {
      return Known{.kind = Known::Kind::origin,
                   .payload = graph_.origins->make({.kind = kind, .value = value})};
    };
    if (!options_.entry) {
      for (unsigned r = 0; r < KnownState::register_count; ++r)
        state.set(r, origin(Origin::Kind::parameter, r));
      return state;
    }
    using Entry = EntryValue::Kind;
    for (unsigned r = 0; r < options_.entry->size(); ++r) {
      const EntryValue& e = (*options_.entry)[r];
      const bool kernarg = e.input == ir::Input::kernarg_ptr;
      if (e.kind == Entry::user_data) state.set(r, origin(Origin::Kind::user_data, e.constant));
      if (e.kind == Entry::low && kernarg) state.set(r, origin(Origin::Kind::kernarg_lo, 0));
      if (e.kind == Entry::high && kernarg) state.set(r, origin(Origin::Kind::kernarg_hi, 0));
    }
    return state;
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
    targets_.emplace_back();
    return it->second;
  }

  /// Brings a state to a node along an edge.
  void reach(uint32_t n, const KnownState& state, uint32_t pc) {
    StateOfNode& s = states_[n];
    if (!s.reached) {
      s.reached = true;
      if (calls_) s.state = std::make_unique<KnownState>(state);
    } else if (!calls_ || !s.state->meet(state, pc)) {
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
    KnownState& state = at_end_;
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
      if (target.slot) state.cross(n);
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
    self.leaves = target.leaves.has_value();
    self.link = target.leaves.value_or(0);
    self.successor_count = 0;
    for (unsigned k = 0; k < 2; ++k) {
      if (!next[k]) continue;
      graph_.nodes[n].successors[graph_.nodes[n].successor_count++] = *next[k];
      const uint32_t pc = graph_.block(graph_.nodes[*next[k]]).pc;
      if (!calls_ || block.exit != Exit::cond || !state.refines(last_instruction(block), k == 0)) {
        reach(*next[k], state, pc);
        continue;
      }
      KnownState along = state;
      along.refine();
      reach(*next[k], along, pc);
    }
    targets_[n] = std::move(target);
    return {};
  }

  Expected<Target> callee(uint32_t caller, const CodeBlock& block, const KnownState& state) {
    const Instruction& i = last_instruction(block);
    Target target;
    if (i.opcode == Opcode::s_call_b64) {
      target.pc = block.target;
    } else {
      const auto address = state.address(i.src[0]);
      if (!address) return slot(caller, block, state);
      target.pc = address->offset;
      target.checked = address->assumed;
      target.preserved = address->preserved;
    }
    if (!target.checked &&
        (options_.all_functions ||
         std::ranges::binary_search(options_.functions, target.pc, {}, &CalledFunction::entry)))
      return function_call(std::move(target), caller, block);
    auto context = enter(caller, block, target.pc);
    if (!context) return std::unexpected(std::move(context.error()));
    return lead(target, *context, i);
  }

  /// A call of a function that stays one.
  Expected<Target> function_call(Target target, uint32_t context, const CodeBlock& block) {
    const Instruction& i = last_instruction(block);
    target.slot = CallSlot{.pc = i.pc, .link = static_cast<uint8_t>(i.dst[0].reg)};
    target.slot->function = target.pc;
    target.slot->return_pc = target.pc = block.next;
    return lead(std::move(target), context, i);
  }

  /// A call or jump to where the host's data says; nothing if the target is not proven (check_targets
  /// complains if it stays so).
  Expected<Target> slot(uint32_t context, const CodeBlock& block, const KnownState& state) {
    const Instruction& i = last_instruction(block);
    const Known lo = state.read(i.src[0], 0), hi = state.read(i.src[0], 1);
    if (lo.is_unknown() || hi.is_unknown()) return Target{};
    Target target;
    CallSlot call{
        .pc = i.pc, .target = {state.origin(lo), state.origin(hi)}, .assumed = lo.assumed || hi.assumed};
    target.preserved = graph_.origins->join(lo.preserved, hi.preserved);
    for (unsigned r = 0; r < KnownState::register_count; ++r)
      // What rests on an earlier callee or on memory is no fact.
      if (const uint32_t origin = state.origin(state[r]);
          origin != 0 && state[r].preserved == 0 && !state[r].assumed)
        call.registers.push_back({static_cast<uint8_t>(r), origin});
    if (block.exit == Exit::call) {
      call.link = static_cast<uint8_t>(i.dst[0].reg);
      call.return_pc = block.next;
    } else if (const auto link = link_of(context, state, i.src[0].reg)) {
      call.link = static_cast<uint8_t>(*link);
      call.return_pc = state.address(*link)->offset;
      target.preserved = graph_.origins->join(target.preserved, state.address(*link)->preserved);
    }
    target.slot = std::move(call);
    if (!target.slot->link) return target;
    const bool returns = block.exit == Exit::jump && context != 0 &&
                         target.slot->return_pc == graph_.contexts[context].return_pc;
    target.pc = target.slot->return_pc;
    return lead(std::move(target), returns ? graph_.contexts[context].parent : context, i);
  }

  /// The pair that a jump passes as the way back: the only one that holds an address of the image, or in a
  /// function the one with its return address.
  [[nodiscard]] std::optional<unsigned> link_of(uint32_t context, const KnownState& state,
                                                unsigned target) const {
    std::optional<unsigned> found;
    for (unsigned r = 0; r + 1 < KnownState::register_count; r += 2) {
      const auto address = r == target ? std::nullopt : state.address(r);
      if (!address || address->assumed) continue;
      if (context != 0 && address->offset == graph_.contexts[context].return_pc) return r;
      if (found && state.address(*found)->offset != address->offset) return {};
      if (!found) found = r;
    }
    return context == 0 ? found : std::nullopt;
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
      target.preserved = address->preserved;
      return lead(target, context, i);
    }
    if (const auto link = parameter_pair(state, i.src[0])) {
      target.leaves = static_cast<uint8_t>(*link);
      target.preserved =
          graph_.origins->join(state.read(i.src[0], 0).preserved, state.read(i.src[0], 1).preserved);
      return target;
    }
    const bool known = !state.read(i.src[0], 0).is_unknown() && !state.read(i.src[0], 1).is_unknown();
    if (context == 0 || (known && !address && is_host_data(state, i.src[0])))
      return slot(context, block, state);
    // clang's callees return through s[30:31]; what cannot be followed through memory is checked.
    target.pc = c.return_pc;
    target.checked = !address || address->assumed;
    target.is_return = true;
    if (address) target.preserved = address->preserved;
    return lead(target, c.parent, i);
  }

  /// The pair of a callee's entry registers that a pair still holds.
  [[nodiscard]] std::optional<unsigned> parameter_pair(const KnownState& state,
                                                       const rdna2::Operand& pair) const {
    const Known lo = state.read(pair, 0), hi = state.read(pair, 1);
    if (lo.kind != Known::Kind::origin || hi.kind != Known::Kind::origin || lo.assumed || hi.assumed)
      return {};
    const Origin &a = (*graph_.origins)[lo.payload], &b = (*graph_.origins)[hi.payload];
    if (a.kind != Origin::Kind::parameter || b.kind != Origin::Kind::parameter || b.value != a.value + 1)
      return {};
    return static_cast<unsigned>(a.value);
  }

  /// Not just numbers.
  [[nodiscard]] static bool is_host_data(const KnownState& state, const rdna2::Operand& pair) {
    return state.read(pair, 0).kind == Known::Kind::origin || state.read(pair, 1).kind == Known::Kind::origin;
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

  Expected<void> check_targets() {
    std::vector<bool> seen(graph_.nodes.size());
    std::vector<uint32_t> work{0};
    seen[0] = true;
    bool ends = false;
    while (!work.empty()) {
      const uint32_t k = work.back();
      work.pop_back();
      const Node& n = graph_.nodes[k];
      const CodeBlock& block = graph_.block(n);
      const bool indirect = block.exit == Exit::call || block.exit == Exit::jump;
      if (indirect && n.successor_count == 0 && !n.leaves && !targets_[k].slot) return refuse(k);
      ends = ends || n.successor_count == 0;
      for (unsigned s = 0; s < n.successor_count; ++s)
        if (!seen[n.successors[s]]) {
          seen[n.successors[s]] = true;
          work.push_back(n.successors[s]);
        }
    }
    if (graph_.callee && !ends)
      return fail(ErrorKind::input, "the callee never returns and never ends",
                  fmt::format("pc 0x{:x}", graph_.block(graph_.nodes[0]).pc));
    return {};
  }

  /// Why the target of a node's call or jump is not known.
  [[nodiscard]] std::unexpected<Error> refuse(uint32_t n) {
    const CodeBlock block = graph_.block(graph_.nodes[n]);
    const auto code = graph_.code.instructions(block);
    KnownState state = *states_[n].state;
    for (const Instruction& i : code.first(code.size() - 1)) state.execute(i, graph_.code.binary());
    const Instruction& i = code.back();
    const Known lo = state.read(i.src[0], 0), hi = state.read(i.src[0], 1);
    const Known& k = lo.is_unknown() ? lo : hi;
    const auto at = std::ranges::find(graph_.code.instructions(), k.payload, &Instruction::pc);
    const std::string maker = at == graph_.code.instructions().end() || k.payload == 0 ? "" : text(*at);
    std::string why;
    switch (k.why) {
    case Known::Why::never_written:
      why = fmt::format("s{} holds nothing that the host passes", i.src[0].reg);
      break;
    case Known::Why::lanes: why = "it depends on lanes: " + maker; break;
    case Known::Why::memory: why = "it is loaded through a pointer that is not proven: " + maker; break;
    case Known::Why::not_followed: why = "it is computed: " + maker; break;
    case Known::Why::paths:
      why = fmt::format("paths that meet at pc 0x{:x} bring different values", k.payload);
      break;
    }
    return fail(ErrorKind::unsupported, "the target of this call or jump depends on data", text(i), why);
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
    std::vector<Preserved> preserved;
    for (const uint32_t old : order) {
      kept.push_back(graph_.nodes[old]);
      Target& target = targets_[old];
      for (const Preserved& p : graph_.origins->preserved(target.preserved))
        if (number[p.slot] != UINT32_MAX) preserved.push_back({number[p.slot], p.reg});
      if (!target.slot) continue;
      target.slot->node = number[old];
      graph_.slots.push_back(std::move(*target.slot));
    }
    std::ranges::sort(preserved);
    preserved.erase(std::unique(preserved.begin(), preserved.end()), preserved.end());
    graph_.preserved = std::move(preserved);
    for (Node& n : kept) {
      for (uint32_t& s : n.successors) s = number[s] == UINT32_MAX ? 0 : number[s];
    }
    graph_.nodes = std::move(kept);
  }

  /// Slots get their numbers, which `preserved` uses from here on.
  Expected<void> number_slots() {
    const auto pointers = std::ranges::count_if(graph_.slots, [](const CallSlot& s) { return !s.function; });
    if (static_cast<size_t>(pointers) > limits::max_call_slots)
      return fail(ErrorKind::limit,
                  fmt::format("{} calls through pointers are more than max_call_slots", pointers),
                  fmt::format("pc 0x{:x}", graph_.slots.back().pc));
    for (uint32_t s = 0; s < graph_.slots.size(); ++s) graph_.nodes[graph_.slots[s].node].slot = s;
    for (Preserved& p : graph_.preserved) p.slot = graph_.nodes[p.slot].slot;
    std::ranges::sort(graph_.preserved);
    return {};
  }

  struct StateOfNode {
    bool reached = false, queued = false;
    std::unique_ptr<KnownState> state;
  };

  Graph graph_;
  GraphOptions options_;
  KnownState at_end_;           ///< of the node that is visited
  std::vector<Target> targets_; ///< by node, of calls and jumps
  bool calls_ = false;
  std::vector<StateOfNode> states_;
  std::unordered_map<uint64_t, uint32_t> numbers_; ///< (context, block) -> node
  std::unordered_map<uint64_t, uint32_t> callees_; ///< (caller, call site) -> context
  std::deque<uint32_t> queue_;
  size_t instructions_ = 0;
};

} // namespace

Expected<Graph> build_graph(const container::ShaderBinary& binary, uint32_t entry, rdna2::WaveSize wave,
                            const GraphOptions& options) {
  return GraphBuilder(binary, wave, options).build(entry);
}

} // namespace lanewise::translate
