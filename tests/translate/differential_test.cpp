// Each opcode with random operands: the emulator on the machine code and the interpreter on its translation
// have to agree in every lane, on results, masks, SCC and EXEC, in all floating-point modes.
#include "differential.hpp"
#include "rdna2/decoder.hpp"
#include "rdna2/disassembler.hpp"
#include "rdna2/encoder.hpp"
#include "rdna2/opcode_info.hpp"
#include "translate/translator.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace lanewise::translate {
namespace {

using namespace rdna2;

constexpr unsigned bytes_per_lane = 128, scalars = 0x2000, buffer_bytes = 0x2080;

// v[2:13] and s[8:15] are sources, v[14:17] and s[16:19] destinations; s[22:23] become VCC, s[24:25] EXEC,
// s26 M0, and s27 decides SCC.
constexpr uint32_t prologue[] = {
    0xf4080100, 0xfa000000, // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
    0xf40c0202, 0xfa002000, // s_load_dwordx8 s[8:15], s[4:5], 0x2000
    0xf40c0402, 0xfa002020, // s_load_dwordx8 s[16:23], s[4:5], 0x2020
    0xf4080602, 0xfa002040, // s_load_dwordx4 s[24:27], s[4:5], 0x2040
    0x34300087,             // v_lshlrev_b32_e32 v24, 7, v0
    0xdc388000, 0x02040018, // global_load_dwordx4 v[2:5], v24, s[4:5]
    0xdc388010, 0x06040018, // global_load_dwordx4 v[6:9], v24, s[4:5] offset:16
    0xdc388020, 0x0a040018, // global_load_dwordx4 v[10:13], v24, s[4:5] offset:32
    0xdc388030, 0x0e040018, // global_load_dwordx4 v[14:17], v24, s[4:5] offset:48
    0xbf8c0070,             // s_waitcnt vmcnt(0) lgkmcnt(0)
    0xbefc031a,             // s_mov_b32 m0, s26
    0xbeea0316,             // s_mov_b32 vcc_lo, s22
    0xbeeb0317,             // s_mov_b32 vcc_hi, s23
    0xbf07801b,             // s_cmp_lg_u32 s27, 0
};
constexpr uint32_t set_exec32 = 0xbefe0318; // s_mov_b32 exec_lo, s24
constexpr uint32_t set_exec64 = 0xbefe0418; // s_mov_b64 exec, s[24:25]
constexpr uint32_t epilogue[] = {
    0x851c8081,             // s_cselect_b32 s28, 1, 0
    0xbe9d037e,             // s_mov_b32 s29, exec_lo
    0xbe9e037f,             // s_mov_b32 s30, exec_hi
    0xbefe03c1,             // s_mov_b32 exec_lo, -1
    0xbeff03c1,             // s_mov_b32 exec_hi, -1
    0xdc788000, 0x00060e18, // global_store_dwordx4 v24, v[14:17], s[6:7]
    0x7e040210,             // v_mov_b32_e32 v2, s16
    0x7e060211,             // v_mov_b32_e32 v3, s17
    0x7e080212,             // v_mov_b32_e32 v4, s18
    0x7e0a0213,             // v_mov_b32_e32 v5, s19
    0xdc788010, 0x00060218, // global_store_dwordx4 v24, v[2:5], s[6:7] offset:16
    0x7e04021c,             // v_mov_b32_e32 v2, s28
    0x7e06021d,             // v_mov_b32_e32 v3, s29
    0x7e08021e,             // v_mov_b32_e32 v4, s30
    0x7e0a026a,             // v_mov_b32_e32 v5, vcc_lo
    0x7e0c026b,             // v_mov_b32_e32 v6, vcc_hi
    0xdc788020, 0x00060218, // global_store_dwordx4 v24, v[2:5], s[6:7] offset:32
    0xdc708030, 0x00060618, // global_store_dword v24, v6, s[6:7] offset:48
    0xbf810000,             // s_endpgm
};
constexpr std::array<const char*, 13> output_names{
    "v14", "v15", "v16", "v17", "s16", "s17", "s18", "s19", "scc", "exec_lo", "exec_hi", "vcc_lo", "vcc_hi"};

std::vector<uint32_t> whole_program(std::span<const uint32_t> tested, unsigned wave_size) {
  std::vector<uint32_t> words(std::begin(prologue), std::end(prologue));
  words.push_back(wave_size == 64 ? set_exec64 : set_exec32);
  words.insert(words.end(), tested.begin(), tested.end());
  words.insert(words.end(), std::begin(epilogue), std::end(epilogue));
  return words;
}

// -- running both
// ------------------------------------------------------------------------------------------------------

/// Empty if both agree; else the first difference.
std::string compare(const Buffer& expected, const Buffer& got) {
  for (unsigned lane = 0; lane < lanes; ++lane)
    for (unsigned k = 0; k < output_names.size(); ++k) {
      uint32_t e, g;
      std::memcpy(&e, expected.data() + lane * bytes_per_lane + 4 * k, 4);
      std::memcpy(&g, got.data() + lane * bytes_per_lane + 4 * k, 4);
      if (e != g)
        return fmt::format("{} of lane {}: emulator 0x{:08x}, IR 0x{:08x}", output_names[k], lane, e, g);
    }
  return {};
}

std::string check(std::span<const uint32_t> tested, unsigned wave_size, unsigned mode, const Buffer& input) {
  auto binary = program(whole_program(tested, wave_size), wave_size);
  set_mode(binary.kernels[0].descriptor, mode);
  Run run{.grid = lanes, .block = lanes, .input = input, .output_bytes = lanes * bytes_per_lane, .data = {}};
  Buffer expected, got;
  if (auto e = emulate(binary, run, expected); !e.empty()) return e;
  for (const bool passes : {false, true}) {
    if (auto e = interpret(binary, run, passes, got); !e.empty()) return e;
    auto difference = compare(expected, got);
    if (difference.empty()) continue;
    unsigned lane = 0;
    if (const auto at = difference.find("lane "); at != std::string::npos)
      lane = static_cast<unsigned>(std::stoul(difference.substr(at + 5)));
    difference += fmt::format(" mode 0x{:03x}{};", mode, passes ? " after passes" : "");
    for (unsigned k = 0; k < 16; ++k)
      difference += fmt::format(" v{}={:08x}", k + 2, word_at(input, lane * bytes_per_lane + 4 * k));
    for (unsigned k = 0; k < 20; ++k)
      difference += fmt::format(" s{}={:08x}", k + 8, word_at(input, scalars + 4 * k));
    return difference;
  }
  return {};
}

// -- random operands
// -------------------------------------------------------------------------------------------------------

Buffer random_input(Random& random) {
  Buffer b(buffer_bytes);
  for (size_t k = 0; k + 4 <= b.size(); k += 4) {
    const uint32_t w = random_word(random);
    std::memcpy(b.data() + k, &w, 4);
  }
  const auto set = [&](unsigned sgpr, uint32_t value) {
    std::memcpy(b.data() + scalars + 4 * (sgpr - 8), &value, 4);
  };
  for (unsigned s = 22; s < 26; ++s)
    set(s, random() % 4 ? static_cast<uint32_t>(random()) : random() % 2 ? ~0u : 0);
  set(26, static_cast<uint32_t>(random() % 3));
  set(27, static_cast<uint32_t>(random() % 2));
  return b;
}

/// What is tested of an opcode.
enum class Form { full, short_form, modifiers, sdwa, dpp16, dpp8, scalar_source };

bool has_form(const OpcodeInfo& row, Form form) {
  const bool vop12c =
      row.encoding == Encoding::vop1 || row.encoding == Encoding::vop2 || row.encoding == Encoding::vopc;
  switch (form) {
  case Form::full: return true;
  case Form::short_form: return vop12c && row.vop3 >= 0;
  case Form::modifiers: return row.vop3 >= 0 || row.encoding == Encoding::vop3p;
  case Form::sdwa: return row.has(OpcodeFlag::sdwa);
  case Form::dpp16:
  case Form::dpp8: return row.has(OpcodeFlag::dpp);
  case Form::scalar_source: return row.vop3 >= 0 || row.encoding == Encoding::vop3p;
  }
  return false;
}

bool is_scalar(Encoding e) {
  return e == Encoding::sop1 || e == Encoding::sop2 || e == Encoding::sopc || e == Encoding::sopk;
}

void add_modifiers(Instruction& i, const OpcodeInfo& row, Random& random) {
  for (unsigned n = 0; n < 3; ++n) {
    const bool packed = row.has(OpcodeFlag::neg_mods) || row.has(OpcodeFlag::mix);
    if (!is_float(row.src[n]) && !packed) continue;
    i.src[n].neg = random() % 2 != 0;
    i.src[n].abs = random() % 2 != 0;
  }
  if (row.has(OpcodeFlag::clamp)) i.clamp = random() % 2 != 0;
  if (row.has(OpcodeFlag::omod)) i.omod = static_cast<uint8_t>(random() % 4);
  if (row.has(OpcodeFlag::op_sel)) {
    i.op_sel = static_cast<uint8_t>(random() % (row.encoding == Encoding::vop3p ? 8 : 16));
    i.op_sel_hi = static_cast<uint8_t>(random() % 8);
  }
}

void add_suffix(Instruction& i, const OpcodeInfo& row, Form form, Random& random) {
  if (form == Form::sdwa) {
    i.suffix = Suffix::sdwa;
    for (unsigned n = 0; n < 2; ++n) {
      if (i.src[n].is_none()) continue;
      i.src[n].sel = static_cast<SdwaSel>(random() % 7);
      i.src[n].sext = !is_float(row.src[n]) && random() % 2 != 0;
    }
    if (row.encoding == Encoding::vopc) return;
    i.dst_sel = static_cast<SdwaSel>(random() % 7);
    i.dst_unused = static_cast<uint8_t>(random() % 3);
  } else if (form == Form::dpp8) {
    i.suffix = Suffix::dpp8;
    i.dpp8_sel = static_cast<uint32_t>(random() & 0xffffff);
    i.fetch_inactive = random() % 2 != 0;
  } else if (form == Form::dpp16) {
    constexpr uint16_t rows[] = {0x100, 0x110, 0x120, 0x150, 0x160};
    i.suffix = Suffix::dpp16;
    const auto amount = static_cast<uint16_t>(1 + random() % 15);
    const uint16_t choices[] = {static_cast<uint16_t>(random() & 0xff),
                                static_cast<uint16_t>(rows[random() % 5] + amount), 0x140, 0x141};
    i.dpp_ctrl = choices[random() % 4];
    i.bound_ctrl = random() % 2 != 0;
    i.fetch_inactive = random() % 2 != 0;
    if (random() % 2)
      i.row_mask = static_cast<uint8_t>(random() & 15), i.bank_mask = static_cast<uint8_t>(random() & 15);
  }
}

Instruction random_instruction(Opcode opcode, Form form, WaveSize wave, Random& random) {
  const OpcodeInfo& row = info(opcode);
  Instruction i{.opcode = opcode};
  const bool scalar = is_scalar(row.encoding);
  const bool wide =
      row.vop3 >= 0 && (form == Form::full || form == Form::modifiers || form == Form::scalar_source);
  i.encoding = wide ? Encoding::vop3 : row.encoding;
  const auto mask_operand = [&](unsigned reg) {
    return register_operand(false, wide ? reg : 106, dwords(OperandType::mask, wave));
  };
  for (unsigned n = 0; n < 2; ++n) {
    if (row.dst[n] == OperandType::none) continue;
    const bool vector = !scalar && !row.has(OpcodeFlag::sgpr_dst);
    i.dst[n] = row.dst[n] == OperandType::mask
                   ? mask_operand(16 + 2 * n)
                   : register_operand(vector, (vector ? 14 : 16) + 2 * n, dwords(row.dst[n], wave));
  }
  if (row.writes_state(State::exec) && row.encoding == Encoding::vopc)
    i.dst[0] = register_operand(false, 126, dwords(OperandType::mask, wave));
  for (unsigned n = 0; n < 4; ++n) {
    if (row.src[n] == OperandType::none) continue;
    const unsigned count = dwords(row.src[n], wave);
    if (row.tied(n))
      i.src[n] = i.dst[0];
    else if (row.src[n] == OperandType::mask)
      i.src[n] = mask_operand(14);
    else
      i.src[n] = register_operand(!scalar, scalar ? 8 + 2 * n : 2 + 4 * n, count);
  }
  if (opcode == Opcode::v_readlane_b32) i.src[1] = register_operand(false, 9, 1);
  if (opcode == Opcode::v_writelane_b32)
    i.src[0] = register_operand(false, 8, 1), i.src[1] = register_operand(false, 9, 1);
  if (opcode == Opcode::v_permlane16_b32 || opcode == Opcode::v_permlanex16_b32)
    i.src[1] = register_operand(false, 8, 1), i.src[2] = register_operand(false, 9, 1);
  if (row.has(OpcodeFlag::swap)) i.dst[1] = register_operand(true, 2, 1), i.src[1] = i.dst[0];
  // One of them is the value to be scaled.
  if (opcode == Opcode::v_div_scale_f32 || opcode == Opcode::v_div_scale_f64)
    i.src[0] = i.src[1 + random() % 2];
  const bool fixed = row.has(OpcodeFlag::cross_lane) || opcode == Opcode::v_div_scale_f32 ||
                     opcode == Opcode::v_div_scale_f64;
  if (form == Form::scalar_source && !fixed) {
    const unsigned n =
        static_cast<unsigned>(random()) % (row.src[1] == OperandType::none || row.tied(1) ? 1 : 2);
    if (row.src[n] != OperandType::mask) i.src[n] = register_operand(false, 8, dwords(row.src[n], wave));
  }
  i.op_sel_hi = 7;
  if (form == Form::modifiers) add_modifiers(i, row, random);
  add_suffix(i, row, form, random);
  return i;
}

/// Literal constants of v_fmamk and v_fmaak, and SOPK's immediate, are filled into the words.
std::vector<uint32_t> encode_words(Instruction i, Random& random) {
  const OpcodeInfo& row = info(i.opcode);
  const auto literal = [&](unsigned n) {
    i.src[n] = {.kind = OperandKind::constant, .dwords = 1};
    i.src[n].code = 255;
    i.src[n].value = random_word(random) & (is_16bit(row.src[n]) ? 0xffff : ~0u);
  };
  if (row.has(OpcodeFlag::madmk)) literal(1);
  if (row.has(OpcodeFlag::madak)) literal(2);
  if (row.has(OpcodeFlag::simm_src)) i.imm = static_cast<int32_t>(random() & 0xffff);
  if (row.encoding == Encoding::sopk && row.dst[0] == OperandType::none) i.dst[0] = {};
  const EncodedWords encoded = encode(i);
  return {encoded.words.begin(), encoded.words.begin() + encoded.count};
}

bool is_tested(Opcode opcode) {
  const OpcodeInfo& row = info(opcode);
  if (!handler_of(opcode)) return false;
  switch (row.encoding) {
  case Encoding::sop1:
  case Encoding::sop2:
  case Encoding::sopc:
  case Encoding::sopk:
  case Encoding::vop1:
  case Encoding::vop2:
  case Encoding::vopc:
  case Encoding::vop3:
  case Encoding::vop3p: break;
  default: return false;
  }
  using enum OpcodeFlag;
  return !row.has(jump) && !row.has(call) && !row.has(branch) && !row.has(hwreg) && !row.has(wait) &&
         !row.has(ends) && !row.has(relative_src) && !row.has(relative_dst) && opcode != Opcode::s_getpc_b64;
}

void check_all(unsigned wave_size, Form form, unsigned repeats) {
  const auto wave = static_cast<WaveSize>(wave_size);
  Random random(wave_size * 16 + static_cast<unsigned>(form));
  std::map<std::string, std::string> failures;
  unsigned tested = 0;
  for (unsigned n = 0; n < opcode_count; ++n) {
    const auto opcode = static_cast<Opcode>(n);
    if (!is_tested(opcode) || !has_form(info(opcode), form)) continue;
    for (unsigned k = 0; k < repeats; ++k) {
      const auto words = encode_words(random_instruction(opcode, form, wave, random), random);
      std::vector<uint8_t> bytes(4 * words.size());
      std::memcpy(bytes.data(), words.data(), bytes.size());
      const auto decoded = decode(bytes, 0, wave);
      if (!decoded || decoded->opcode != opcode || decoded->size != bytes.size()) {
        failures[std::string(name(opcode))] = "test made a bad encoding";
        continue;
      }
      ++tested;
      // The usual mode of compute kernels, or any.
      const unsigned mode = k == 0 ? 0x0f0 : static_cast<unsigned>(random()) & 0x3ff;
      const auto difference = check(words, wave_size, mode, random_input(random));
      if (!difference.empty())
        failures.try_emplace(std::string(name(opcode)), disassemble(*decoded, wave) + ": " + difference);
    }
  }
  for (const auto& [opcode, text] : failures) ADD_FAILURE() << opcode << ": " << text;
  testing::Test::RecordProperty("instructions", static_cast<int>(tested));
}

class Differential : public testing::TestWithParam<std::tuple<unsigned, Form>> {};

TEST_P(Differential, EmulatorAndInterpreterAgree) {
  const auto [wave_size, form] = GetParam();
  check_all(wave_size, form, 4);
}

/// Registers chosen by an M0 of which the code says how large it may be: those that it cannot mean stay as
/// they are without being asked about.
TEST(RelativeMoves, BehindABoundAgree) {
  const struct {
    const char* code;
    std::vector<uint32_t> words;
  } cases[] = {
      {"s_and_b32 m0, s16, 3 ; v_movreld_b32 v14, v2", {0x877c8310, 0x7e1c8502}},
      {"s_and_b32 m0, s16, 3 ; v_movrels_b32 v14, v2", {0x877c8310, 0x7e1c8702}},
      {"s_and_b32 m0, s16, 3 ; v_movrelsd_b32 v14, v2", {0x877c8310, 0x7e1c8902}},
      {"s_and_b32 m0, s16, 3 ; s_movreld_b32 s16, s20", {0x877c8310, 0xbe903014}},
      {"s_and_b32 m0, s16, 3 ; s_movrels_b32 s16, s16", {0x877c8310, 0xbe902e10}},
      {"s_and_b32 s16, s17, 1 ; s_lshl_b32 m0, s16, 1 ; s_movreld_b64 s[16:17], s[20:21]",
       {0x87108111, 0x8f7c8110, 0xbe903114}},
      // s_cbranch_scc1 to the second of: s_mov_b32 m0, 3 ; s_branch over it | s_mov_b32 m0, 0
      {"one of two registers", {0xbf850002, 0xbefc0383, 0xbf820001, 0xbefc0380, 0x7e1c8502}},
  };
  Random random(11);
  for (const auto& c : cases)
    for (const unsigned wave_size : {32u, 64u})
      for (unsigned round = 0; round < 4; ++round)
        EXPECT_EQ(check(c.words, wave_size, 0x2f0, random_input(random)), "") << c.code;
}

INSTANTIATE_TEST_SUITE_P(Opcodes, Differential,
                         testing::Combine(testing::Values(32u, 64u),
                                          testing::Values(Form::full, Form::short_form, Form::modifiers,
                                                          Form::sdwa, Form::dpp16, Form::dpp8,
                                                          Form::scalar_source)));

} // namespace
} // namespace lanewise::translate
