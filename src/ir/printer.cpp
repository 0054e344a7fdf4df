#include "ir/printer.hpp"

#include "ir/text.hpp"

#include <fmt/format.h>

#include <iterator>

namespace lanewise::ir {
namespace {

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "\\{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + '"';
}

void print_instruction(std::string& out, const Function& f, const ValueNames& names, Value v,
                       const BasicBlock& block) {
  const Inst& inst = f[v];
  const auto to = std::back_inserter(out);
  out += "  ";
  if (inst.type != Type::none) {
    names.spell(out, v);
    fmt::format_to(to, " = {}{}", inst.uniform ? "uniform " : "", name(inst.type));
    if (inst.components != 1) fmt::format_to(to, "x{}", inst.components);
    out += ' ';
  }
  out += name(inst.op);
  spell_immediate(out, inst.op, inst.imm);
  const char* separator = " ";
  for (const Value operand : f.operands(v)) {
    out += separator;
    names.spell(out, operand);
    separator = ", ";
  }
  if (info(inst.op).kind == OpKind::end) {
    for (unsigned i = 0; i < block.successor_count; ++i) {
      fmt::format_to(to, "{}b{}", separator, block.successors[i].index);
      separator = ", ";
    }
  }
  if (inst.pc) fmt::format_to(to, " @{:#x}", inst.pc);
  out += '\n';
}

void print_header(std::string& out, const BasicBlock& block, size_t index) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "b{}:", index);
  const char* separator = " from ";
  for (const Block p : block.predecessors) {
    fmt::format_to(to, "{}b{}", separator, p.index);
    separator = ", ";
  }
  if (block.pc) fmt::format_to(to, " @{:#x}", block.pc);
  out += '\n';
}

} // namespace

ValueNames::ValueNames(const Function& f) : function_(f), numbers_(f.value_count()) {
  uint32_t next = 0;
  for (const BasicBlock& b : f.blocks) {
    for (const Value v : b.instructions) {
      if (v.index < numbers_.size() && f[v].type != Type::none) numbers_[v.index] = ++next;
    }
  }
}

void ValueNames::spell(std::string& out, Value v) const {
  const auto to = std::back_inserter(out);
  if (v.index >= numbers_.size() || !v) {
    out += "%invalid";
  } else if (function_.is_constant(v)) {
    const Inst& inst = function_[v];
    fmt::format_to(to, "{} ", name(inst.type));
    spell_constant(out, inst.type, inst.imm);
  } else if (numbers_[v.index]) {
    fmt::format_to(to, "%{}", numbers_[v.index]);
  } else {
    fmt::format_to(to, "%unplaced{}", v.index);
  }
}

std::string ValueNames::operator()(Value v) const {
  std::string s;
  spell(s, v);
  return s;
}

std::string print(const Function& f) {
  const ValueNames names(f);
  std::string out = fmt::format("function {} wave{} lds {} scratch {}{} {{\n", quoted(f.name), f.wave_size,
                                f.lds_bytes, f.scratch_bytes, f.divergent ? " divergent" : "");
  out.reserve(size_t{f.value_count()} * 40);
  for (size_t i = 0; i < f.blocks.size(); ++i) {
    print_header(out, f.blocks[i], i);
    for (const Value v : f.blocks[i].instructions) print_instruction(out, f, names, v, f.blocks[i]);
  }
  return out + "}\n";
}

} // namespace lanewise::ir
