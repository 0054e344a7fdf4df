#include "runtime/prepare.hpp"

#include "link/inline_calls.hpp"
#include "runtime/functions.hpp"
#include "runtime/keys.hpp"
#include "support/limits.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::runtime {
namespace {

std::string hex(uint64_t address) { return fmt::format("address 0x{:x}", address); }

/// A piece of guest memory around a callee, as an image whose virtual address `callee_entry` is the entry.
struct Window {
  container::ShaderBinary binary;
  bool to_start = false, to_end = false; ///< reaches the ends of the mapping
};

Expected<Window> read_window(const GuestMemory& memory, uint64_t address, uint64_t before, uint64_t behind) {
  const auto extent = memory.extent(address);
  if (!extent) return fail(ErrorKind::input, "the callee's address is not mapped", hex(address));
  const uint64_t offset = address - extent->address;
  before = std::min(before, offset) & ~uint64_t{3};
  behind = std::min(behind, extent->size - offset);
  Window w;
  w.to_start = offset - before < 4;
  w.to_end = behind == extent->size - offset;
  container::Segment segment{.address = callee_entry - before, .executable = true, .writable = true};
  segment.bytes.resize(before + behind);
  if (!memory.read(address - before, segment.bytes))
    return fail(ErrorKind::input, "the callee's code cannot be read", hex(address - before));
  w.binary.format = "guest memory";
  w.binary.segments.push_back(std::move(segment));
  return w;
}

/// A callee's own calls through pointers lead to one address, which its caller's registers fix.
Expected<void> check_nested(const translate::Unlinked& program, const translate::CallSlot& s,
                            uint64_t address) {
  const translate::Origins& origins = program.origins;
  const bool fixed = origins.choices(s.target[0]).empty() && origins.choices(s.target[1]).empty();
  const bool passed =
      origins.depends_on_parameters(s.target[0]) && origins.depends_on_parameters(s.target[1]);
  if (fixed && passed && !needs_comparison(program, s, 1)) return {};
  return fail(
      ErrorKind::unsupported,
      fmt::format("the callee calls or returns through {}", origins.text(s.target[0])),
      fmt::format("callee at 0x{:x}, pc 0x{:x}", address, s.pc),
      "callees return to the address that their caller left in a pair of registers, and call through pairs "
      "that their caller got from the host");
}

} // namespace

size_t PreparedCallee::code_bytes() const {
  size_t n = 0;
  for (const Piece& p : code) n += p.bytes.size();
  for (const auto& callee : nested) n += callee->code_bytes();
  return n;
}

Expected<std::shared_ptr<const PreparedShader>> prepare(const container::ShaderBinary& binary,
                                                        const container::Kernel& kernel,
                                                        const PrepareOptions& options) {
  auto shader = std::make_shared<PreparedShader>();
  shader->kernel = kernel;
  shader->full_waves = options.full_waves;
  shader->key = key_of(binary, kernel, options);
  const translate::TranslateOptions translation{.full_waves = options.full_waves};
  if (auto functions = program_with_functions(binary, kernel, translation, {})) {
    shader->program.function = std::move(functions->main);
    shader->callees = std::move(functions->callees);
    simplify_unlinked(shader->program.function);
    return shader;
  }
  auto program = translate::translate_unlinked(binary, kernel, translation);
  if (!program) return std::unexpected(std::move(program.error()));
  for (const translate::CallSlot& slot : program->slots) {
    auto targets = count_targets(*program, slot);
    if (!targets) return std::unexpected(std::move(targets.error()));
    shader->targets.push_back(*targets);
    shader->compared.push_back(needs_comparison(*program, slot, *targets));
  }
  simplify_unlinked(program->function);
  shader->program = std::move(*program);
  return shader;
}

Expected<std::shared_ptr<const PreparedCallee>> prepare_callee(const GuestMemory& memory, uint64_t address,
                                                               const translate::CalleeAbi& abi) {
  if (address == 0) return fail(ErrorKind::input, "the call target is null", hex(address));
  if (address % 4 != 0) return fail(ErrorKind::input, "the call target is not a multiple of 4", hex(address));
  // How long a callee is only its code says: read more until decoding stays inside, or the mapping ends.
  for (uint64_t size = 4096;; size *= 8) {
    size = std::min<uint64_t>(size, limits::max_callee_bytes);
    auto window = read_window(memory, address, size, size);
    if (!window) return std::unexpected(std::move(window.error()));
    auto program = translate::translate_callee(window->binary, callee_entry, abi);
    if (!program) {
      const std::string& what = program.error().what;
      const bool ran_out = what == "jump out of the program" || what == "the program runs past its end" ||
                           what.ends_with("is truncated");
      const bool more = !window->to_start || !window->to_end;
      if (ran_out && more && size < limits::max_callee_bytes) continue;
      Error e = std::move(program.error());
      if (ran_out && more) e = {ErrorKind::limit, "the callee is longer than max_callee_bytes", e.where, {}};
      e.where = fmt::format("callee at 0x{:x}, {}", address, e.where);
      return std::unexpected(std::move(e));
    }
    for (const translate::CallSlot& s : program->slots)
      if (auto ok = check_nested(*program, s, address); !ok) return std::unexpected(std::move(ok.error()));
    auto callee = std::make_shared<PreparedCallee>();
    callee->abi = abi;
    const container::Segment& segment = window->binary.segments.front();
    for (const auto& r : program->code) {
      const auto first = segment.bytes.begin() + (r.address - segment.address);
      callee->code.push_back({int64_t{r.address} - callee_entry, {first, first + r.bytes}});
    }
    simplify_unlinked(program->function);
    callee->changed = changed_registers(*program);
    callee->program = std::move(*program);
    callee->key = key_of(*callee);
    return callee;
  }
}

std::shared_ptr<const PreparedCallee> compose(std::shared_ptr<const PreparedCallee> callee,
                                              std::vector<std::shared_ptr<const PreparedCallee>> nested) {
  auto whole = std::make_shared<PreparedCallee>(*callee);
  std::vector<link::SlotCallees> slots;
  KeyWriter key = start_key("composed callee");
  key.add(callee->key);
  for (const auto& n : nested) {
    slots.push_back({.callees = {{&n->program.function, n->program.results, callee_entry}}});
    key.add(n->key);
  }
  link::inline_calls(whole->program.function, whole->program.interface, slots);
  simplify_unlinked(whole->program.function);
  whole->program.slots.clear();
  whole->program.modes.clear();
  whole->program.interface.clear();
  whole->program.preserved.clear();
  whole->changed = changed_registers(whole->program);
  whole->nested = std::move(nested);
  whole->outer = std::move(callee);
  whole->key = key.take();
  return whole;
}

uint64_t memory_of(const PreparedCallee& callee) {
  const ir::Function& f = callee.program.function;
  uint64_t bytes = sizeof callee + 2 * callee.key.size() + callee.code_bytes();
  bytes += uint64_t{f.value_count()} * (sizeof(ir::Inst) + 4 * sizeof(ir::Value));
  for (const ir::BasicBlock& b : f.blocks) bytes += sizeof b + 4 * b.instructions.capacity();
  return bytes;
}

bool is_at(const PreparedCallee& callee, const GuestMemory& memory, uint64_t address) {
  std::vector<uint8_t> bytes;
  return std::ranges::all_of(callee.code, [&](const PreparedCallee::Piece& p) {
    bytes.resize(p.bytes.size());
    return memory.read(address + static_cast<uint64_t>(p.offset), bytes) && bytes == p.bytes;
  });
}

} // namespace lanewise::runtime
