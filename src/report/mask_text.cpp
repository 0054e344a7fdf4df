#include "report/mask_text.hpp"

#include "ir/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>

namespace lanewise::report {
namespace {

using analysis::Formula;
using analysis::FormulaPool;
using analysis::kFalse;
using analysis::kTrue;
using ir::Op;
using ir::Value;
using Atom = analysis::MaskAlgebra::Atom;

constexpr uint32_t kLaneLevels = 6;    // the lowest levels are bits of the lane's index
constexpr size_t kLongest = 400;       // of a spelled formula, characters
constexpr unsigned kDeepest = 48;      // conditions in a row
constexpr const char* kCut = "\u2026"; // what is left out

struct Infix {
  Op op;
  const char* sign;
};
constexpr Infix kInfix[] = {
    {Op::add, "+"},  {Op::sub, "-"},   {Op::mul, "*"},    {Op::and_, "&"}, {Op::or_, "|"},  {Op::xor_, "^"},
    {Op::shl, "<<"}, {Op::lshr, ">>"}, {Op::ashr, ">>s"}, {Op::fadd, "+"}, {Op::fmul, "*"}, {Op::eq, "=="},
    {Op::ne, "!="},  {Op::ult, "<u"},  {Op::ule, "<=u"},  {Op::slt, "<"},  {Op::sle, "<="},
};

/// The same bits, or a part that goes without saying.
bool is_transparent(Op op) {
  return op == Op::bitcast || op == Op::zext || op == Op::trunc || op == Op::lo32 || op == Op::sext;
}

std::string at(std::string_view what, uint32_t pc) {
  return pc != 0 ? fmt::format("{}@{:#x}", what, pc) : std::string(what);
}

} // namespace

std::string MaskText::value(Value v, unsigned depth) const {
  const ir::Inst& inst = f_[v];
  if (inst.op == Op::constant) {
    std::string text;
    ir::spell_constant(text, inst.type, inst.imm);
    return text;
  }
  if (inst.op == Op::input) {
    const auto which = static_cast<ir::Input>(inst.imm);
    return which == ir::Input::initial_exec ? "launched" : std::string(ir::name(which));
  }
  if (inst.op == Op::lane_id) return "lane";
  const auto operands = f_.operands(v);
  if (is_transparent(inst.op)) return value(operands[0], depth);
  if (inst.op == Op::extract) {
    const std::string whole = value(operands[0], depth);
    return f_[operands[0]].components > 1 && inst.imm != 0 ? fmt::format("{}[{}]", whole, inst.imm) : whole;
  }
  if (inst.op == Op::phi) return phi_name("phi", v);
  const auto* infix = std::ranges::find(kInfix, inst.op, &Infix::op);
  if (depth == 0 || operands.empty() || ir::info(inst.op).kind == ir::OpKind::load) return made(v);
  if (infix != std::end(kInfix) && operands.size() == 2)
    return fmt::format("({} {} {})", value(operands[0], depth - 1), infix->sign,
                       value(operands[1], depth - 1));
  if (inst.op == Op::not_) return "!" + value(operands[0], depth);
  if (ir::info(inst.op).kind != ir::OpKind::pure && inst.op != Op::ballot && inst.op != Op::any &&
      inst.op != Op::lane_bit)
    return made(v);
  std::string list;
  for (const Value o : operands) list += (list.empty() ? "" : ", ") + value(o, depth - 1);
  return fmt::format("{}({})", ir::name(inst.op), list);
}

/// "load@0x48", and "load.2@0x48" for the second of an instruction that makes several.
std::string MaskText::made(Value v) const {
  const ir::Inst& inst = f_[v];
  if (inst.pc == 0) return std::string(ir::name(inst.op));
  const auto& list = f_.blocks[masks_.block_of(v)].instructions;
  size_t same = 1;
  for (auto it = std::ranges::find(list, v); it != list.begin() && f_[*std::prev(it)].pc == inst.pc; --it)
    same += f_[*std::prev(it)].op == inst.op;
  return at(same == 1 ? std::string(ir::name(inst.op)) : fmt::format("{}.{}", ir::name(inst.op), same),
            inst.pc);
}

/// Phis of a block are told apart by their places.
std::string MaskText::phi_name(const char* what, Value phi) const {
  const ir::BasicBlock& block = f_.blocks[masks_.block_of(phi)];
  const auto place = std::ranges::find(block.instructions, phi) - block.instructions.begin();
  return fmt::format("{}.{}@{:#x}", what, place + 1, block.pc);
}

std::string MaskText::operator()(Formula formula) {
  if (formula == kTrue) return "all lanes";
  if (formula == kFalse) return "no lane";
  return spell_cases_or_lanes(formula, kDeepest).text;
}

std::string MaskText::inside(const Text& t, Strength around) {
  return t.strength < around ? "(" + t.text + ")" : t.text;
}

Formula MaskText::under(Formula f, uint32_t level, bool value) {
  FormulaPool& pool = masks_.pool();
  FormulaPool::Memo memo;
  return pool.rebuild(
      f, level,
      [&](uint32_t at_level, Formula high, Formula low) {
        if (at_level == level) return value ? high : low;
        return pool.ite(pool.atom(at_level), high, low);
      },
      memo);
}

/// The outcomes of what the newest atom of `f` asks.
MaskText::Cases MaskText::cases_of(Formula f) {
  using Kind = Atom::Kind;
  const uint32_t top = masks_.pool().top(f);
  const Atom& atom = masks_.atom(top);
  // The other atom of the same pair, below this one.
  const auto partner = [&](Kind kind) {
    for (uint32_t level = top; level-- > kLaneLevels;) {
      const Atom& other = masks_.atom(level);
      if (other.kind == kind && other.what == atom.what && other.other == atom.other && other.imm == atom.imm)
        return level;
    }
    return top;
  };
  Cases c{.under = {}, .a = Value{atom.what}, .b = Value{atom.other}, .atom = {}};
  switch (atom.kind) {
  case Kind::signed_less:
  case Kind::unsigned_less: {
    c.kind = atom.kind == Kind::signed_less ? Cases::Kind::signed_order : Cases::Kind::unsigned_order;
    const uint32_t equal = partner(Kind::equal);
    const Formula different = under(f, equal, false);
    c.under = {under(different, top, true), under(under(f, equal, true), top, false),
               under(different, top, false)};
    return c;
  }
  case Kind::equal:
    c.kind = Cases::Kind::signed_order;
    c.under = {under(f, top, false), under(f, top, true), under(f, top, false)};
    return c;
  case Kind::float_high: {
    c.kind = Cases::Kind::floats;
    const uint32_t low = partner(Kind::float_low);
    for (const bool high : {false, true})
      for (const bool odd : {false, true}) c.under.push_back(under(under(f, top, high), low, odd));
    return c;
  }
  case Kind::float_low: // the high bit is not asked: outcomes 0 and 2, and 1 and 3, are the same
    c.kind = Cases::Kind::floats;
    for (const bool odd : {false, true, false, true}) c.under.push_back(under(f, top, odd));
    return c;
  case Kind::way: {
    const ir::BasicBlock& block = f_.blocks[atom.what];
    c.atom = fmt::format("came from b{}", block.predecessors[atom.imm].index);
    break;
  }
  default: c.atom = f_[c.a].op == Op::phi ? phi_name("loop mask", c.a) : value(c.a);
  }
  c.under = {masks_.pool().low(f), masks_.pool().high(f)};
  return c;
}

/// That the outcome is one of `set`.
std::string MaskText::relation(const Cases& c, unsigned set) const {
  if (c.kind == Cases::Kind::atom) return set == 2 ? c.atom : "!" + c.atom;
  static constexpr std::array<const char*, 8> signs{"", "<", "==", "<=", ">", "!=", ">=", ""};
  static constexpr std::array<const char*, 8> float_signs{"", "<", "==", "<=", ">", "<>", ">=", ""};
  Value a = c.a, b = c.b;
  if (f_.is_constant(a) && !f_.is_constant(b)) {
    std::swap(a, b);
    set = (set & ~5u) | (set & 1) << 2 | (set & 4) >> 2;
  }
  const std::string x = value(a), y = value(b);
  if (c.kind != Cases::Kind::floats) {
    const bool order = set != 2 && set != 5 && c.kind == Cases::Kind::unsigned_order;
    return fmt::format("{} {}{} {}", x, signs[set], order ? "u" : "", y);
  }
  if (set == 7) return fmt::format("ordered({}, {})", x, y);
  if (set == 8) return fmt::format("unordered({}, {})", x, y);
  if (set & 8) return fmt::format("!({} {} {})", x, float_signs[~set & 7], y);
  return fmt::format("{} {} {}", x, float_signs[set], y);
}

std::string MaskText::lanes(Formula f) const {
  uint64_t set = 0;
  for (unsigned lane = 0; lane < f_.wave_size; ++lane)
    if (masks_.pool().evaluate(f, [&](uint32_t level) { return (lane >> level & 1) != 0; }))
      set |= uint64_t{1} << lane;
  std::string text;
  unsigned ranges = 0;
  for (unsigned lane = 0; lane < f_.wave_size; ++lane) {
    if (!(set >> lane & 1)) continue;
    unsigned last = lane;
    while (last + 1 < f_.wave_size && (set >> (last + 1) & 1)) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", lane);
    if (last > lane) text += fmt::format("-{}", last);
    ++ranges;
    lane = last;
  }
  return ranges > 4 ? fmt::format("lane in {:#x}", set) : "lane in " + text;
}

MaskText::Text MaskText::spell_cases(const Cases& c, unsigned depth) {
  // Outcomes that lead to the same are one.
  std::vector<std::pair<Formula, unsigned>> groups;
  for (size_t i = 0; i < c.under.size(); ++i) {
    const auto same = std::ranges::find(groups, c.under[i], &std::pair<Formula, unsigned>::first);
    if (same == groups.end())
      groups.emplace_back(c.under[i], 1u << i);
    else
      same->second |= 1u << i;
  }
  if (groups.size() == 1) return spell(groups[0].first, depth);
  if (groups.size() == 2) {
    auto [first, set] = groups[0];
    auto [second, rest] = groups[1];
    if (first == kFalse || second == kTrue) std::swap(first, second), std::swap(set, rest);
    // Now only `first` can be true, and only `second` can be false.
    if (first == kTrue && second == kFalse) return {relation(c, set), Strength::one};
    if (second == kFalse)
      return {inside(spell(first, depth), Strength::both) + " & " + relation(c, set), Strength::both};
    if (first == kTrue)
      return {inside(spell(second, depth), Strength::either) + " | " + relation(c, set), Strength::either};
    const bool negative = c.kind == Cases::Kind::atom ? set == 1 : c.kind != Cases::Kind::floats && set == 5;
    if (negative) std::swap(first, second), std::swap(set, rest);
    return {fmt::format("{} ? {} : {}", relation(c, set), inside(spell(first, depth), Strength::either),
                        inside(spell(second, depth), Strength::either)),
            Strength::choice};
  }
  std::string text;
  for (const auto& [formula, set] : groups) {
    if (formula == kFalse) continue;
    if (!text.empty()) text += " | ";
    if (formula != kTrue) text += inside(spell(formula, depth), Strength::both) + " & ";
    text += relation(c, set);
  }
  return {text, Strength::either};
}

MaskText::Text MaskText::spell(Formula f, unsigned depth) {
  if (f == kTrue) return {"true"};
  if (f == kFalse) return {"false"};
  if (const auto it = names_.find(f.bits); it != names_.end()) return {it->second};
  if (const auto it = names_.find(FormulaPool::not_(f).bits); it != names_.end()) return {"!" + it->second};
  if (const auto it = memo_.find(f.bits); it != memo_.end()) return it->second;
  if (depth == 0) return {kCut};
  Text text = spell_cases_or_lanes(f, depth - 1);
  memo_.emplace(f.bits, text);
  return text;
}

MaskText::Text MaskText::spell_cases_or_lanes(Formula f, unsigned depth) {
  Text text = masks_.pool().top(f) < kLaneLevels ? Text{lanes(f)} : spell_cases(cases_of(f), depth);
  if (text.text.size() > kLongest) {
    // The end is the newest condition, which says most; a word is not cut in two.
    size_t from = text.text.size() - kLongest;
    while (from < text.text.size() && text.text[from] != ' ') ++from;
    text.text = kCut + text.text.substr(from);
  }
  return text;
}

} // namespace lanewise::report
