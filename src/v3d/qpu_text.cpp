// Text of QPU words, both ways.
#include "v3d/pack.hpp"

#include <fmt/format.h>

#include <charconv>
#include <vector>

namespace lanewise::v3d {

namespace {

std::string qpu_reg_text(const Reg& r) {
  switch (r.kind) {
  case Reg::rf: return fmt::format("rf{}", r.index);
  case Reg::acc: return fmt::format("r{}", r.index);
  case Reg::temp: return fmt::format("t{}", r.index);
  case Reg::magic: return std::string(magic_name(static_cast<std::uint8_t>(r.index)));
  case Reg::imm: {
    const std::uint32_t v = small_immediate(r.index);
    return r.index < 32 ? fmt::format("{}", static_cast<std::int32_t>(v)) : fmt::format("0x{:08x}", v);
  }
  default: return "-";
  }
}

std::string alu_text(const Alu& op, bool conditions) {
  std::string s(info(op.op).name);
  if (conditions) {
    s += text(op.cond);
    s += text(op.push);
    s += text(op.update);
  }
  std::string_view separator = " ";
  if (info(op.op).has_dst) {
    s += separator;
    s += qpu_reg_text(op.dst);
    s += text(op.pack);
    separator = ", ";
  }
  for (unsigned i = 0; i < source_count(op); ++i) {
    s += separator;
    s += qpu_reg_text(op.src[i].reg);
    s += text(op.src[i].unpack);
    separator = ", ";
  }
  return s;
}

struct SignalName {
  std::uint32_t bit;
  std::string_view name;
};
constexpr SignalName signal_names[] = {
    {sig::thrsw, "thrsw"},       {sig::ldvary, "ldvary"},   {sig::ldtmu, "ldtmu"},
    {sig::ldtlb, "ldtlb"},       {sig::ldtlbu, "ldtlbu"},   {sig::ldunif, "ldunif"},
    {sig::ldunifrf, "ldunifrf"}, {sig::ldunifa, "ldunifa"}, {sig::ldunifarf, "ldunifarf"},
    {sig::wrtmuc, "wrtmuc"},     {sig::ucb, "ucb"},         {sig::rotate, "rotate"}};

void pad(std::string& s, std::size_t n) {
  if (s.size() < n) {
    s.append(n - s.size(), ' ');
  }
}

std::string branch_text(const Branch& b) {
  std::string s = b.moves_uniforms ? "bu" : "b";
  s += text(b.cond);
  s += text(b.msfign);
  switch (b.to) {
  case BranchDest::absolute:
    s += fmt::format("  zero_addr+0x{:08x}", static_cast<std::uint32_t>(b.offset));
    break;
  case BranchDest::relative: s += fmt::format("  {}", b.offset); break;
  case BranchDest::link: s += "  lri"; break;
  case BranchDest::regfile: s += fmt::format("  rf{}", b.raddr); break;
  }
  if (b.moves_uniforms) {
    constexpr std::string_view names[] = {", a:unif", ", r:unif", ", lri"};
    s += b.uniforms_to == BranchDest::regfile ? fmt::format(", rf{}", b.raddr)
                                              : std::string(names[static_cast<std::size_t>(b.uniforms_to)]);
  }
  return s;
}

// ---- reading

std::string_view trim(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return {};
  }
  return s.substr(first, s.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string_view> split(std::string_view s, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = s.find(by);
    parts.push_back(trim(s.substr(0, at)));
    if (at == std::string_view::npos) {
      return parts;
    }
    s.remove_prefix(at + 1);
  }
}

template <class T>
bool number(std::string_view s, T& value, int base = 10) {
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, base);
  return error == std::errc{} && end == s.data() + s.size();
}

template <class E>
std::optional<E> find_suffix(std::string_view dotted, unsigned count) {
  for (unsigned i = 1; i < count; ++i) {
    if (text(static_cast<E>(i)) == dotted) {
      return static_cast<E>(i);
    }
  }
  return std::nullopt;
}

std::optional<Reg> parse_reg(Gpu gpu, std::string_view s) {
  std::uint32_t n = 0;
  if (s == "-") {
    return Reg{Reg::null};
  }
  if (s.starts_with("rf") && number(s.substr(2), n) && n < 64) {
    return rf(n);
  }
  if (gpu == Gpu::v42 && s.size() == 2 && s[0] == 'r' && s[1] >= '0' && s[1] <= '5') {
    return acc(static_cast<std::uint32_t>(s[1] - '0'));
  }
  if (const auto m = find_magic(s)) {
    return peripheral(*m);
  }
  std::int32_t i = 0;
  std::optional<std::uint32_t> code;
  if (s.starts_with("0x") && number(s.substr(2), n, 16)) {
    code = find_small_immediate(n);
  } else if (number(s, i)) {
    code = find_small_immediate(static_cast<std::uint32_t>(i));
  }
  return code ? std::optional(Reg{Reg::imm, *code}) : std::nullopt;
}

// "rf7.abs" or "0x3f800000": register, then modifier.
template <class E>
bool parse_operand(Gpu gpu, std::string_view s, unsigned modifiers, Reg& r, E& modifier) {
  const auto dot = s.find('.');
  const auto reg = parse_reg(gpu, s.substr(0, dot));
  if (!reg) {
    return false;
  }
  r = *reg;
  if (dot == std::string_view::npos) {
    return true;
  }
  const auto m = find_suffix<E>(s.substr(dot), modifiers);
  if (m) {
    modifier = *m;
  }
  return m.has_value();
}

bool parse_alu(Gpu gpu, std::string_view s, Alu& op) {
  const auto space = s.find(' ');
  auto head = split(s.substr(0, space), '.');
  const auto found = find_op(head[0]);
  if (!found) {
    return false;
  }
  op.op = *found;
  for (std::size_t i = 1; i < head.size(); ++i) {
    const std::string dotted = "." + std::string(head[i]);
    if (const auto c = find_suffix<Cond>(dotted, 5)) {
      op.cond = *c;
    } else if (const auto p = find_suffix<Push>(dotted, 4)) {
      op.push = *p;
    } else if (const auto u = find_suffix<Update>(dotted, 13)) {
      op.update = *u;
    } else {
      return false;
    }
  }
  std::vector<std::string_view> operands;
  if (space != std::string_view::npos && !trim(s.substr(space)).empty()) {
    operands = split(s.substr(space), ',');
  }
  const bool dst = info(op.op).has_dst;
  if (operands.size() != source_count(op) + dst) {
    return false;
  }
  if (dst && !parse_operand(gpu, operands[0], 3, op.dst, op.pack)) {
    return false;
  }
  for (unsigned i = 0; i < source_count(op); ++i) {
    if (!parse_operand(gpu, operands[i + dst], 15, op.src[i].reg, op.src[i].unpack)) {
      return false;
    }
  }
  return true;
}

bool parse_branch(std::string_view s, Branch& b) {
  const auto space = s.find(' ');
  if (space == std::string_view::npos) {
    return false;
  }
  std::string_view head = s.substr(0, space);
  b.moves_uniforms = head.starts_with("bu");
  head.remove_prefix(b.moves_uniforms ? 2 : 1);
  if (!head.empty() && (head.back() == 'p' || head.back() == 'q')) {
    b.msfign = head.back() == 'p' ? Msfign::pixel : Msfign::quad;
    head.remove_suffix(1);
  }
  if (!head.empty()) {
    const auto c = find_suffix<BranchCond>(head, 8);
    if (!c) {
      return false;
    }
    b.cond = *c;
  }
  const auto parts = split(s.substr(space), ',');
  std::uint32_t n = 0;
  if (parts[0] == "lri") {
    b.to = BranchDest::link;
  } else if (parts[0].starts_with("zero_addr+0x") && number(parts[0].substr(12), n, 16)) {
    b.to = BranchDest::absolute;
    b.offset = static_cast<std::int32_t>(n);
  } else if (parts[0].starts_with("rf") && number(parts[0].substr(2), n) && n < 64) {
    b.to = BranchDest::regfile;
    b.raddr = static_cast<std::uint8_t>(n);
  } else if (!number(parts[0], b.offset)) {
    return false;
  }
  if (!b.moves_uniforms) {
    b.uniforms_to = BranchDest::absolute;
    return parts.size() == 1;
  }
  if (parts.size() != 2) {
    return false;
  }
  if (parts[1].starts_with("rf") && number(parts[1].substr(2), n) && n < 64) {
    b.uniforms_to = BranchDest::regfile;
    b.raddr = static_cast<std::uint8_t>(n);
    return true;
  }
  b.uniforms_to = parts[1] == "a:unif"   ? BranchDest::absolute
                  : parts[1] == "r:unif" ? BranchDest::relative
                                         : BranchDest::link;
  return true;
}

} // namespace

std::string to_text(Gpu, const Word& w) {
  if (w.is_branch) {
    return branch_text(w.branch);
  }
  const bool conditions = (w.sigs & sig::addressed) == 0;
  std::string s = alu_text(w.add, conditions);
  if (w.add.op == Op::nop) {
    s = "nop";
  }
  pad(s, 30);
  s += "; ";
  s += w.mul.op == Op::nop ? std::string("nop") : alu_text(w.mul, conditions);
  if (w.sigs != 0) {
    pad(s, 60);
  }
  for (const auto& [bit, name] : signal_names) {
    if ((w.sigs & bit) == 0) {
      continue;
    }
    s += "; ";
    s += name;
    if ((bit & sig::addressed) != 0) {
      s += '.';
      s += qpu_reg_text(w.sig_dst);
    }
  }
  return s;
}

Expected<Word> parse_word(Gpu gpu, std::string_view line) {
  const auto bad = [&](std::string_view what) {
    return fail(ErrorKind::input, std::string(what), std::string(line), "see docs/v3d.md for the text form");
  };
  std::string_view body = trim(line);
  if (body.ends_with(')')) {
    body = trim(body.substr(0, body.rfind('(')));
  }
  if (body.empty()) {
    return bad("empty line");
  }
  Word w;
  if (body.starts_with("bu") || body.starts_with("b ") || body.starts_with("b.")) {
    w.is_branch = true;
    if (!parse_branch(body, w.branch)) {
      return bad("branch is malformed");
    }
    return w;
  }
  const auto parts = split(body, ';');
  if (parts.size() < 2 || !parse_alu(gpu, parts[0], w.add) || !parse_alu(gpu, parts[1], w.mul)) {
    return bad("operation is malformed");
  }
  for (std::size_t i = 2; i < parts.size(); ++i) {
    const auto dot = parts[i].find('.');
    const SignalName* found = nullptr;
    for (const auto& row : signal_names) {
      found = row.name == parts[i].substr(0, dot) ? &row : found;
    }
    if (found == nullptr) {
      return bad("unknown signal");
    }
    w.sigs |= found->bit;
    if (dot != std::string_view::npos) {
      const auto r = parse_reg(gpu, parts[i].substr(dot + 1));
      if (!r) {
        return bad("signal destination is malformed");
      }
      w.sig_dst = *r;
    }
  }
  if (!assign_ports(gpu, w)) {
    return bad("the word needs more read ports or immediates than there are");
  }
  return w;
}

} // namespace lanewise::v3d
