// Words, their uniform stream, and what they cost.
#pragma once

#include "v3d/pack.hpp"
#include "v3d/shaders.hpp"
#include "v3d/vir.hpp"

namespace lanewise::v3d {

/// One entry of the uniform stream: a uniform of the program, or a branch's distance in bytes to the uniforms
/// of its target, counted from behind this entry.
struct StreamEntry {
  std::uint32_t uniform = no_index;
  std::int32_t distance = 0;
};

struct QpuWord {
  Word word;
  std::uint32_t uniform = no_index; ///< index into Program::uniforms
  std::uint32_t target = no_index;  ///< of a branch: block
  bool is_spill = false;            ///< part of a spill or fill
};

struct QpuProgram {
  Gpu gpu = Gpu::v71;
  Stage stage = Stage::fragment;
  unsigned threads = 4;
  std::vector<QpuWord> words;
  std::vector<std::uint64_t> bits;
  std::vector<StreamEntry> stream;
  std::vector<std::uint32_t> block_starts; ///< first word of each block
  std::vector<Uniform> uniforms;
};

/// What of the machine's shared units a word uses; see `conflicts`.
namespace peripheral_use {
inline constexpr unsigned tmu_write = 1, wrtmuc = 2, ldtmu = 4, tlb_write = 8, tlb_read = 16, sfu = 32,
                          vpm = 64, tmuwt = 128, tsy = 256;
}
[[nodiscard]] unsigned uses(const Alu& a);
[[nodiscard]] unsigned uses(const Word& w);
/// True if the generation cannot do in one word what this word asks of the shared units.
[[nodiscard]] bool conflicts(Gpu gpu, const Word& w);

/// In one of the two words behind a thread switch (slots 1 and 2): the switch happens behind them, so the
/// operation that it waits for may be started there, and accumulators are still there.
[[nodiscard]] bool valid_in_switch_slot(Gpu gpu, const Word& w, unsigned slot);
/// The same for what the program has behind the switch: it may neither wait for the TMU, nor start what
/// belongs to the next switch, nor leave anything in an accumulator.
[[nodiscard]] bool may_move_into_switch_slot(Gpu gpu, const Word& w, unsigned slot);
/// Slot 0 is the word with the last thrsw of the program, 2 the last word.
[[nodiscard]] bool valid_at_end(Gpu gpu, const Word& w, std::uint32_t uniform, unsigned slot);
/// In one of the three words behind a branch.
[[nodiscard]] bool valid_in_branch_slot(const Word& w, std::uint32_t uniform);

/// True if the condition field can hold both units' conditions and flags.
[[nodiscard]] bool conditions_fit(const Alu& add, const Alu& mul);

/// Schedules a program over registers into words: pairs, delay slots, end of program. The last thread switch
/// of the program becomes the "last thread switch" of the hardware.
[[nodiscard]] Expected<QpuProgram> schedule(const Program& p);

/// A word that reads what the special function unit of the word before it has not finished waits for a cycle.
[[nodiscard]] bool reads_late_result(const Word& before, const Word& w);

/// Instructions, nops, stalls and uniforms of the words.
[[nodiscard]] Figures measure(const QpuProgram& q);

/// The words as text, one a line, with the uniforms.
[[nodiscard]] std::string to_text(const QpuProgram& q);

} // namespace lanewise::v3d
