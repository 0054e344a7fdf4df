#include "translate/relative_reach.hpp"

#include "rdna2/opcode_info.hpp"
#include "translate/registers.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace lanewise::translate {
namespace {

using rdna2::Instruction;
using rdna2::Opcode;
using rdna2::OpcodeFlag;

constexpr uint64_t unknown = UINT32_MAX;

/// M0 indexes something. In v_movrelsd_2 and s_movrelsd_2 it holds two indices, which are not followed.
bool is_relative(const Instruction& i) {
  const auto& row = rdna2::info(i.opcode);
  return (row.has(OpcodeFlag::relative_src) || row.has(OpcodeFlag::relative_dst)) &&
         i.opcode != Opcode::v_movrelsd_2_b32 && i.opcode != Opcode::s_movrelsd_2_b32 &&
         i.opcode != Opcode::v_swaprel_b32;
}

/// The largest number that each scalar register may hold.
class Bounds {
 public:
  Bounds() { max_.fill(unknown); }

  [[nodiscard]] uint64_t m0() const { return max_[reg::m0]; }
  void forget() { max_.fill(unknown); }

  /// Takes in what another path knows; `widen`: what grows is unknown from now on. True if something changed.
  bool join(const Bounds& other, bool widen) {
    bool changed = false;
    for (unsigned r = 0; r < max_.size(); ++r) {
      if (other.max_[r] <= max_[r]) continue;
      max_[r] = widen ? unknown : other.max_[r];
      changed = true;
    }
    return changed;
  }

  void execute(const Instruction& i) {
    const uint64_t result = maximum(i);
    const auto& row = rdna2::info(i.opcode);
    for (const rdna2::Operand& d : i.dst) {
      if (!d.is_sgpr()) continue;
      if (row.has(OpcodeFlag::relative_dst)) return forget();
      for (unsigned k = 0; k < d.dwords; ++k) set(d.reg + k, unknown);
    }
    if (row.writes_state(rdna2::State::vcc)) set(reg::vcc_lo, unknown), set(reg::vcc_hi, unknown);
    if (i.dst[0].is_sgpr() && i.dst[0].dwords == 1) set(i.dst[0].reg, result);
  }

 private:
  void set(unsigned r, uint64_t max) {
    if (r < max_.size()) max_[r] = std::min(max, unknown);
  }
  [[nodiscard]] uint64_t of(const rdna2::Operand& o) const {
    if (o.is_constant()) return static_cast<uint32_t>(o.value);
    return o.is_sgpr() && o.reg < max_.size() ? max_[o.reg] : unknown;
  }

  /// Of the dword that an instruction writes.
  [[nodiscard]] uint64_t maximum(const Instruction& i) const {
    const auto a = [&] { return of(i.src[0]); };
    const auto b = [&] { return of(i.src[1]); };
    switch (i.opcode) {
    case Opcode::s_mov_b32:
    case Opcode::s_movk_i32: return a();
    case Opcode::s_and_b32:
    case Opcode::s_min_u32: return std::min(a(), b());
    case Opcode::s_or_b32:
    case Opcode::s_xor_b32: return (uint64_t{1} << std::bit_width(a() | b())) - 1;
    case Opcode::s_max_u32:
    case Opcode::s_cselect_b32: return std::max(a(), b());
    case Opcode::s_add_u32:
    case Opcode::s_add_i32: return fitting(a() + b());
    case Opcode::s_mul_i32: return fitting(a() * b());
    case Opcode::s_lshr_b32: return i.src[1].is_constant() ? a() >> (b() & 31) : a();
    case Opcode::s_lshl_b32: return i.src[1].is_constant() ? fitting(a() << (b() & 31)) : unknown;
    case Opcode::s_bfe_u32: // field: offset in bits 4:0, width in 22:16
      if (!i.src[1].is_constant()) return a();
      return std::min(a() >> (b() & 31), (uint64_t{1} << std::min<uint64_t>(b() >> 16 & 0x7f, 32)) - 1);
    default: return unknown;
    }
  }
  /// A result that may have wrapped is unknown.
  static uint64_t fitting(uint64_t max) { return std::min(max, unknown); }

  std::array<uint64_t, reg::m0 + 1> max_;
};

class Analysis {
 public:
  explicit Analysis(const Graph& graph)
      : graph_(graph), at_(graph.nodes.size()), visits_(graph.nodes.size()) {}

  std::map<uint32_t, unsigned> run() {
    visits_[0] = 1;
    std::vector<uint32_t> work{0};
    while (!work.empty()) {
      const uint32_t n = work.back();
      work.pop_back();
      const Bounds out = through(n, [](const Instruction&, const Bounds&) {});
      const Node& node = graph_.nodes[n];
      for (unsigned s = 0; s < node.successor_count; ++s)
        if (arrive(node.successors[s], out)) work.push_back(node.successors[s]);
    }
    std::map<uint32_t, unsigned> reach;
    for (uint32_t n = 0; n < graph_.nodes.size(); ++n)
      (void)through(n, [&](const Instruction& i, const Bounds& b) {
        if (!is_relative(i)) return;
        unsigned& most = reach[i.pc];
        most = std::max(most, static_cast<unsigned>(std::min<uint64_t>(b.m0(), 255)) + 1);
      });
    std::erase_if(reach, [](const auto& entry) { return entry.second >= 256; });
    return reach;
  }

 private:
  template <class F>
  Bounds through(uint32_t n, F&& see) {
    Bounds b = at_[n];
    for (const Instruction& i : graph_.code.instructions(graph_.block(graph_.nodes[n]))) {
      see(i, b);
      b.execute(i);
    }
    if (graph_.nodes[n].slot != no_slot) b.forget();
    return b;
  }

  bool arrive(uint32_t n, const Bounds& from) {
    constexpr unsigned patience = 3;
    if (visits_[n]++ != 0) return at_[n].join(from, visits_[n] > patience);
    at_[n] = from;
    return true;
  }

  const Graph& graph_;
  std::vector<Bounds> at_;
  std::vector<uint32_t> visits_;
};

} // namespace

RelativeReach::RelativeReach(const Graph& graph) {
  for (const CodeBlock& b : graph.code.blocks())
    if (std::ranges::any_of(graph.code.instructions(b), is_relative)) {
      reach_ = Analysis(graph).run();
      return;
    }
}

} // namespace lanewise::translate
