// VIR: QPU operations over temporaries in basic blocks, as the register allocator takes them.
//
// The text form is what Mesa's V3D compiler prints for V3D_DEBUG=vir. An instruction is one ALU operation or
// a branch, with signals; the result of a signal (ldunif, ldtmu, ldvary) is printed in the place of the
// destination of its nop. Small immediates -16..-1 all print as "-nan" there: the reader takes -16 for
// a shift count and -1 elsewhere, which is what that compiler emits.
#pragma once

#include "support/error.hpp"
#include "v3d/isa.hpp"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lanewise::v3d {

enum class Stage : std::uint8_t { vertex, vertex_bin, fragment, compute };

[[nodiscard]] std::optional<Stage> find_stage(std::string_view name);
[[nodiscard]] std::string_view text(Stage s);

/// One entry of the uniform stream: a literal or something the driver fills in ("push[3]", "tex[0].p0 |
/// 0x3").
struct Uniform {
  std::string text;          ///< as printed in parentheses
  bool is_literal = false;   ///< "0x3f800000 / 1.000000"
  std::uint32_t value = 0;   ///< of a literal
  std::uint8_t returned = 0; ///< low four bits: words that a texture lookup with this P0 returns
};

inline constexpr std::uint32_t no_index = ~0u;

/// Why an instruction is there; everything but `program` was put in by the allocator.
enum class Role : std::uint8_t { program, spill_base, store, fill, remat, copy };

struct Inst {
  Alu alu;
  std::uint32_t sigs = 0;
  Reg sig_dst;
  std::uint32_t uniform = no_index; ///< index into Program::uniforms
  bool is_branch = false;
  Branch branch;
  Role role = Role::program;
  std::uint32_t origin = no_index; ///< number of the instruction in the program that was given
};

struct Block {
  std::uint32_t label = 0;
  std::vector<Inst> insts;
  std::vector<std::uint32_t> succs; ///< indices of blocks; of a conditional branch: taken, then fall-through
  std::vector<std::uint32_t> preds;
  unsigned loop_depth = 0;
};

/// Finds uniforms by their text. A copy starts empty, since most copies of a program never look; it is filled
/// when it is asked.
class UniformIndex {
 public:
  UniformIndex() = default;
  UniformIndex(const UniformIndex&) {}
  UniformIndex(UniformIndex&&) = default;
  UniformIndex& operator=(const UniformIndex&) {
    by_text_.clear();
    return *this;
  }
  UniformIndex& operator=(UniformIndex&&) = default;
  ~UniformIndex() = default;

  std::unordered_map<std::string, std::uint32_t>& of(const std::vector<Uniform>& uniforms) {
    for (std::size_t n = by_text_.size(); n < uniforms.size(); ++n) {
      by_text_.try_emplace(uniforms[n].text, static_cast<std::uint32_t>(n));
    }
    return by_text_;
  }

 private:
  std::unordered_map<std::string, std::uint32_t> by_text_;
};

/// The blocks stand in layout order; blocks[0] is the entry.
struct Program {
  Gpu gpu = Gpu::v71;
  Stage stage = Stage::fragment;
  unsigned threads = 4;
  std::vector<Block> blocks;
  std::vector<Uniform> uniforms;
  UniformIndex uniform_index;
  std::uint32_t temp_count = 0;
};

/// The uniform with that text, added if it is new.
std::uint32_t intern_uniform(Program& p, std::string_view text);
std::uint32_t intern_literal(Program& p, std::uint32_t value);

/// Reads a listing. Errors name the line.
[[nodiscard]] Expected<Program> parse_vir(std::string_view text, Gpu gpu, Stage stage, unsigned threads);
/// The stage that a listing looks like: stvpm* a vertex shader, tlb or ldvary a fragment shader.
[[nodiscard]] Stage guess_stage(std::string_view text);
[[nodiscard]] std::string to_text(const Program& p);
[[nodiscard]] std::string to_text(const Program& p, const Inst& i);

/// Fills in preds and loop depths (natural loops of the back edges in layout order).
void link_blocks(Program& p);

/// The number of instructions.
[[nodiscard]] std::size_t size(const Program& p);

/// The add unit if it has the operation, else the mul unit; a 7.1 mov may go to either.
[[nodiscard]] Unit unit_of(Gpu gpu, Op op);

/// The register that ldvary's C coefficient and a plain ldunif go to: r5 on 4.2, rf0 on 7.1.
[[nodiscard]] inline Reg implicit_reg(Gpu gpu) { return gpu == Gpu::v42 ? acc(5) : rf(0); }

/// Calls f(Src&) for each source of the instruction.
template <class I, class F>
void for_sources(I& i, F&& f) {
  for (unsigned s = 0; s < source_count(i.alu); ++s) {
    f(i.alu.src[s]);
  }
}

/// A copy that does nothing else: mov or fmov without modifiers, condition, flags or signals.
[[nodiscard]] bool is_plain_copy(const Inst& i);
/// The write changes only some lanes (condition) or one half (pack).
[[nodiscard]] inline bool is_partial(const Alu& a) { return a.cond != Cond::none || a.pack != Pack::none; }

} // namespace lanewise::v3d
