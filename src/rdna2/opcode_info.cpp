#include "rdna2/opcode_info.hpp"

namespace lanewise::rdna2 {
namespace columns {

// The words that stand in the table's columns.
using enum State;
using enum OpcodeFlag;

struct None {
  constexpr operator State() const { return {}; }
  constexpr operator OpcodeFlag() const { return {}; }
  constexpr operator Access() const { return {}; }
};
constexpr None none;

struct Format {
  Encoding encoding;
  uint16_t number;
  int16_t vop3 = -1;
};

#define LANEWISE_FORMAT(name)                                                                                \
  constexpr Format name(uint16_t number, int16_t vop3 = -1) { return {Encoding::name, number, vop3}; }
LANEWISE_FORMAT(sop1)
LANEWISE_FORMAT(sop2)
LANEWISE_FORMAT(sopk)
LANEWISE_FORMAT(sopc)
LANEWISE_FORMAT(sopp)
LANEWISE_FORMAT(smem)
LANEWISE_FORMAT(vop1)
LANEWISE_FORMAT(vop2)
LANEWISE_FORMAT(vopc)
LANEWISE_FORMAT(vop3p)
LANEWISE_FORMAT(vintrp)
LANEWISE_FORMAT(ds)
LANEWISE_FORMAT(mubuf)
LANEWISE_FORMAT(mtbuf)
LANEWISE_FORMAT(mimg)
LANEWISE_FORMAT(flat)
LANEWISE_FORMAT(global)
LANEWISE_FORMAT(scratch)
LANEWISE_FORMAT(exp)
#undef LANEWISE_FORMAT
constexpr Format vop3(int16_t number) { return {Encoding::vop3, uint16_t(number), number}; }

constexpr Access load(uint8_t bytes) { return {Access::Kind::load, bytes}; }
constexpr Access store(uint8_t bytes) { return {Access::Kind::store, bytes}; }
constexpr Access atomic(uint8_t bytes) { return {Access::Kind::atomic, bytes}; }

constexpr OpcodeInfo row(std::string_view name, Format format, std::array<OperandType, 2> dst,
                         std::array<OperandType, 4> src, State reads, State writes, OpcodeFlag flags,
                         Access access) {
  return {name, format.encoding, format.number, format.vop3, dst, src, reads, writes, flags, access};
}

} // namespace columns

using namespace columns;

constexpr std::array<OpcodeInfo, opcode_count> opcode_table = {
#define LANEWISE_OPCODE(name, format, dst0, dst1, src0, src1, src2, src3, reads, writes, flags, access)      \
  columns::row(#name, format, {OperandType::dst0, OperandType::dst1},                                        \
               {OperandType::src0, OperandType::src1, OperandType::src2, OperandType::src3}, reads, writes,  \
               flags, access),
#include "rdna2/opcodes.def"
#undef LANEWISE_OPCODE
};

constexpr std::array<std::array<uint16_t, 1024>, 20> opcode_numbers = [] {
  std::array<std::array<uint16_t, 1024>, 20> numbers;
  for (auto& format : numbers) format.fill(no_opcode);
  for (unsigned i = 0; i < opcode_count; ++i) {
    const OpcodeInfo& row = opcode_table[i];
    numbers[unsigned(row.encoding)][row.number] = uint16_t(i);
    if (row.vop3 >= 0) numbers[unsigned(Encoding::vop3)][unsigned(row.vop3)] = uint16_t(i);
  }
  return numbers;
}();

std::optional<Opcode> find_opcode(std::string_view mnemonic) {
  for (unsigned i = 0; i < opcode_count; ++i)
    if (opcode_table[i].name == mnemonic) return Opcode(i);
  return std::nullopt;
}

} // namespace lanewise::rdna2
