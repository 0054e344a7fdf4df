// Runs single instructions and short programs on one wave of the emulator, without a code object.
#pragma once

#include "rdna2/decoder.hpp"
#include "rdna2/disassembler.hpp"
#include "rdna2/emu_machine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace lanewise::rdna2::emu {

/// Source codes of operands (RDNA2 ISA, "Scalar and vector source operands").
constexpr unsigned V(unsigned n) { return 256 + n; }
constexpr unsigned literal = 255, zero = 128, m0_code = 124, null_code = 125;

/// A VOP3 instruction of any opcode that has that form.
struct Vop3 {
  Opcode opcode{};
  unsigned dst = 0, src0 = zero, src1 = zero, src2 = zero;
  unsigned sdst = 0; ///< VOP3B, instead of abs
  unsigned abs = 0, neg = 0, op_sel = 0, omod = 0;
  bool clamp = false;
  [[nodiscard]] std::vector<uint32_t> words() const {
    const OpcodeInfo& row = info(opcode);
    const auto op = static_cast<uint32_t>(row.encoding == Encoding::vop3 ? row.number : row.vop3);
    const bool b = row.dst[1] == OperandType::mask;
    const uint32_t middle = b ? sdst << 8 : op_sel << 11 | abs << 8;
    return {0x35u << 26 | op << 16 | (clamp ? 1u << 15 : 0) | middle | dst,
            src0 | src1 << 9 | src2 << 18 | omod << 27 | neg << 29};
  }
};

/// A VOP3P instruction; selectors default to low with low, high with high.
struct Vop3p {
  Opcode opcode{};
  unsigned dst = 0, src0 = zero, src1 = zero, src2 = zero;
  unsigned op_sel = 0, op_sel_hi = 7, neg = 0, neg_hi = 0;
  bool clamp = false;
  [[nodiscard]] std::vector<uint32_t> words() const {
    const uint32_t op = info(opcode).number;
    return {0x33u << 26 | op << 16 | (clamp ? 1u << 15 : 0) | (op_sel_hi >> 2 & 1) << 14 | op_sel << 11 |
                neg_hi << 8 | dst,
            src0 | src1 << 9 | src2 << 18 | (op_sel_hi & 3) << 27 | neg << 29};
  }
};

inline uint32_t sop1(Opcode o, unsigned sdst, unsigned ssrc) {
  return 0x17du << 23 | sdst << 16 | uint32_t{info(o).number} << 8 | ssrc;
}
inline uint32_t sop2(Opcode o, unsigned sdst, unsigned s0, unsigned s1) {
  return 2u << 30 | uint32_t{info(o).number} << 23 | sdst << 16 | s1 << 8 | s0;
}
inline uint32_t sopc(Opcode o, unsigned s0, unsigned s1) {
  return 0x17eu << 23 | uint32_t{info(o).number} << 16 | s1 << 8 | s0;
}
inline uint32_t sopk(Opcode o, unsigned sdst, unsigned imm) {
  return 0xbu << 28 | uint32_t{info(o).number} << 23 | sdst << 16 | (imm & 0xffff);
}
inline uint32_t sopp(Opcode o, unsigned imm = 0) {
  return 0x17fu << 23 | uint32_t{info(o).number} << 16 | (imm & 0xffff);
}
inline uint32_t vop1(Opcode o, unsigned dst, unsigned src0) {
  return 0x3fu << 25 | dst << 17 | uint32_t{info(o).number} << 9 | src0;
}
inline uint32_t vop2(Opcode o, unsigned dst, unsigned src0, unsigned vsrc1) {
  return uint32_t{info(o).number} << 25 | dst << 17 | vsrc1 << 9 | src0;
}
inline uint32_t vopc(Opcode o, unsigned src0, unsigned vsrc1) {
  return 0x3eu << 25 | uint32_t{info(o).number} << 17 | vsrc1 << 9 | src0;
}
inline std::vector<uint32_t> ds(Opcode o, unsigned dst, unsigned addr, unsigned data0 = 0, unsigned data1 = 0,
                                unsigned offset0 = 0, unsigned offset1 = 0) {
  return {0x36u << 26 | uint32_t{info(o).number} << 18 | offset1 << 8 | offset0,
          dst << 24 | data1 << 16 | data0 << 8 | addr};
}
/// FLAT, GLOBAL (64-bit VGPR address, or an SGPR base plus a 32-bit VGPR) or SCRATCH.
inline std::vector<uint32_t> flat(Opcode o, unsigned dst, unsigned addr, unsigned data = 0,
                                  unsigned saddr = null_code, unsigned offset = 0, bool glc = false) {
  const OpcodeInfo& row = info(o);
  const uint32_t segment = row.encoding == Encoding::global ? 2 : row.encoding == Encoding::scratch ? 1 : 0;
  return {0x37u << 26 | uint32_t{row.number} << 18 | (glc ? 1u << 16 : 0) | segment << 14 | (offset & 0xfff),
          dst << 24 | saddr << 16 | data << 8 | addr};
}
struct Mubuf {
  Opcode opcode{};
  unsigned vdata = 0, vaddr = 0, srsrc = 0, soffset = zero, offset = 0;
  bool offen = false, idxen = false, glc = false;
  [[nodiscard]] std::vector<uint32_t> words() const {
    return {0x38u << 26 | uint32_t{info(opcode).number} << 18 | (glc ? 1u << 14 : 0) |
                (idxen ? 1u << 13 : 0) | (offen ? 1u << 12 : 0) | offset,
            soffset << 24 | srsrc / 4 << 16 | vdata << 8 | vaddr};
  }
};

/// One wave with memory, LDS and scratch around it, and no code object.
class OneWave {
 public:
  explicit OneWave(unsigned lanes = 32, uint32_t lds_bytes = 1024, uint64_t scratch_bytes = 64) {
    kernel_.name = "test";
    launch_.kernel = &kernel_;
    launch_.memory = &memory;
    launch_.lanes = lanes;
    launch_.lds_bytes = lds_bytes;
    launch_.scratch_bytes = scratch_bytes;
    launch_.max_instructions = 1u << 20;
    group.lds.resize(lds_bytes);
    wave.lanes = lanes;
    wave.vgprs.resize(std::size_t{256} * lanes);
    wave.scratch.resize(scratch_bytes * lanes);
    wave.launch = &launch_;
    wave.group = &group;
    wave.mode.bits = 0xf0 | 1u << 8 | 1u << 9; // as clang sets it: nearest, denormals kept, DX10 clamp, IEEE
    set_exec(lanes == 64 ? ~uint64_t{0} : 0xffff'ffff);
  }

  void set_exec(uint64_t mask) { wave.set_mask(reg_exec, mask); }

  /// Decodes and runs one instruction; the words must hold it whole.
  Flow run(const std::vector<uint32_t>& words) {
    std::vector<uint8_t> bytes(words.size() * 4);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    auto in = decode(bytes, 0, static_cast<WaveSize>(wave.lanes));
    if (!in) {
      ADD_FAILURE() << in.error().to_string();
      return Flow::fault;
    }
    text = disassemble(*in, static_cast<WaveSize>(wave.lanes));
    const Step step = make_step(*in);
    wave.next_pc = wave.pc + in->size;
    const Flow flow = step.handler(wave, step);
    if (flow == Flow::next) wave.pc = wave.next_pc;
    return flow;
  }
  Flow run(uint32_t word) { return run(std::vector<uint32_t>{word}); }

  uint64_t get64(unsigned reg, unsigned lane) const {
    return wave.v(reg)[lane] | uint64_t{wave.v(reg + 1)[lane]} << 32;
  }
  void set64(unsigned reg, unsigned lane, uint64_t value) {
    wave.v(reg)[lane] = static_cast<uint32_t>(value);
    wave.v(reg + 1)[lane] = static_cast<uint32_t>(value >> 32);
  }
  void fill(unsigned reg, uint32_t value) {
    for (unsigned l = 0; l < wave.lanes; ++l) wave.v(reg)[l] = value;
  }
  /// Lane l of the register holds first + l.
  void count(unsigned reg, uint32_t first = 0, uint32_t step = 1) {
    for (unsigned l = 0; l < wave.lanes; ++l) wave.v(reg)[l] = first + l * step;
  }
  std::vector<uint32_t> lanes_of(unsigned reg) const { return {wave.v(reg), wave.v(reg) + wave.lanes}; }

  Memory memory;
  Group group;
  Wave wave;
  std::string text; ///< of the last instruction

 private:
  container::Kernel kernel_;
  Launch launch_;
};

/// Bits worth trying: corners of every format, then random ones of all magnitudes. Deterministic.
class Patterns {
 public:
  explicit Patterns(uint64_t seed) : engine_(seed) {}
  uint32_t next32() {
    static constexpr uint32_t corners[] = {
        0,          1,          2,          0x7fffffff, 0x80000000, 0xffffffff, 0x80000001, 0x00007fff,
        0x00008000, 0x0000ffff, 0x00800000, 0x007fffff, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
        0x7fc00000, 0x7f800001, 0xffc12345, 0x7f7fffff, 0xff7fffff, 0x33800000, 0x4b000000, 0x4b800001,
        0x4f000000, 0x4f800000, 0xcf000000, 0x3f7fffff, 0x3f000000, 0x00000040, 0x3c003c00, 0x7c00fc00,
        0x7e007d01, 0x04000001, 0x7bfffbff, 0x80018000, 0x38003800, 0x00400040};
    if (engine_() % 4 == 0) return corners[engine_() % std::size(corners)];
    if (engine_() % 4 == 0) return static_cast<uint32_t>(engine_()) >> engine_() % 32;
    if (engine_() % 3 == 0)
      return (static_cast<uint32_t>(engine_()) & 0x807fffff) | static_cast<uint32_t>(110 + engine_() % 34)
                                                                   << 23;
    return static_cast<uint32_t>(engine_());
  }
  uint64_t next64() {
    static constexpr uint64_t corners[] = {0,
                                           1,
                                           uint64_t{1} << 63,
                                           ~uint64_t{0},
                                           0x7ff0000000000000,
                                           0xfff0000000000000,
                                           0x7ff8000000000000,
                                           0x7ff0000000000001,
                                           0x3ff0000000000000,
                                           0x0010000000000000,
                                           0x000fffffffffffff,
                                           0x7fefffffffffffff,
                                           0x41dfffffffc00000,
                                           0x41efffffffe00000,
                                           0xc1e0000000000000};
    if (engine_() % 6 == 0) return corners[engine_() % std::size(corners)];
    if (engine_() % 3 == 0) return (engine_() & 0x800fffffffffffff) | (990 + engine_() % 70) << 52;
    if (engine_() % 3 == 0) return uint64_t{next32()} << 32 | next32();
    return engine_();
  }
  uint64_t raw() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

} // namespace lanewise::rdna2::emu
