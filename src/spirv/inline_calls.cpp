#include "spirv/inline_calls.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::spirv {
namespace {

using Words = std::span<const uint32_t>;

spv::Op op_of(Words instruction) { return static_cast<spv::Op>(instruction[0] & 0xffff); }

/// Which words of an instruction are ids.
struct Layout {
  bool has_result = true; ///< words 1 and 2 are type and result
  size_t literals = 0;    ///< the operands from here on are literals; 0: none are
  size_t literal = 0;     ///< this one operand is a literal; 0: none is
};

/// Operands are counted from 1, behind type and result. None for instructions that no short body needs.
std::optional<Layout> layout(spv::Op op) {
  switch (op) {
  case spv::Op::OpLoad: return Layout{.literals = 2};
  case spv::Op::OpStore: return Layout{.has_result = false, .literals = 3};
  case spv::Op::OpCompositeExtract: return Layout{.literals = 2};
  case spv::Op::OpExtInst: return Layout{.literal = 2};
  case spv::Op::OpAccessChain:
  case spv::Op::OpCompositeConstruct: return Layout{};
  default: break;
  }
  // Conversions, arithmetic, bit, relational and logical instructions: ids only.
  const bool conversion = op >= spv::Op::OpConvertFToU && op <= spv::Op::OpBitcast;
  const bool computation = op >= spv::Op::OpSNegate && op <= spv::Op::OpBitCount;
  if (conversion || computation) return Layout{};
  return {};
}

struct ModuleFunction {
  std::vector<Id> parameters;
  std::vector<Words> instructions;
  Id result = 0;
  size_t words = 0; ///< of the instructions
  size_t calls = 0;
  bool taken = false;
};

std::optional<ModuleFunction> body_of(Words function, const std::unordered_set<Id>& kept) {
  ModuleFunction body;
  unsigned labels = 0;
  bool fits = true;
  for_each_instruction(function, [&](spv::Op op, Words w) {
    if (!fits) return;
    switch (op) {
    case spv::Op::OpFunction:
    case spv::Op::OpReturn:
    case spv::Op::OpFunctionEnd:
    case ModuleBuilder::kMark: return;
    case spv::Op::OpFunctionParameter: body.parameters.push_back(w[2]); return;
    case spv::Op::OpLabel: ++labels; return;
    case spv::Op::OpReturnValue: body.result = w[1]; return;
    default: break;
    }
    const auto known = layout(op);
    fits = fits && known && !(known->has_result && kept.contains(w[2]));
    body.instructions.push_back(w);
    body.words += w.size();
  });
  if (!fits || labels != 1) return {};
  // A result that no instruction makes (a parameter, a constant) would need one of its own.
  const bool makes_result = body.result == 0 || std::ranges::any_of(body.instructions, [&](Words w) {
                              return layout(op_of(w))->has_result && w[2] == body.result;
                            });
  if (!makes_result) return {};
  return body;
}

bool is_shorter_inline(const ModuleFunction& b) {
  const size_t arguments = b.parameters.size();
  const size_t call = 4 + arguments;
  const size_t function = 5 + 3 * arguments + 2 + b.words + (b.result != 0 ? 2 : 1) + 1;
  return b.calls * b.words <= b.calls * call + function;
}

class Inliner {
 public:
  Inliner(std::unordered_map<Id, ModuleFunction>& bodies, const std::function<Id()>& new_id)
      : bodies_(bodies), new_id_(new_id) {}

  std::vector<uint32_t> rewritten(Words function) {
    std::vector<uint32_t> out;
    out.reserve(function.size() + function.size() / 8);
    for_each_instruction(function, [&](spv::Op op, Words w) {
      const auto body = op == spv::Op::OpFunctionCall ? bodies_.find(w[3]) : bodies_.end();
      if (body == bodies_.end() || !body->second.taken)
        out.insert(out.end(), w.begin(), w.end());
      else
        write(body->second, w, out);
    });
    return out;
  }

 private:
  [[nodiscard]] uint32_t renamed(uint32_t id) const {
    const auto it = std::ranges::find(names_, id, &std::pair<uint32_t, uint32_t>::first);
    return it == names_.end() ? id : it->second;
  }

  void write(const ModuleFunction& body, Words call, std::vector<uint32_t>& out) {
    names_.clear();
    for (size_t i = 0; i < body.parameters.size(); ++i) names_.emplace_back(body.parameters[i], call[4 + i]);
    for (const Words w : body.instructions) {
      const Layout l = *layout(op_of(w));
      const size_t first = l.has_result ? 3 : 1;
      if (l.has_result) names_.emplace_back(w[2], w[2] == body.result ? call[2] : new_id_());
      out.push_back(w[0]);
      for (size_t k = 1; k < w.size(); ++k) {
        const size_t operand = k < first ? 0 : k - first + 1;
        const bool is_literal =
            operand != 0 && ((l.literals != 0 && operand >= l.literals) || operand == l.literal);
        out.push_back(is_literal || (l.has_result && k == 1) ? w[k] : renamed(w[k]));
      }
    }
  }

  std::unordered_map<Id, ModuleFunction>& bodies_;
  const std::function<Id()>& new_id_;
  std::vector<std::pair<uint32_t, uint32_t>> names_;
};

} // namespace

std::unordered_set<Id> inline_short_calls(std::vector<std::vector<uint32_t>>& functions, Id entry,
                                          const std::unordered_set<Id>& kept,
                                          const std::function<Id()>& new_id) {
  std::unordered_map<Id, ModuleFunction> bodies; // they refer to the functions' words
  for (const auto& words : functions)
    if (const Id id = words[2]; id != entry)
      if (auto body = body_of(words, kept)) bodies.emplace(id, std::move(*body));
  for (const auto& words : functions)
    for_each_instruction(words, [&](spv::Op op, Words w) {
      if (op != spv::Op::OpFunctionCall) return;
      if (const auto it = bodies.find(w[3]); it != bodies.end()) ++it->second.calls;
    });
  std::unordered_set<Id> dropped;
  for (auto& [id, body] : bodies) {
    body.taken = is_shorter_inline(body);
    if (body.taken) dropped.insert(id);
  }
  if (dropped.empty()) return dropped;
  Inliner inliner(bodies, new_id);
  std::vector<std::vector<uint32_t>> result;
  for (const auto& words : functions)
    if (!dropped.contains(words[2])) result.push_back(inliner.rewritten(words));
  functions = std::move(result);
  return dropped;
}

} // namespace lanewise::spirv
