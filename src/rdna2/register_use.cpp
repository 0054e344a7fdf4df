#include "rdna2/register_use.hpp"

#include "rdna2/decode_state.hpp"

namespace lanewise::rdna2 {
namespace {

using namespace detail;

void add_operand(RegisterList& list, const Operand& o) {
  if (o.is_sgpr()) list.add(RegisterFile::scalar, o.reg, o.dwords);
  if (o.is_vgpr()) list.add(RegisterFile::vector, o.reg, o.dwords);
}

/// Sources that stand for state: VCCZ, EXECZ, SCC, LDS_DIRECT (whose address is in M0).
State state_of(const Operand& o) {
  if (o.kind != OperandKind::special) return {};
  switch (o.reg) {
  case code_vccz: return State::vcc;
  case code_vccz + 1: return State::exec;
  case code_vccz + 2: return State::scc;
  case code_lds_direct: return State::m0;
  default: return {};
  }
}

void add_state(RegisterList& list, State state, WaveSize wave) {
  const unsigned mask_dwords = dwords(OperandType::mask, wave);
  if ((state & State::vcc) != State{}) list.add(RegisterFile::scalar, code_vcc, mask_dwords);
  if ((state & State::exec) != State{}) list.add(RegisterFile::scalar, code_exec, mask_dwords);
  if ((state & State::m0) != State{}) list.add(RegisterFile::scalar, code_m0, 1);
}

/// Whether lanes that are on may keep some of dst0's old bits.
bool keeps_part_of_destination(const Instruction& i, const OpcodeInfo& row) {
  if (!i.dst[0].is_vgpr()) return false;
  if (i.suffix == Suffix::sdwa) return i.dst_sel != SdwaSel::dword && i.dst_unused == 2;
  if (i.suffix == Suffix::dpp16 && (i.row_mask != 15 || i.bank_mask != 15 || !i.bound_ctrl)) return true;
  if (i.suffix == Suffix::dpp8 && !i.fetch_inactive) return true;
  if (is_16bit(row.dst[0])) return true;
  return row.has(OpcodeFlag::d16) || row.has(OpcodeFlag::d16_hi) || i.d16;
}

} // namespace

void RegisterList::add(RegisterFile file, unsigned first, unsigned count) {
  if (file == RegisterFile::scalar && first == code_null) return;
  const RegisterRange range{file, uint16_t(first), uint16_t(count)};
  for (const RegisterRange& r : ranges())
    if (r == range) return;
  if (m_count < m_ranges.size()) m_ranges[m_count++] = range;
}

bool RegisterList::contains(RegisterFile file, unsigned reg) const {
  for (const RegisterRange& r : ranges())
    if (r.contains(file, reg)) return true;
  return false;
}

RegisterUse register_use(const Instruction& i, WaveSize wave) {
  const OpcodeInfo& row = info(i.opcode);
  RegisterUse use;
  use.reads_state = row.reads;
  use.writes_state = row.writes;
  if (i.gds || i.lds) use.reads_state = use.reads_state | State::m0;

  for (unsigned k = 0; k < i.src.size(); ++k) {
    const bool listed_one_by_one = k == 0 && i.nsa_count > 0;
    if (!listed_one_by_one) add_operand(use.reads, i.src[k]);
    use.reads_state = use.reads_state | state_of(i.src[k]);
  }
  for (unsigned k = 0; k < i.nsa_count; ++k) use.reads.add(RegisterFile::vector, i.nsa[k], 1);
  for (const Operand& o : i.dst) add_operand(use.writes, o);
  if (keeps_part_of_destination(i, row)) add_operand(use.reads, i.dst[0]);

  add_state(use.reads, use.reads_state, wave);
  add_state(use.writes, use.writes_state, wave);
  use.relative_read = row.has(OpcodeFlag::relative_src);
  use.relative_write = row.has(OpcodeFlag::relative_dst);
  return use;
}

} // namespace lanewise::rdna2
