#include "translate/code.hpp"

#include "rdna2/decoder.hpp"
#include "rdna2/disassembler.hpp"
#include "rdna2/opcode_info.hpp"
#include "support/limits.hpp"

#include <fmt/format.h>

namespace lanewise::translate {
namespace {

using rdna2::Instruction;
using rdna2::Opcode;
using rdna2::OpcodeFlag;

struct Ending {
  bool ends = false;
  Exit exit = Exit::fall;
  bool has_target = false, goes_on = false;
};

/// How an instruction ends a block, if it does. The s_cbranch_cdbg* never jump: no debugger is attached.
Ending ending(const Instruction& i) {
  const auto& row = rdna2::info(i.opcode);
  switch (i.opcode) {
  case Opcode::s_branch: return {true, Exit::branch, true, false};
  case Opcode::s_trap:
    // s_trap 3 (llvm.debugtrap) does nothing without a debugger.
    return i.imm == 3 ? Ending{} : Ending{true, Exit::trap, false, false};
  case Opcode::s_call_b64: return {true, Exit::call, false, true};
  case Opcode::s_cbranch_cdbgsys:
  case Opcode::s_cbranch_cdbguser:
  case Opcode::s_cbranch_cdbgsys_or_user:
  case Opcode::s_cbranch_cdbgsys_and_user: return {};
  default: break;
  }
  if (row.has(OpcodeFlag::branch)) return {true, Exit::cond, true, true};
  if (row.has(OpcodeFlag::call)) return {true, Exit::call, false, true};
  if (row.has(OpcodeFlag::jump)) return {true, Exit::jump, false, false};
  if (row.has(OpcodeFlag::ends)) return {true, Exit::end, false, false};
  return {};
}

uint32_t branch_target(const Instruction& i) { return i.pc + i.size + static_cast<uint32_t>(i.imm) * 4; }

std::string at(uint32_t pc) { return fmt::format("pc 0x{:x}", pc); }

} // namespace

std::string where(const Instruction& i, rdna2::WaveSize wave) {
  return fmt::format("pc 0x{:x}: {}", i.pc, rdna2::disassemble(i, wave));
}

uint32_t Code::slot(uint32_t pc) const {
  const uint32_t dword = pc / 4, page = dword / page_dwords;
  return page < pages_.size() && pages_[page] ? pages_[page][dword % page_dwords] : 0;
}

uint32_t& Code::make_slot(uint32_t pc) {
  const uint32_t dword = pc / 4, page = dword / page_dwords;
  if (page >= pages_.size()) pages_.resize(page + 1);
  if (!pages_[page]) pages_[page] = std::make_unique<uint32_t[]>(page_dwords);
  return pages_[page][dword % page_dwords];
}

void Code::mark_leader(uint32_t pc) {
  uint32_t& s = make_slot(pc);
  if (s & leader_bit) return;
  s |= leader_bit;
  leaders_.push_back(pc);
  const uint32_t instruction = s & index_bits;
  if (instruction != 0 && instruction < built_instructions_) cut_ = true;
}

Expected<void> Code::explore(uint32_t pc) {
  work_.assign(1, pc);
  while (!work_.empty()) {
    const uint32_t next = work_.back();
    work_.pop_back();
    if (auto swept = sweep(next); !swept) return swept;
  }
  build_blocks();
  return {};
}

/// Decodes from a leader up to the end of its block, or to what has been decoded already.
Expected<void> Code::sweep(uint32_t pc) {
  if (pc % 4 != 0) return fail(ErrorKind::input, "jump to an address that is not a multiple of 4", at(pc));
  if (slot(pc) & inside_bit) return fail(ErrorKind::input, "jump into the middle of an instruction", at(pc));
  mark_leader(pc);
  if (slot(pc) & index_bits) return {};
  const container::Segment* segment = nullptr;
  for (const auto& s : binary_->segments)
    if (s.executable && pc >= s.address && pc - s.address < s.bytes.size()) segment = &s;
  if (!segment) return fail(ErrorKind::input, "jump out of the program", at(pc));
  const std::span<const uint8_t> bytes(segment->bytes);
  while (true) {
    const size_t offset = pc - segment->address;
    if (offset >= bytes.size()) return fail(ErrorKind::input, "the program runs past its end", at(pc));
    if (auto added = add(pc, bytes, offset); !added) return added;
    const Instruction& i = instructions_.back();
    pc += i.size;
    if (const Ending e = ending(i); e.ends) {
      if (e.has_target) work_.push_back(branch_target(i));
      if (e.goes_on) work_.push_back(pc);
      return {};
    }
    const uint32_t s = slot(pc);
    if (s & inside_bit) return fail(ErrorKind::input, "instructions overlap", at(pc));
    if (s & index_bits) {
      mark_leader(pc);
      return {};
    }
  }
}

Expected<void> Code::add(uint32_t pc, std::span<const uint8_t> segment, size_t offset) {
  if (instructions_.size() > limits::max_inlined_instructions)
    return fail(ErrorKind::limit, "the program has more instructions than max_inlined_instructions", at(pc));
  auto decoded = rdna2::decode(segment, static_cast<uint32_t>(offset), wave_);
  if (!decoded) {
    decoded.error().where = at(pc);
    return std::unexpected(std::move(decoded.error()));
  }
  decoded->pc = pc;
  make_slot(pc) |= static_cast<uint32_t>(instructions_.size());
  for (uint32_t p = pc + 4; p < pc + decoded->size; p += 4) {
    uint32_t& s = make_slot(p);
    if (s & (index_bits | leader_bit)) return fail(ErrorKind::input, "instructions overlap", at(p));
    s |= inside_bit;
  }
  instructions_.push_back(*decoded);
  return {};
}

void Code::build_blocks() {
  if (cut_) {
    cut_ = false;
    ++generation_;
    blocks_.clear();
    built_leaders_ = 0;
  }
  block_of_.resize(instructions_.size());
  for (; built_leaders_ < leaders_.size(); ++built_leaders_) build_block(leaders_[built_leaders_]);
  built_instructions_ = instructions_.size();
}

void Code::build_block(uint32_t leader) {
  CodeBlock block{.pc = leader, .first = slot(leader) & index_bits};
  for (uint32_t n = block.first;; ++n) {
    const Instruction& i = instructions_[n];
    ++block.count;
    block.next = i.pc + i.size;
    if (const Ending e = ending(i); e.ends) {
      block.exit = e.exit;
      if (e.has_target) block.target = branch_target(i);
      if (i.opcode == Opcode::s_call_b64) block.target = branch_target(i);
      break;
    }
    if (slot(block.next) & leader_bit) break;
  }
  blocks_.push_back(block);
  block_of_[block.first] = static_cast<uint32_t>(blocks_.size());
}

} // namespace lanewise::translate
