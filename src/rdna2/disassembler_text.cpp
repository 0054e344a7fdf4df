#include "rdna2/disassembler_text.hpp"

#include "rdna2/decode_state.hpp"

#include <charconv>

namespace lanewise::rdna2::detail {
namespace {

bool is_inline_integer(int64_t value) { return value >= -16 && value <= 64; }

constexpr std::string_view float_names[8] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};

/// Inline constant 240..248 with these bits, or 0.
template <class Table, class Value>
unsigned float_code(const Table& table, Value value) {
  for (unsigned i = 112; i <= 120; ++i)
    if (table[i] == value) return i + code_zero;
  return 0;
}

std::string_view special_name(unsigned code) {
  switch (code) {
  case 235: return "src_shared_base";
  case 236: return "src_shared_limit";
  case 237: return "src_private_base";
  case 238: return "src_private_limit";
  case 239: return "src_pops_exiting_wave_id";
  case 251: return "src_vccz";
  case 252: return "src_execz";
  case 253: return "src_scc";
  default: return "src_lds_direct";
  }
}

bool is_64bit(OperandType type) {
  using enum OperandType;
  return type == b64 || type == i64 || type == u64 || type == f64;
}

bool is_integer_16bit(OperandType type) {
  return is_16bit(type) && type != OperandType::f16 && type != OperandType::i16h;
}

/// The value an operand of the type shows: inline integers are of the type's width.
int64_t shown_integer(const Operand& o, OperandType type) {
  if (is_64bit(type))
    return type == OperandType::i64 && o.code == code_literal ? int64_t(uint32_t(o.value)) : int64_t(o.value);
  return is_16bit(type) ? int64_t(int16_t(o.value)) : int64_t(int32_t(o.value));
}

unsigned shown_float(const Operand& o, OperandType type) {
  using enum OperandType;
  if (is_64bit(type)) return float_code(code_tables.as_64, o.value);
  if (type == f16 || type == i16h) return float_code(code_tables.as_16, uint32_t(uint16_t(o.value)));
  if (type == f16x2) return float_code(code_tables.as_16, uint32_t(o.value));
  if (is_16bit(type)) return 0;
  return float_code(code_tables.as_32, uint32_t(o.value));
}

} // namespace

void TextWriter::decimal(int64_t value) {
  if (value >= 0 && value < 10) {
    const char digit = char('0' + value);
    return text({&digit, 1});
  }
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  text({buffer, end});
}

void TextWriter::hex(uint64_t value) {
  char buffer[24] = {'0', 'x'};
  const auto end = std::to_chars(buffer + 2, buffer + sizeof buffer, value, 16).ptr;
  text({buffer, end});
}

void TextWriter::vector_register(unsigned reg, unsigned count) {
  if (count == 1) {
    text("v");
    decimal(reg);
    return;
  }
  text("v[");
  decimal(reg);
  text(":");
  decimal(reg + count - 1);
  text("]");
}

void TextWriter::scalar_register(unsigned reg, unsigned count) {
  switch (reg) {
  case code_vcc: return text(count == 2 ? "vcc" : "vcc_lo");
  case code_vcc + 1: return text("vcc_hi");
  case code_m0: return text("m0");
  case code_null: return text("null");
  case code_exec: return text(count == 2 ? "exec" : "exec_lo");
  case code_exec + 1: return text("exec_hi");
  default: break;
  }
  const bool trap = reg > code_vcc + 1;
  text(trap ? "ttmp" : "s");
  const unsigned first = trap ? reg - 108 : reg;
  if (count == 1) return decimal(first);
  text("[");
  decimal(first);
  text(":");
  decimal(first + count - 1);
  text("]");
}

void TextWriter::constant(const Operand& o, OperandType type) {
  const int64_t integer = shown_integer(o, type);
  const bool inline_float = o.code >= 240 && o.code <= 248;
  if (inline_float && is_integer_16bit(type))
    return hex(code_tables.as_16[o.code - code_zero]); // as LLVM, although the hardware has the 32-bit float
  if (is_inline_integer(integer)) return decimal(integer);
  if (const unsigned code = shown_float(o, type)) {
    if (code < 248) return text(float_names[code - 240]);
    return text(is_64bit(type) ? "0.15915494309189532" : "0.15915494");
  }
  if (type == OperandType::f64) return hex(o.value >> 32);
  hex(is_16bit(type) ? uint16_t(o.value) : uint32_t(o.value));
}

bool constant_assembles_back(const Operand& o, OperandType type) {
  if (o.code == code_literal) {
    if (is_16bit(type) && o.value > 0xffff) return false;
    return !is_inline_integer(shown_integer(o, type)) && shown_float(o, type) == 0;
  }
  const bool inline_float = o.code >= 240 && o.code <= 248;
  return !(inline_float && is_integer_16bit(type));
}

void TextWriter::operand(const Operand& o, OperandType type) {
  switch (o.kind) {
  case OperandKind::none: return text("off");
  case OperandKind::sgpr: return scalar_register(o.reg, o.dwords);
  case OperandKind::vgpr: return vector_register(o.reg, o.dwords);
  case OperandKind::special: return text(special_name(o.reg));
  case OperandKind::constant: return constant(o, type);
  }
}

} // namespace lanewise::rdna2::detail
