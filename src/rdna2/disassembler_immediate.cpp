// Immediates with a notation of their own: wait counts, messages, hardware registers, swizzles.
#include "rdna2/disassembler_text.hpp"

#include "rdna2/decode_state.hpp"

#include <array>

namespace lanewise::rdna2::detail {
namespace {

struct CounterField {
  std::string_view name;
  unsigned value, most;
};

/// Counters that wait for less than the most they can hold; all of them if none does.
template <size_t n>
void write_counters(TextWriter& t, const std::array<CounterField, n>& fields) {
  bool all = true;
  for (const CounterField& f : fields) all &= f.value == f.most;
  bool first = true;
  for (const CounterField& f : fields) {
    if (!all && f.value == f.most) continue;
    if (!first) t.text(" ");
    first = false;
    t.text(f.name);
    t.text("(");
    t.decimal(f.value);
    t.text(")");
  }
}

void write_waitcnt(TextWriter& t, uint32_t v) {
  write_counters(t, std::array<CounterField, 3>{{{"vmcnt", bits(v, 3, 0) | bits(v, 15, 14) << 4, 63},
                                                 {"expcnt", bits(v, 6, 4), 7},
                                                 {"lgkmcnt", bits(v, 13, 8), 63}}});
}

void write_depctr(TextWriter& t, uint32_t v) {
  if ((v & 0x60) != 0) return t.hex(v); // bits that belong to no counter
  write_counters(t, std::array<CounterField, 7>{{{"depctr_hold_cnt", bits(v, 7, 7), 1},
                                                 {"depctr_sa_sdst", bits(v, 0, 0), 1},
                                                 {"depctr_va_vdst", bits(v, 15, 12), 15},
                                                 {"depctr_va_sdst", bits(v, 11, 9), 7},
                                                 {"depctr_va_ssrc", bits(v, 8, 8), 1},
                                                 {"depctr_va_vcc", bits(v, 1, 1), 1},
                                                 {"depctr_vm_vsrc", bits(v, 4, 2), 7}}});
}

constexpr std::string_view message_names[16] = {"",
                                                "MSG_INTERRUPT",
                                                "MSG_GS",
                                                "MSG_GS_DONE",
                                                "MSG_SAVEWAVE",
                                                "MSG_STALL_WAVE_GEN",
                                                "MSG_HALT_WAVES",
                                                "MSG_ORDERED_PS_DONE",
                                                "MSG_EARLY_PRIM_DEALLOC",
                                                "MSG_GS_ALLOC_REQ",
                                                "MSG_GET_DOORBELL",
                                                "MSG_GET_DDID",
                                                "",
                                                "",
                                                "",
                                                "MSG_SYSMSG"};
constexpr std::string_view gs_operations[4] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
constexpr std::string_view system_operations[5] = {"", "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD", "",
                                                   "SYSMSG_OP_TTRACE_PC"};

/// Name of the message's operation; empty if the message has none or it is not defined.
std::string_view operation_name(unsigned id, unsigned operation) {
  if (id == 2 || id == 3)
    return operation < 4 && !(id == 2 && operation == 0) ? gs_operations[operation] : "";
  return id == 15 && operation <= 4 ? system_operations[operation] : "";
}

/// Whether names say all of the message (an operation for the messages that have one, a stream for those
/// that emit or cut, nothing else).
bool is_named_message(unsigned id, unsigned operation, unsigned stream) {
  if (message_names[id].empty()) return false;
  const bool geometry = id == 2 || id == 3;
  if (!geometry && id != 15) return operation == 0 && stream == 0;
  return !operation_name(id, operation).empty() && (stream == 0 || (geometry && operation != 0));
}

/// "sendmsg(NAME)", "sendmsg(NAME, OPERATION[, STREAM])", or numbers where names do not say all of it.
void write_message(TextWriter& t, uint32_t v) {
  const unsigned id = bits(v, 3, 0), operation = bits(v, 6, 4), stream = bits(v, 9, 8);
  const bool named = is_named_message(id, operation, stream);
  if (!named && (v & 0xfc80) != 0) return t.decimal(v);
  t.text("sendmsg(");
  if (named) {
    t.text(message_names[id]);
    if (const std::string_view name = operation_name(id, operation); !name.empty()) {
      t.text(", ");
      t.text(name);
    }
    if (id <= 3 && operation != 0) {
      t.text(", ");
      t.decimal(stream);
    }
  } else {
    t.decimal(id);
    t.text(", ");
    t.decimal(operation);
    t.text(", ");
    t.decimal(stream);
  }
  t.text(")");
}

std::string_view hardware_register(unsigned id) {
  switch (id) {
  case 1: return "HW_REG_MODE";
  case 2: return "HW_REG_STATUS";
  case 3: return "HW_REG_TRAPSTS";
  case 5: return "HW_REG_GPR_ALLOC";
  case 6: return "HW_REG_LDS_ALLOC";
  case 7: return "HW_REG_IB_STS";
  case 15: return "HW_REG_SH_MEM_BASES";
  case 16: return "HW_REG_TBA_LO";
  case 17: return "HW_REG_TBA_HI";
  case 18: return "HW_REG_TMA_LO";
  case 19: return "HW_REG_TMA_HI";
  case 20: return "HW_REG_FLAT_SCR_LO";
  case 21: return "HW_REG_FLAT_SCR_HI";
  case 23: return "HW_REG_HW_ID1";
  case 24: return "HW_REG_HW_ID2";
  case 25: return "HW_REG_POPS_PACKER";
  case 29: return "HW_REG_SHADER_CYCLES";
  default: return {};
  }
}

void write_hwreg(TextWriter& t, uint32_t v) {
  const unsigned id = bits(v, 5, 0), offset = bits(v, 10, 6), size = bits(v, 15, 11) + 1;
  t.text("hwreg(");
  if (const std::string_view name = hardware_register(id); !name.empty())
    t.text(name);
  else
    t.decimal(id);
  if (offset != 0 || size != 32) {
    t.text(", ");
    t.decimal(offset);
    t.text(", ");
    t.decimal(size);
  }
  t.text(")");
}

void write_short(TextWriter& t, uint32_t v) {
  if (v <= 64)
    t.decimal(v);
  else
    t.hex(v);
}

/// A microcode version with its flags, "(A|B)|C"; a number where there is no name.
void write_version(TextWriter& t, uint32_t v) {
  constexpr std::pair<unsigned, std::string_view> versions[] = {
      {0, "UC_VERSION_GFX7"}, {4, "UC_VERSION_GFX10"}, {6, "UC_VERSION_GFX11"}, {9, "UC_VERSION_GFX12"}};
  constexpr std::pair<unsigned, std::string_view> flags[] = {
      {0x2000, "|UC_VERSION_W64_BIT"}, {0x4000, "|UC_VERSION_W32_BIT"}, {0x8000, "|UC_VERSION_MDP_BIT"}};
  for (const auto& [number, name] : versions) {
    if ((v & 0x1fff) != number) continue;
    for (int open = std::popcount(v >> 13) - 1; open > 0; --open) t.text("(");
    t.text(name);
    int left = std::popcount(v >> 13);
    for (const auto& [flag, text] : flags) {
      if ((v & flag) == 0) continue;
      t.text(text);
      if (--left > 0) t.text(")");
    }
    return;
  }
  write_short(t, v);
}

} // namespace

void write_simm(TextWriter& t, const Instruction& i, const OpcodeInfo& row) {
  const uint32_t v = uint16_t(i.imm);
  switch (i.opcode) {
  case Opcode::s_waitcnt: return write_waitcnt(t, v);
  case Opcode::s_waitcnt_depctr: return write_depctr(t, v);
  case Opcode::s_sendmsg:
  case Opcode::s_sendmsghalt: return write_message(t, v);
  case Opcode::s_version: return write_version(t, v);
  case Opcode::s_endpgm: return t.decimal(v);
  case Opcode::s_inst_prefetch:
  case Opcode::s_clause:
  case Opcode::s_round_mode:
  case Opcode::s_ttracedata_imm: return t.hex(v);
  default: break;
  }
  if (row.has(OpcodeFlag::hwreg)) return write_hwreg(t, v);
  if (row.has(OpcodeFlag::branch) || row.has(OpcodeFlag::call)) return t.decimal(v);
  if (row.encoding == Encoding::sopk) return t.hex(v);
  write_short(t, v);
}

namespace {

/// What each bit of a lane number becomes under ds_swizzle's (lane & and | or) ^ xor: 0, 1, p (kept) or
/// i (inverted).
void write_bit_mask(TextWriter& t, unsigned and_mask, unsigned or_mask, unsigned xor_mask) {
  const unsigned of_zeros = or_mask ^ xor_mask, of_ones = (and_mask | or_mask) ^ xor_mask;
  for (unsigned mask = 16; mask != 0; mask >>= 1) {
    const bool zero = (of_zeros & mask) != 0, one = (of_ones & mask) != 0;
    t.text(zero == one ? (zero ? "1" : "0") : (zero ? "i" : "p"));
  }
}

void write_numbers(TextWriter& t, std::initializer_list<unsigned> numbers) {
  for (const unsigned n : numbers) {
    t.text(",");
    t.decimal(n);
  }
}

} // namespace

void write_swizzle(TextWriter& t, unsigned offset) {
  if (offset == 0) return;
  t.text(" offset:");
  if ((offset & 0xff00) == 0x8000) {
    t.text("swizzle(QUAD_PERM");
    write_numbers(t, {offset & 3, (offset >> 2) & 3, (offset >> 4) & 3, (offset >> 6) & 3});
    return t.text(")");
  }
  if ((offset & 0x8000) != 0) return t.decimal(offset);
  const unsigned and_mask = offset & 31, or_mask = (offset >> 5) & 31, xor_mask = offset >> 10;
  const unsigned group = 32 - and_mask;
  if (and_mask == 31 && or_mask == 0 && std::has_single_bit(xor_mask)) {
    t.text("swizzle(SWAP");
    write_numbers(t, {xor_mask});
  } else if (and_mask == 31 && or_mask == 0 && xor_mask != 0 && std::has_single_bit(xor_mask + 1)) {
    t.text("swizzle(REVERSE");
    write_numbers(t, {xor_mask + 1});
  } else if (group > 1 && std::has_single_bit(group) && or_mask < group && xor_mask == 0) {
    t.text("swizzle(BROADCAST");
    write_numbers(t, {group, or_mask});
  } else {
    t.text("swizzle(BITMASK_PERM,\"");
    write_bit_mask(t, and_mask, or_mask, xor_mask);
    t.text("\"");
  }
  t.text(")");
}

bool simm_assembles_back(const Instruction& i) {
  const uint32_t v = uint16_t(i.imm);
  switch (i.opcode) {
  case Opcode::s_waitcnt: return !bit(v, 7);
  case Opcode::s_sendmsg:
  case Opcode::s_sendmsghalt:
    return (v & 0xfc80) == 0 || !is_named_message(bits(v, 3, 0), bits(v, 6, 4), bits(v, 9, 8));
  case Opcode::ds_swizzle_b32: { // each lane bit has one canonical spelling: 0, or; keep, keep and xor
    const unsigned and_mask = v & 31, or_mask = (v >> 5) & 31, xor_mask = (v >> 10) & 31;
    return bit(v, 15) || ((or_mask & and_mask) | (or_mask & xor_mask) | (xor_mask & ~and_mask)) == 0;
  }
  default: return true;
  }
}

} // namespace lanewise::rdna2::detail
