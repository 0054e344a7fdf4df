#include "v3d/vir.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

namespace lanewise::v3d {

namespace {

constexpr std::string_view stage_names[] = {"vertex", "vertex_bin", "fragment", "compute"};

bool hex(std::string_view s, std::uint32_t& value) {
  if (!s.starts_with("0x")) {
    return false;
  }
  const auto [end, error] = std::from_chars(s.data() + 2, s.data() + s.size(), value, 16);
  return error == std::errc{} && end == s.data() + s.size();
}

Uniform describe(std::string_view text) {
  Uniform u;
  u.text = text;
  const auto slash = text.find(" / ");
  u.is_literal = slash != std::string_view::npos && hex(text.substr(0, slash), u.value);
  if (u.is_literal) {
    u.returned = u.value & 15;
  }
  std::uint32_t mask = 0;
  const auto bar = text.find(" | ");
  if (bar != std::string_view::npos && hex(text.substr(bar + 3), mask)) {
    u.returned = mask & 15;
  }
  return u;
}

} // namespace

std::optional<Stage> find_stage(std::string_view name) {
  const auto* it = std::ranges::find(stage_names, name);
  return it == std::end(stage_names) ? std::nullopt : std::optional(static_cast<Stage>(it - stage_names));
}

std::string_view text(Stage s) { return stage_names[static_cast<std::size_t>(s)]; }

std::uint32_t intern_uniform(Program& p, std::string_view text) {
  const auto [it, is_new] =
      p.uniform_index.of(p.uniforms)
          .try_emplace(std::string(text), static_cast<std::uint32_t>(p.uniforms.size()));
  if (is_new) {
    p.uniforms.push_back(describe(text));
  }
  return it->second;
}

std::uint32_t intern_literal(Program& p, std::uint32_t value) {
  return intern_uniform(p, fmt::format("0x{:08x} / {:f}", value, std::bit_cast<float>(value)));
}

std::size_t size(const Program& p) {
  std::size_t n = 0;
  for (const Block& b : p.blocks) {
    n += b.insts.size();
  }
  return n;
}

Unit unit_of(Gpu gpu, Op op) {
  if (op == Op::mov || op == Op::fmov) {
    return Unit::mul;
  }
  return find_encoding(gpu, Unit::add, op) != nullptr ? Unit::add : Unit::mul;
}

bool is_plain_copy(const Inst& i) {
  return (i.alu.op == Op::mov || i.alu.op == Op::fmov) && !i.is_branch && i.sigs == 0 && !is_partial(i.alu) &&
         !writes_flags(i.alu) && i.alu.src[0].unpack == Unpack::none;
}

void link_blocks(Program& p) {
  for (Block& b : p.blocks) {
    b.preds.clear();
    b.loop_depth = 0;
  }
  for (std::uint32_t i = 0; i < p.blocks.size(); ++i) {
    for (const std::uint32_t s : p.blocks[i].succs) {
      p.blocks[s].preds.push_back(i);
    }
  }
  // A back edge goes to an earlier block (the layout keeps loops contiguous or nearly so); the loop is what
  // reaches the latch without passing the header. Latches of one header make one loop.
  std::vector<char> in_loop(p.blocks.size());
  std::vector<std::uint32_t> work;
  for (std::uint32_t header = 0; header < p.blocks.size(); ++header) {
    work.clear();
    for (const std::uint32_t latch : p.blocks[header].preds) {
      if (latch >= header) {
        work.push_back(latch);
      }
    }
    if (work.empty()) {
      continue;
    }
    std::ranges::fill(in_loop, 0);
    in_loop[header] = 1;
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      if (in_loop[b] == 0) {
        in_loop[b] = 1;
        work.insert(work.end(), p.blocks[b].preds.begin(), p.blocks[b].preds.end());
      }
    }
    for (std::uint32_t b = 0; b < p.blocks.size(); ++b) {
      p.blocks[b].loop_depth += in_loop[b];
    }
  }
}

} // namespace lanewise::v3d
