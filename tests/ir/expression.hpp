// For tests of folding and passes: a block of IR text in, the value %r as one expression out.
//
// The text may use these values, and the expression names them the same:
//   %a %b %c  i32, per lane       %s %t  i32, uniform     %q %d  i64, uniform      %l %k  i64, per lane
//   %m %n %p  u1, per lane        %u     u1, uniform      %x %y  f32, per lane     %h     f16, per lane
#pragma once

#include "ir/parser.hpp"
#include "ir/text.hpp"
#include "ir/verifier.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

namespace lanewise::ir::testing {

inline constexpr const char* kLeaves = R"(
  %a = i32 input.local_id_x
  %b = i32 input.local_id_y
  %c = i32 input.local_id_z
  %s = uniform i32 input.workgroup_id_x
  %t = uniform i32 input.workgroup_id_y
  %q = uniform i64 input.kernarg_ptr
  %d = uniform i64 input.dispatch_ptr
  %m = u1 input.initial_exec
  %x = f32 load.global.4 i64 1, %m
  %y = f32 load.global.4 i64 2, %m
  %l = i64 load.global.8 i64 3, %m
  %k = i64 load.global.8 i64 4, %m
  %h = f16 load.global.2 i64 5, %m
  %n = u1 fclass %x, i32 1
  %p = u1 fclass %x, i32 2
  %xu = uniform f32 load.global.4 i64 1, u1 true
  %u = uniform u1 fclass %xu, i32 4
)";

inline std::string leaf_name(const Function& f, Value v) {
  switch (f[v].op) {
  case Op::input: {
    static const std::unordered_map<uint64_t, const char*> names{
        {static_cast<uint64_t>(Input::local_id_x), "a"},
        {static_cast<uint64_t>(Input::local_id_y), "b"},
        {static_cast<uint64_t>(Input::local_id_z), "c"},
        {static_cast<uint64_t>(Input::workgroup_id_x), "s"},
        {static_cast<uint64_t>(Input::workgroup_id_y), "t"},
        {static_cast<uint64_t>(Input::kernarg_ptr), "q"},
        {static_cast<uint64_t>(Input::dispatch_ptr), "d"},
        {static_cast<uint64_t>(Input::initial_exec), "m"}};
    const auto it = names.find(f[v].imm);
    return it == names.end() ? "" : it->second;
  }
  case Op::load:
    return f.is_constant(f.operand(v, 0)) ? std::string(1, "?xylkh"[f[f.operand(v, 0)].imm]) : "";
  case Op::fclass:
    if (!f.is_constant(f.operand(v, 1)) || f[f.operand(v, 0)].op != Op::load) return "";
    return f[f.operand(v, 1)].imm == 1 ? "n" : f[f.operand(v, 1)].imm == 2 ? "p" : "u";
  default: return "";
  }
}

/// "add(a, 4)": operations as calls, constants bare, conversions with their type as in "zext:i64(a)".
inline std::string expression(const Function& f, Value v) {
  const Inst& inst = f[v];
  std::string out;
  if (inst.op == Op::constant) {
    spell_constant(out, inst.type, inst.imm);
    return out;
  }
  if (const std::string leaf = leaf_name(f, v); !leaf.empty()) return leaf;
  out += name(inst.op);
  if (info(inst.op).result == ResultRule::any) out += fmt::format(":{}", name(inst.type));
  spell_immediate(out, inst.op, inst.imm);
  if (inst.operand_count == 0) return out;
  const char* separator = "(";
  for (const Value o : f.operands(v)) {
    out += separator + expression(f, o);
    separator = ", ";
  }
  return out + ")";
}

/// The expression of the text's %r after `pass`; "error: ..." when text or result are bad IR.
inline std::string simplified(std::string_view text, const std::function<void(Function&)>& pass,
                              unsigned wave = 32) {
  auto f = parse(fmt::format(
      "function \"f\" wave{} lds 0 scratch 0 {{\nb0:{}{}\n store.global.4 i64 99, u1 true, %r\n ret\n}}",
      wave, kLeaves, text));
  if (!f) return "error: " + f.error().to_string();
  // The store takes as many bytes as the result has; a mask is stored as a select of numbers.
  const auto& list = f->blocks[0].instructions;
  const Value store = list[list.size() - 2];
  Value r = f->operand(store, 2);
  const bool mask = (*f)[r].type == Type::u1;
  if (mask) {
    const std::array wide{r, f->constant(Type::i32, 1), f->constant(Type::i32, 0)};
    const Value selected = f->create(Op::select, wide);
    auto& block = f->blocks[0].instructions;
    block.insert(block.end() - 2, selected);
    f->set_operands(store, std::array{f->operand(store, 0), f->operand(store, 1), selected});
  } else {
    (*f)[store].imm = MemoryAccess{.bytes = static_cast<uint8_t>(bit_width((*f)[r].type) / 8)}.pack();
  }
  if (const auto ok = verify(*f); !ok) return "error before: " + ok.error().to_string();
  pass(*f);
  if (const auto ok = verify(*f); !ok) return "error after: " + ok.error().to_string();
  const auto& after = f->blocks[0].instructions;
  r = f->operand(after[after.size() - 2], 2);
  if (mask && f->is_constant(r)) return (*f)[r].imm ? "true" : "false";
  if (mask) { // select(!m, 1, 0) became select(m, 0, 1)
    const std::string m = expression(*f, f->operand(r, 0));
    return f->is_constant(f->operand(r, 1), 1) ? m : fmt::format("not({})", m);
  }
  return expression(*f, r);
}

} // namespace lanewise::ir::testing
