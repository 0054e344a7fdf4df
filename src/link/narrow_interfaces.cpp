#include "link/narrow_interfaces.hpp"

#include "passes/passes.hpp"
#include "passes/replacements.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::link {
namespace {

using namespace ir;

/// What one round found may allow the next one more: chains of calls as deep as this are narrowed all along.
constexpr unsigned max_rounds = 8;

bool is_result(Op op) { return op == Op::call_scalar || op == Op::call_vector; }
bool is_parameter(Op op) { return op == Op::param_scalar || op == Op::param_vector; }

template <class T>
void keep_only(std::vector<T>& list, const std::vector<bool>& keep) {
  size_t n = 0;
  for (size_t i = 0; i < keep.size(); ++i)
    if (keep[i]) list[n++] = list[i];
  list.resize(n);
}

/// A call and the function it stands in.
struct Site {
  Function* caller = nullptr;
  Value call;
  std::vector<Value> users; ///< Op::call_scalar and Op::call_vector
};

class Narrowing {
 public:
  explicit Narrowing(Program& p) : p_(p) {}

  void run() {
    passes::dead_code(p_.main);
    for (unsigned round = 0; round < max_rounds; ++round) {
      bool changed = false;
      // Callers first: what they read is known when their callees are looked at.
      find_sites();
      for (size_t k = p_.callees.size(); k-- > 0;) changed = narrow_results(k) || changed;
      find_sites();
      for (size_t k = p_.callees.size(); k-- > 0;) changed = narrow_params(k) || changed;
      if (!changed) return;
      for_each([](Function& f) { passes::dead_code(f); });
    }
  }

 private:
  template <class F>
  void for_each(F visit) {
    visit(p_.main);
    for (CalleeFunction& c : p_.callees) visit(c.function);
  }

  void find_sites() {
    sites_.assign(p_.callees.size(), {});
    for_each([&](Function& f) {
      std::vector<Site*> of(f.value_count());
      // Blocks stand in any order: calls first, then their results.
      for (const BasicBlock& b : f.blocks)
        for (const Value v : b.instructions)
          if (f[v].op == Op::call) sites_[f[v].imm].push_back({&f, v, {}});
      for (auto& list : sites_)
        for (Site& s : list)
          if (s.caller == &f) of[s.call.index] = &s;
      for (const BasicBlock& b : f.blocks)
        for (const Value v : b.instructions)
          if (is_result(f[v].op)) of[f.operand(v, 0).index]->users.push_back(v);
    });
  }

  [[nodiscard]] static std::vector<Value> returns_of(const Function& f) {
    std::vector<Value> found;
    for (const BasicBlock& b : f.blocks)
      if (!b.instructions.empty() && f[b.instructions.back()].op == Op::call_return)
        found.push_back(b.instructions.back());
    return found;
  }

  /// What stands for a result in a caller, if it is the same for every way through the callee.
  [[nodiscard]] std::optional<Value> known_result(const CalleeFunction& c, std::span<const Value> returns,
                                                  size_t result, const Site& site) const {
    const Function& f = c.function;
    if (returns.empty()) return {};
    const Value first = f.operand(returns[0], static_cast<unsigned>(result));
    for (const Value r : returns) {
      const Value v = f.operand(r, static_cast<unsigned>(result));
      const bool same_parameter =
          is_parameter(f[v].op) && is_parameter(f[first].op) && f[v].imm == f[first].imm;
      if (v != first && !same_parameter) return {};
    }
    if (f.is_constant(first)) return site.caller->constant(f[first].type, f[first].imm);
    if (!is_parameter(f[first].op)) return {};
    const auto at = std::ranges::find(c.params, f[first].imm, &InterfaceRegister::number);
    if (at == c.params.end()) return {};
    return site.caller->operand(site.call, static_cast<unsigned>(at - c.params.begin()) + 1);
  }

  bool narrow_results(size_t k) {
    CalleeFunction& c = p_.callees[k];
    const auto returns = returns_of(c.function);
    std::vector<bool> keep(c.results.size());
    std::vector<std::pair<Function*, passes::Replacements>> replaced;
    const auto replace = [&](Function& f, Value from, Value to) {
      auto at = std::ranges::find(replaced, &f, [](const auto& r) { return r.first; });
      if (at == replaced.end()) at = replaced.insert(at, {&f, passes::Replacements(f)});
      at->second.set(from, to);
    };
    for (Site& site : sites_[k])
      for (const Value user : site.users) {
        const auto at = std::ranges::find(c.results, (*site.caller)[user].imm, &InterfaceRegister::number);
        const auto result = static_cast<size_t>(at - c.results.begin());
        // What is no result, the callee leaves alone.
        const auto known =
            at == c.results.end() ? passed(c, site, user) : known_result(c, returns, result, site);
        if (known)
          replace(*site.caller, user, *known);
        else if (at != c.results.end())
          keep[result] = true;
      }
    for (auto& [f, r] : replaced) {
      for (BasicBlock& b : f->blocks)
        std::erase_if(b.instructions, [&, &r = r](Value v) { return is_result((*f)[v].op) && r(v) != v; });
      r.apply(*f);
    }
    if (std::ranges::all_of(keep, [](bool b) { return b; })) return !replaced.empty();
    for (const Value r : returns) {
      std::vector<Value> kept;
      for (size_t i = 0; i < keep.size(); ++i)
        if (keep[i]) kept.push_back(c.function.operand(r, static_cast<unsigned>(i)));
      c.function.set_operands(r, kept);
    }
    keep_only(c.results, keep);
    passes::dead_code(c.function);
    return true;
  }

  /// The value that a call passes in the register of one of its results.
  [[nodiscard]] std::optional<Value> passed(const CalleeFunction& c, const Site& site, Value user) const {
    const Function& f = *site.caller;
    const auto at = std::ranges::find(c.params, f[user].imm, &InterfaceRegister::number);
    if (at == c.params.end()) return {};
    return f.operand(site.call, static_cast<unsigned>(at - c.params.begin()) + 1);
  }

  /// The constant or input that every call passes.
  [[nodiscard]] std::optional<Inst> common_operand(size_t k, size_t param) const {
    std::optional<Inst> common;
    for (const Site& s : sites_[k]) {
      const Inst& i = (*s.caller)[s.caller->operand(s.call, static_cast<unsigned>(param) + 1)];
      const bool fits = i.op == Op::constant || (i.op == Op::input && is_uniform(static_cast<Input>(i.imm)));
      if (!fits || (common && (common->op != i.op || common->imm != i.imm || common->type != i.type)))
        return {};
      common = i;
    }
    return common;
  }

  bool narrow_params(size_t k) {
    CalleeFunction& c = p_.callees[k];
    Function& f = c.function;
    std::vector<Value> found;
    for (const BasicBlock& b : f.blocks)
      for (const Value v : b.instructions)
        if (is_parameter(f[v].op)) found.push_back(v);
    passes::Replacements replaced(f);
    std::vector<bool> keep(c.params.size());
    for (size_t i = 0; i < keep.size(); ++i) {
      const auto reads = [&](Value v) { return is_parameter(f[v].op) && f[v].imm == c.params[i].number; };
      if (std::ranges::none_of(found, reads)) continue;
      const auto common = common_operand(k, i);
      keep[i] = !common;
      if (!common) continue;
      for (const Value v : found) {
        if (!reads(v)) continue;
        if (common->op == Op::constant) {
          replaced.set(v, f.constant(common->type, common->imm));
        } else {
          f[v].op = Op::input;
          f[v].imm = common->imm;
          f[v].uniform = true;
        }
      }
    }
    if (std::ranges::all_of(keep, [](bool b) { return b; })) return false;
    replaced.apply(f);
    for (const Site& s : sites_[k]) {
      std::vector<Value> kept{s.caller->operand(s.call, 0)};
      for (size_t i = 0; i < keep.size(); ++i)
        if (keep[i]) kept.push_back(s.caller->operand(s.call, static_cast<unsigned>(i) + 1));
      s.caller->set_operands(s.call, kept);
    }
    keep_only(c.params, keep);
    return true;
  }

  Program& p_;
  std::vector<std::vector<Site>> sites_; ///< by callee
};

} // namespace

void narrow_interfaces(Program& program) {
  if (!program.callees.empty()) Narrowing(program).run();
}

} // namespace lanewise::link
