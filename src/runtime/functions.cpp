#include "runtime/functions.hpp"

#include "link/narrow_interfaces.hpp"
#include "passes/passes.hpp"
#include "translate/call_survey.hpp"
#include "translate/mode.hpp"
#include "translate/registers.hpp"

#include <algorithm>
#include <map>

namespace lanewise::runtime {
namespace {

using translate::CallSlot;
using translate::Unlinked;

std::vector<uint16_t> parameters_of(const ir::Function& f) {
  std::vector<uint16_t> list;
  for (const ir::BasicBlock& b : f.blocks)
    for (const ir::Value v : b.instructions)
      if (f[v].op == ir::Op::param_scalar || f[v].op == ir::Op::param_vector)
        list.push_back(static_cast<uint16_t>(f[v].imm));
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

/// Leaves those results that are wanted; both lists in the same order.
void return_only(ir::Function& f, std::span<const uint16_t> results, std::span<const uint16_t> wanted) {
  for (const ir::BasicBlock& b : f.blocks) {
    const ir::Value end = b.instructions.back();
    if (f[end].op != ir::Op::call_return) continue;
    std::vector<ir::Value> kept;
    for (size_t k = 0; k < results.size(); ++k)
      if (std::ranges::find(wanted, results[k]) != wanted.end())
        kept.push_back(f.operand(end, static_cast<unsigned>(k)));
    f.set_operands(end, kept);
  }
  passes::dead_code(f);
}

/// Callees before callers, as far as functions have been chosen.
std::vector<uint32_t> functions_of(const std::vector<translate::SurveyedFunction>& found,
                                   const link::CallCosts& costs) {
  std::vector<link::CallNode> nodes;
  for (const auto& f : found) nodes.push_back({f.instructions, f.calls, f.returns, f.scratch});
  const auto chosen = link::choose_functions(nodes, costs);
  // Depth first, callees before their callers.
  std::vector<uint32_t> entries;
  std::vector<bool> seen(found.size());
  const auto visit = [&](auto&& self, uint32_t n) -> void {
    seen[n] = true;
    for (const uint32_t c : found[n].calls)
      if (!seen[c]) self(self, c);
    if (chosen[n]) entries.push_back(found[n].entry);
  };
  visit(visit, 0);
  return entries;
}

class ProgramBuilder {
 public:
  ProgramBuilder(const container::ShaderBinary& binary, const container::Kernel& kernel,
                 const translate::TranslateOptions& options)
      : binary_(binary), kernel_(kernel), options_(options) {}

  Expected<ir::Program> build(std::span<const uint32_t> functions) {
    for (const uint32_t entry : functions) add(entry);
    auto main = translated([&](std::span<const translate::CalledFunction> callable) {
      return translate::translate_unlinked(binary_, kernel_, with(callable));
    });
    if (!main) return std::unexpected(std::move(main.error()));
    if (calls_pointers(*main)) return fail(ErrorKind::unsupported, "the kernel calls through pointers");
    ir::Program program{std::move(main->function), std::move(callees_)};
    bind_calls(program.main, *main);
    return program;
  }

 private:
  struct Callee {
    uint32_t index;
    std::vector<uint8_t> links;
    translate::CalledFunction called;
  };

  [[nodiscard]] translate::TranslateOptions with(std::span<const translate::CalledFunction> callable) const {
    translate::TranslateOptions options = options_;
    options.functions = callable;
    return options;
  }

  /// Translates a function, and if it cannot be called as it is leaves it to be inlined.
  void add(uint32_t entry) {
    const auto& d = kernel_.descriptor;
    const translate::CalleeAbi abi{d.wave32 ? 32u : 64u, translate::Mode::initial(d).bits,
                                   std::clamp(d.vgpr_count, 3u, 256u)};
    auto callee = translated([&](std::span<const translate::CalledFunction> callable) {
      translate::TranslateOptions options = with(callable);
      options.full_waves = false;
      return translate::translate_callee(binary_, entry, abi, options);
    });
    if (!callee || calls_pointers(*callee) || ends_elsewhere(callee->function)) return;
    ir::Function& f = callee->function;
    f.name = "function";
    f.lds_bytes = d.group_segment_fixed_size;
    f.scratch_bytes = d.private_segment_fixed_size;
    simplify_unlinked(f);
    ir::CalleeFunction result;
    translate::CalledFunction called{entry, {}, changed_registers(*callee)};
    return_only(f, callee->results, called.results);
    called.params = parameters_of(f);
    for (const uint16_t r : called.params) result.params.push_back(translate::interface_register(r));
    for (const uint16_t r : called.results) result.results.push_back(translate::interface_register(r));
    bind_calls(f, *callee);
    result.function = std::move(f);
    known_[entry] = {static_cast<uint32_t>(callees_.size()), callee->links, std::move(called)};
    callees_.push_back(std::move(result));
  }

  [[nodiscard]] static bool calls_pointers(const Unlinked& program) {
    return std::ranges::any_of(program.slots, [](const CallSlot& s) { return !s.function; });
  }

  /// A wave cannot end inside a function of the module.
  [[nodiscard]] static bool ends_elsewhere(const ir::Function& f) {
    return std::ranges::any_of(f.blocks, [&](const ir::BasicBlock& b) {
      const ir::Op end = f[b.instructions.back()].op;
      return end == ir::Op::ret || end == ir::Op::trap;
    });
  }

  /// `translate(callable)` with all functions there are, less those that do not suit this caller.
  template <class F>
  Expected<Unlinked> translated(F translate) {
    std::vector<translate::CalledFunction> callable;
    for (const auto& [entry, callee] : known_) callable.push_back(callee.called);
    while (true) {
      Expected<Unlinked> program = translate(callable);
      if (!program) return program;
      const size_t before = callable.size();
      for (uint32_t s = 0; s < program->slots.size(); ++s)
        if (program->slots[s].function && !suits(*program, s))
          std::erase_if(callable, [&](const auto& f) { return f.entry == *program->slots[s].function; });
      if (callable.size() == before) return program;
    }
  }

  /// A callee comes back where the call wants it to, and leaves alone what code behind the call relies on.
  [[nodiscard]] bool suits(const Unlinked& program, uint32_t number) const {
    const CallSlot& slot = program.slots[number];
    const Callee& callee = known_.at(*slot.function);
    if (program.modes[number] != translate::Mode::initial(kernel_.descriptor).bits) return false;
    if (!std::ranges::all_of(callee.links, [&](uint8_t link) { return link == slot.link; })) return false;
    return std::ranges::none_of(program.preserved, [&](const translate::Preserved& p) {
      return p.slot == number &&
             std::ranges::find(callee.called.results, p.reg) != callee.called.results.end();
    });
  }

  /// Calls name slots; they get the number of the callee.
  void bind_calls(ir::Function& f, const Unlinked& program) const {
    for (const ir::BasicBlock& b : f.blocks)
      for (const ir::Value v : b.instructions) {
        if (f[v].op != ir::Op::call) continue;
        f[v].imm = known_.at(*program.slots[f[v].imm].function).index;
        f.operands(v)[0] = f.constant(ir::Type::i64, 0);
      }
  }

  const container::ShaderBinary& binary_;
  const container::Kernel& kernel_;
  const translate::TranslateOptions& options_;
  std::map<uint32_t, Callee> known_; ///< by entry
  std::vector<ir::CalleeFunction> callees_;
};

} // namespace

void simplify_unlinked(ir::Function& f) {
  passes::cfg_cleanup(f);
  passes::dead_code(f);
  passes::uniformity(f);
  passes::simplify(f);
  passes::mask_phis(f);
  passes::dead_code(f);
}

std::vector<uint16_t> changed_registers(const Unlinked& program) {
  const ir::Function& f = program.function;
  std::vector<uint16_t> changed;
  for (size_t k = 0; k < program.results.size(); ++k) {
    const uint16_t reg = program.results[k];
    const auto kept = [&](ir::Value v) {
      const ir::Inst& inst = f[v];
      return (inst.op == ir::Op::param_scalar || inst.op == ir::Op::param_vector) && inst.imm == reg;
    };
    const bool same = std::ranges::all_of(f.blocks, [&](const ir::BasicBlock& b) {
      const ir::Value end = b.instructions.back();
      return f[end].op != ir::Op::call_return || kept(f.operand(end, static_cast<unsigned>(k)));
    });
    if (!same) changed.push_back(reg);
  }
  return changed;
}

std::optional<ir::Program> program_with_functions(const container::ShaderBinary& binary,
                                                  const container::Kernel& kernel,
                                                  const translate::TranslateOptions& options,
                                                  const link::CallCosts& costs,
                                                  std::optional<translate::Code>* explored) {
  const auto found = translate::survey_calls(binary, kernel, explored);
  if (!found || found->empty() || found->front().pointers) return {};
  const auto functions = functions_of(*found, costs);
  if (functions.empty()) return {};
  auto program = ProgramBuilder(binary, kernel, options).build(functions);
  if (!program || program->callees.empty()) return {};
  link::narrow_interfaces(*program);
  return std::move(*program);
}

Expected<ir::Program> translate_program(const container::ShaderBinary& binary,
                                        const container::Kernel& kernel,
                                        const translate::TranslateOptions& options,
                                        const std::optional<link::CallCosts>& costs) {
  std::optional<translate::Code> explored;
  if (costs)
    if (auto program = program_with_functions(binary, kernel, options, *costs, &explored))
      return std::move(*program);
  auto whole = options;
  if (explored) whole.explored = &*explored;
  auto function = translate::translate(binary, kernel, whole);
  if (!function) return std::unexpected(std::move(function.error()));
  return ir::Program{std::move(*function), {}};
}

} // namespace lanewise::runtime
