// The text of VIR, both ways.
#include "v3d/vir.hpp"

#include <algorithm>
#include <fmt/format.h>

#include <bit>
#include <charconv>

namespace lanewise::v3d {

namespace {

std::string vir_reg_text(const Reg& r) {
  switch (r.kind) {
  case Reg::temp: return fmt::format("t{}", r.index);
  case Reg::rf: return fmt::format("rf{}", r.index);
  case Reg::acc: return fmt::format("r{}", r.index);
  case Reg::magic: return std::string(magic_name(static_cast<std::uint8_t>(r.index)));
  case Reg::imm:
    if (r.index < 16) {
      return fmt::format("{}", r.index);
    }
    return r.index < 32 ? "-nan" : fmt::format("{:f}", std::bit_cast<float>(small_immediate(r.index)));
  default: return "null";
  }
}

struct VirSignalName {
  std::uint32_t bit;
  std::string_view text;
};
// Signals with a destination print the register that they do not have yet as rf0.
constexpr VirSignalName vir_signal_names[] = {
    {sig::thrsw, "thrsw"},           {sig::ldvary, "ldvary.rf0"}, {sig::ldtmu, "ldtmu.rf0"},
    {sig::ldtlb, "ldtlb.rf0"},       {sig::ldtlbu, "ldtlbu.rf0"}, {sig::ldunif, "ldunif"},
    {sig::ldunifrf, "ldunifrf.rf0"}, {sig::ldunifa, "ldunifa"},   {sig::ldunifarf, "ldunifarf.rf0"},
    {sig::wrtmuc, "wrtmuc"}};

class Reader {
 public:
  Reader(std::string_view text, Program& program) : text_(text), p_(program) {}

  Expected<void> read() {
    while (next_line()) {
      if (line_.empty()) {
        continue;
      }
      if (auto r = read_line(); !r) {
        return r;
      }
    }
    return resolve();
  }

 private:
  bool next_line() {
    if (at_ >= text_.size()) {
      return false;
    }
    const auto end = std::min(text_.find('\n', at_), text_.size());
    line_ = text_.substr(at_, end - at_);
    at_ = end + 1;
    ++number_;
    while (!line_.empty() && (line_.back() == ' ' || line_.back() == '\r')) {
      line_.remove_suffix(1);
    }
    return true;
  }

  std::unexpected<Error> bad(std::string_view what) const {
    return fail(ErrorKind::input, std::string(what), fmt::format("line {}: {}", number_, line_));
  }

  static bool take(std::string_view& s, std::string_view prefix) {
    if (!s.starts_with(prefix)) {
      return false;
    }
    s.remove_prefix(prefix.size());
    return true;
  }

  template <class T>
  static bool take_number(std::string_view& s, T& value) {
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (error != std::errc{}) {
      return false;
    }
    s.remove_prefix(static_cast<std::size_t>(end - s.data()));
    return true;
  }

  Expected<void> read_line() {
    std::string_view s = line_;
    std::uint32_t label = 0;
    if (take(s, "BLOCK ")) {
      if (!take_number(s, label) || s != ":") {
        return bad("block label is malformed");
      }
      if (!index_.try_emplace(label, static_cast<std::uint32_t>(p_.blocks.size())).second) {
        return bad("block is defined twice");
      }
      p_.blocks.emplace_back().label = label;
      return {};
    }
    if (p_.blocks.empty()) {
      return bad("instruction before the first block");
    }
    if (take(s, "-> BLOCK ")) {
      do {
        if (!take_number(s, label)) {
          return bad("successor is malformed");
        }
        p_.blocks.back().succs.push_back(label);
      } while (take(s, ", "));
      return s.empty() && p_.blocks.back().succs.size() <= 2 ? Expected<void>{}
                                                             : bad("successors are malformed");
    }
    if (!p_.blocks.back().succs.empty()) {
      return bad("instruction after the block's successors");
    }
    Inst i;
    if (auto r = read_instruction(i, s); !r) {
      return r;
    }
    i.origin = count_++;
    p_.blocks.back().insts.push_back(i);
    return {};
  }

  Expected<void> read_instruction(Inst& i, std::string_view s) {
    if (s.ends_with(')')) {
      const auto open = s.find(" (");
      if (open == std::string_view::npos) {
        return bad("uniform is malformed");
      }
      i.uniform = intern_uniform(p_, s.substr(open + 2, s.size() - open - 3));
      s = s.substr(0, open);
    }
    if (s.starts_with("bu ") || s.starts_with("bu.") || s.starts_with("b ") || s.starts_with("b.")) {
      return read_branch(i, s);
    }
    const auto semicolon = s.find(';');
    std::string_view alu = s.substr(0, semicolon);
    if (auto r = read_alu(i, alu); !r) {
      return r;
    }
    while (s.find(';') != std::string_view::npos) {
      s.remove_prefix(s.find(';') + 1);
      while (take(s, " ")) {
      }
      const std::string_view name = s.substr(0, s.find(';'));
      bool found = false;
      for (const auto& row : vir_signal_names) {
        if (row.text == name) {
          i.sigs |= row.bit;
          found = true;
        }
      }
      if (!found) {
        return bad("unknown signal");
      }
    }
    constexpr std::uint32_t with_result = sig::addressed | sig::ldunif | sig::ldunifa;
    if ((i.sigs & with_result) != 0) {
      if (i.alu.op != Op::nop || std::popcount(i.sigs & with_result) > 1) {
        return bad("a signal's result needs a nop to carry it");
      }
      i.sig_dst = i.alu.dst;
      i.alu.dst = {Reg::null};
    }
    return check_uniform(i);
  }

  Expected<void> check_uniform(const Inst& i) const {
    constexpr std::uint32_t takers = sig::ldunif | sig::ldunifrf | sig::wrtmuc;
    const bool by_address =
        i.alu.dst.kind == Reg::magic && takes_uniform(static_cast<std::uint8_t>(i.alu.dst.index));
    const bool takes = (i.sigs & takers) != 0 || by_address || (i.is_branch && i.branch.moves_uniforms);
    return takes == (i.uniform != no_index) ? Expected<void>{} : bad("uniform is missing or has no taker");
  }

  Expected<void> read_branch(Inst& i, std::string_view s) {
    i.is_branch = true;
    i.branch.moves_uniforms = take(s, "bu");
    if (!i.branch.moves_uniforms) {
      take(s, "b");
    }
    std::string_view head = s.substr(0, s.find(' '));
    s.remove_prefix(head.size());
    if (head.ends_with('p') || head.ends_with('q')) {
      i.branch.msfign = head.back() == 'p' ? Msfign::pixel : Msfign::quad;
      head.remove_suffix(1);
    }
    bool known = head.empty();
    for (unsigned c = 2; c < 8; ++c) {
      if (!head.empty() && text(static_cast<BranchCond>(c)) == head) {
        i.branch.cond = static_cast<BranchCond>(c);
        known = true;
      }
    }
    while (take(s, " ")) {
    }
    if (!known || !take_number(s, i.branch.offset) || s != (i.branch.moves_uniforms ? ", r:unif" : "")) {
      return bad("branch is malformed");
    }
    return check_uniform(i);
  }

  Expected<void> read_alu(Inst& i, std::string_view s) {
    const auto space = s.find(' ');
    std::string_view head = s.substr(0, space);
    const auto found = find_op(head.substr(0, head.find('.')));
    if (!found) {
      return bad("unknown operation");
    }
    i.alu.op = *found;
    while (head.find('.') != std::string_view::npos) {
      head.remove_prefix(head.find('.') + 1);
      if (!read_condition(i.alu, head.substr(0, head.find('.')))) {
        return bad("unknown condition");
      }
    }
    s = space == std::string_view::npos ? std::string_view{} : s.substr(space + 1);
    if (auto r = read_operand(s, i.alu.op, i.alu.dst, i.alu.pack, 3); !r) {
      return r;
    }
    for (unsigned n = 0; n < source_count(i.alu); ++n) {
      if (!take(s, ", ")) {
        return bad("too few operands");
      }
      if (auto r = read_operand(s, i.alu.op, i.alu.src[n].reg, i.alu.src[n].unpack, 15); !r) {
        return r;
      }
    }
    return s.empty() ? Expected<void>{} : bad("too many operands");
  }

  static bool read_condition(Alu& a, std::string_view word) {
    const std::string dotted = "." + std::string(word);
    for (unsigned c = 1; c < 13; ++c) {
      if (c < 5 && text(static_cast<Cond>(c)) == dotted) {
        a.cond = static_cast<Cond>(c);
        return true;
      }
      if (c < 4 && text(static_cast<Push>(c)) == dotted) {
        a.push = static_cast<Push>(c);
        return true;
      }
      if (text(static_cast<Update>(c)) == dotted) {
        a.update = static_cast<Update>(c);
        return true;
      }
    }
    return false;
  }

  template <class E>
  Expected<void> read_operand(std::string_view& s, Op op, Reg& r, E& modifier, unsigned modifiers) {
    std::string_view word = s.substr(0, s.find(','));
    s.remove_prefix(word.size());
    if (read_reg(word, op, r)) {
      return {};
    }
    const auto dot = word.rfind('.');
    if (dot == std::string_view::npos || !read_reg(word.substr(0, dot), op, r)) {
      return bad(fmt::format("operand {} is malformed", word));
    }
    for (unsigned m = 1; m < modifiers; ++m) {
      if (text(static_cast<E>(m)) == word.substr(dot)) {
        modifier = static_cast<E>(m);
        return {};
      }
    }
    return bad(fmt::format("modifier of {} is unknown", word));
  }

  bool read_reg(std::string_view s, Op op, Reg& r) {
    std::uint32_t n = 0;
    if (s == "null") {
      r = {Reg::null};
      return true;
    }
    if (s == "-nan") {
      const bool is_shift = op == Op::shl || op == Op::shr || op == Op::asr || op == Op::ror;
      r = {Reg::imm, is_shift ? 16u : 31u};
      return true;
    }
    std::string_view rest = s;
    if (take(rest, "t") && take_number(rest, n) && rest.empty()) {
      if (n >= (1u << 22)) {
        return false;
      }
      p_.temp_count = std::max(p_.temp_count, n + 1);
      r = temp(n);
      return true;
    }
    rest = s;
    if (take(rest, "rf") && take_number(rest, n) && rest.empty() && n < 64) {
      r = rf(n);
      return true;
    }
    if (p_.gpu == Gpu::v42 && s.size() == 2 && s[0] == 'r' && s[1] >= '0' && s[1] <= '5') {
      r = acc(static_cast<std::uint32_t>(s[1] - '0'));
      return true;
    }
    if (const auto m = find_magic(s); m && s != "-") {
      r = peripheral(*m);
      return true;
    }
    rest = s;
    if (take_number(rest, n) && rest.empty() && n < 16) {
      r = {Reg::imm, n};
      return true;
    }
    static const auto powers = [] {
      std::array<std::string, 16> t;
      for (std::uint32_t k = 0; k < t.size(); ++k) {
        t[k] = vir_reg_text({Reg::imm, 32 + k});
      }
      return t;
    }();
    const auto* it = std::ranges::find(powers, s);
    r = Reg{Reg::imm, 32 + static_cast<std::uint32_t>(it - powers.begin())};
    return it != powers.end();
  }

  Expected<void> resolve() {
    if (p_.blocks.empty()) {
      return fail(ErrorKind::input, "the listing has no block");
    }
    for (std::uint32_t b = 0; b < p_.blocks.size(); ++b) {
      Block& block = p_.blocks[b];
      for (std::uint32_t& s : block.succs) {
        const auto it = index_.find(s);
        if (it == index_.end()) {
          return fail(ErrorKind::input,
                      fmt::format("block {} goes to block {}, which is not there", block.label, s));
        }
        s = it->second;
      }
      if (auto r = check_shape(b); !r) {
        return r;
      }
    }
    link_blocks(p_);
    return {};
  }

  // Branches stand last, and what follows without a branch is the next block of the layout.
  Expected<void> check_shape(std::uint32_t b) const {
    const Block& block = p_.blocks[b];
    const std::string where = fmt::format("block {}", block.label);
    for (std::size_t n = 0; n + 1 < block.insts.size(); ++n) {
      if (block.insts[n].is_branch) {
        return fail(ErrorKind::input, "branch inside a block", where);
      }
    }
    const bool branches = !block.insts.empty() && block.insts.back().is_branch;
    const bool conditional = branches && block.insts.back().branch.cond != BranchCond::always;
    if (block.succs.size() != (conditional ? 2u : 1u) && !(block.succs.empty() && !branches)) {
      return fail(ErrorKind::input, "successors do not fit the last instruction", where);
    }
    if (!block.succs.empty() && (conditional || !branches) && block.succs.back() != b + 1) {
      return fail(ErrorKind::input, "fall-through is not the next block", where);
    }
    return {};
  }

  std::string_view text_, line_;
  std::size_t at_ = 0, number_ = 0;
  std::uint32_t count_ = 0;
  Program& p_;
  std::unordered_map<std::uint32_t, std::uint32_t> index_;
};

} // namespace

Stage guess_stage(std::string_view text) {
  return text.find("stvpm") != std::string_view::npos ? Stage::vertex : Stage::fragment;
}

Expected<Program> parse_vir(std::string_view text, Gpu gpu, Stage stage, unsigned threads) {
  Program p;
  p.gpu = gpu;
  p.stage = stage;
  p.threads = threads;
  if (auto r = Reader(text, p).read(); !r) {
    return std::unexpected(r.error());
  }
  return p;
}

std::string to_text(const Program& p, const Inst& i) {
  std::string s;
  if (i.is_branch) {
    s = fmt::format("{}{}{}  {}{}", i.branch.moves_uniforms ? "bu" : "b", text(i.branch.cond),
                    text(i.branch.msfign), i.branch.offset, i.branch.moves_uniforms ? ", r:unif" : "");
  } else {
    const Reg& dst = i.sig_dst.kind != Reg::none ? i.sig_dst : i.alu.dst;
    s = fmt::format("{}{}{}{} {}{}", info(i.alu.op).name, text(i.alu.cond), text(i.alu.push),
                    text(i.alu.update), vir_reg_text(dst), text(i.alu.pack));
    for (unsigned n = 0; n < source_count(i.alu); ++n) {
      s += fmt::format(", {}{}", vir_reg_text(i.alu.src[n].reg), text(i.alu.src[n].unpack));
    }
    for (const auto& row : vir_signal_names) {
      if ((i.sigs & row.bit) != 0) {
        s += "; ";
        s += row.text;
      }
    }
  }
  if (i.uniform != no_index) {
    s += fmt::format(" ({})", p.uniforms[i.uniform].text);
  }
  return s;
}

std::string to_text(const Program& p) {
  std::string s;
  for (const Block& b : p.blocks) {
    s += fmt::format("BLOCK {}:\n", b.label);
    for (const Inst& i : b.insts) {
      s += to_text(p, i);
      s += '\n';
    }
    for (std::size_t n = 0; n < b.succs.size(); ++n) {
      s += fmt::format("{}{}", n == 0 ? "-> BLOCK " : ", ", p.blocks[b.succs[n]].label);
    }
    s += b.succs.empty() ? "" : "\n";
  }
  return s;
}

} // namespace lanewise::v3d
