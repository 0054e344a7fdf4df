// Which temporaries and fixed registers hold a value that is still needed, exactly, with holes.
//
// Gaps: the places between instructions. Gap p lies behind the instruction with position p; every block has
// one more gap in front of its first instruction. A value occupies the gaps from its definition to before its
// last use, so a use and a definition in one instruction may share a register.
#pragma once

#include "v3d/vir.hpp"

#include <cstdint>
#include <vector>

namespace lanewise::v3d {

/// Names of everything that can be live: temporaries first, then rf0..rf63, then r0..r5.
struct Names {
  std::uint32_t temps = 0;
  [[nodiscard]] std::uint32_t count() const { return temps + 64 + 6; }
  [[nodiscard]] std::uint32_t of(const Reg& r) const {
    switch (r.kind) {
    case Reg::temp: return r.index;
    case Reg::rf: return temps + r.index;
    case Reg::acc: return temps + 64 + r.index;
    default: return no_index;
    }
  }
  [[nodiscard]] bool is_temp(std::uint32_t name) const { return name < temps; }
};

struct Definition {
  std::uint32_t name = no_index;
  bool partial = false;
};

/// Up to three definitions: of the ALU, of the signal, and ldvary's coefficient.
struct Definitions {
  std::array<Definition, 3> d;
  unsigned n = 0;
  void add(std::uint32_t name, bool partial) {
    if (name != no_index) {
      d[n++] = {name, partial};
    }
  }
  [[nodiscard]] const Definition* begin() const { return d.data(); }
  [[nodiscard]] const Definition* end() const { return d.data() + n; }
};

[[nodiscard]] Definitions definitions(Gpu gpu, const Names& names, const Inst& i);

/// Calls f(name) for each register or temporary that the instruction reads as a source.
template <class F>
void for_uses(const Names& names, const Inst& i, F&& f) {
  for (unsigned s = 0; s < source_count(i.alu); ++s) {
    const std::uint32_t n = names.of(i.alu.src[s].reg);
    if (n != no_index) {
      f(n);
    }
  }
}

/// Per instruction: what the lanes' conditions make of its definitions and uses (see liveness.cpp).
struct LaneFacts {
  bool kills = true;        ///< the ALU definition covers every lane that anyone reads from here on
  std::uint8_t covered = 0; ///< bit s: source s reads only lanes defined in this block under the same flags
};

struct Liveness {
  Names names;
  std::vector<std::vector<std::uint32_t>> live_in, live_out; ///< sorted names, per block
  std::vector<std::vector<LaneFacts>> facts;                 ///< per block and instruction
  std::vector<std::uint32_t> first_position;                 ///< of each block's first instruction
  std::uint32_t gap_count = 0;
};

/// Growth: instructions + blocks * names that cross blocks / 64, a few times over.
[[nodiscard]] Liveness analyse_liveness(const Program& p);

/// A run of gaps [begin, end) that a name occupies.
struct Segment {
  std::uint32_t begin, end;
};

/// All segments of each name, sorted; a dead definition occupies its own gap.
[[nodiscard]] std::vector<std::vector<Segment>> live_segments(const Program& p, const Liveness& l);

/// Temporaries and fixed registers occupied in each gap.
[[nodiscard]] std::vector<std::uint32_t> pressure(const Liveness& l,
                                                  const std::vector<std::vector<Segment>>& segments);

} // namespace lanewise::v3d
