// Decoded code: filled instruction by instruction as waves reach it, then read without locks.
#include "rdna2/decoder.hpp"
#include "rdna2/emu_machine.hpp"

#include <fmt/format.h>

namespace lanewise::rdna2::emu {
namespace {

uint8_t modified_sources(const Instruction& in) {
  if (in.encoding == Encoding::vop3p) return 0; // its handlers read halves themselves
  uint8_t out = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const Operand& o = in.src[i];
    bool modified = o.neg || o.abs;
    if (in.suffix == Suffix::sdwa) modified = modified || o.sext || o.sel != SdwaSel::dword;
    if (i == 0 && (in.suffix == Suffix::dpp16 || in.suffix == Suffix::dpp8)) modified = true;
    if (modified) out = static_cast<uint8_t>(out | 1u << i);
  }
  return out;
}

// One past the highest vector register an instruction may write.
unsigned vgprs_written(const Instruction& in, const OpcodeInfo& row) {
  if (row.has(OpcodeFlag::relative_dst)) return 256;
  unsigned end = 0;
  for (const Operand& o : in.dst)
    if (o.is_vgpr()) end = std::max(end, o.reg + std::max<unsigned>(o.dwords, 1));
  if (row.has(OpcodeFlag::swap) && in.src[0].is_vgpr()) end = std::max(end, in.src[0].reg + 1u);
  return end;
}

// LDS_DIRECT and POPS_EXITING_WAVE_ID feed pixel shaders.
bool reads_pixel_state(const Instruction& in) {
  for (const Operand& o : in.src)
    if (o.kind == OperandKind::special && (o.reg == 254 || o.reg == 239)) return true;
  return false;
}

Flow unsupported(Wave& w, const Step&) {
  return w.fail(ErrorKind::unsupported, "the emulator does not know this instruction");
}

// Registers that run past the files would be written out of bounds.
bool in_register_files(const Instruction& in) {
  const auto inside = [](const Operand& o) {
    const unsigned count = std::max<unsigned>(o.dwords, 1);
    if (o.is_vgpr()) return o.reg + count <= 256;
    if (o.is_sgpr()) return o.reg + count <= scalar_registers;
    return true;
  };
  for (const Operand& o : in.dst)
    if (!inside(o)) return false;
  for (const Operand& o : in.src)
    if (!inside(o)) return false;
  return true;
}

} // namespace

const HandlerTable& handlers() {
  static const HandlerTable table = [] {
    HandlerTable t{};
    add_salu(t);
    add_control(t);
    add_scalar_memory(t);
    add_integer(t);
    add_integer_wide(t);
    add_integer_16(t);
    add_packed(t);
    add_float_32(t);
    add_float_16(t);
    add_float_64(t);
    add_divide(t);
    add_transcendental(t);
    add_convert(t);
    add_compare(t);
    add_lanes(t);
    add_lds(t);
    add_flat(t);
    add_buffer(t);
    add_typed_buffer(t);
    return t;
  }();
  return table;
}

Step make_step(const Instruction& in) {
  Step s;
  s.in = in;
  s.info = &info(in.opcode);
  s.handler = handlers()[static_cast<unsigned>(in.opcode)];
  if (s.handler == nullptr || reads_pixel_state(in)) s.handler = unsupported;
  s.modified = modified_sources(in);
  s.float_modifiers = in.clamp || in.omod != 0;
  return s;
}

CodeCache::~CodeCache() {
  for (auto& slot : steps_) delete slot.load(std::memory_order_relaxed);
}

Expected<const Step*> CodeCache::decode_at(uint64_t pc) {
  const std::string where = fmt::format("pc 0x{:x}", pc);
  if (!holds(pc) || pc % 4 != 0) return fail(ErrorKind::input, "jumps outside the code", where);
  const std::lock_guard lock(decoding_);
  auto& slot = steps_[(pc - address_) / 4];
  if (const Step* known = slot.load(std::memory_order_acquire)) return known;
  auto in = decode(code_, static_cast<uint32_t>(pc - address_), wave_);
  if (!in) return std::unexpected(in.error());
  if (!in_register_files(*in)) return fail(ErrorKind::input, "registers run past the register file", where);
  auto step = std::make_unique<Step>(make_step(*in));
  vgprs_.store(std::max(vgprs_.load(std::memory_order_relaxed), vgprs_written(*in, *step->info)),
               std::memory_order_relaxed);
  const Step* made = step.release();
  slot.store(made, std::memory_order_release);
  return made;
}

} // namespace lanewise::rdna2::emu
