#include "runtime/serialize.hpp"

#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "runtime/byte_stream.hpp"

#include <algorithm>

namespace lanewise::runtime {
namespace {

using translate::CallSlot;
using translate::Origin;
using translate::Origins;
using translate::Preserved;
using translate::Unlinked;

/// The same walk over the fields serves writing and reading: `Stream` is ByteWriter or ByteReader.
template <class Stream, class Slot>
void slot_fields(Stream& s, Slot& slot) {
  s.number(slot.node);
  s.number(slot.pc);
  s.number(slot.target);
  s.number(slot.assumed);
  s.number(slot.return_pc);
  s.list(slot.registers, [&](auto& r) {
    s.number(r.reg);
    s.number(r.origin);
  });
}

void write_link(ByteWriter& w, const std::optional<uint8_t>& link) {
  w.number(link.has_value());
  w.number(link.value_or(uint8_t{0}));
}

void read_link(ByteReader& r, std::optional<uint8_t>& link) {
  const bool has = r.number<uint8_t>() != 0;
  const auto value = r.number<uint8_t>();
  if (has) link = value;
}

void write(ByteWriter& w, const Unlinked& p) {
  w.text(ir::print(p.function));
  w.number(uint64_t{p.origins.all().size() - 1});
  for (const Origin& o : p.origins.all().subspan(1)) {
    w.number(o.kind);
    w.number(o.limit);
    w.number(o.of);
    w.number(o.value);
  }
  w.list(p.slots, [&](const CallSlot& s) {
    slot_fields(w, s);
    write_link(w, s.link);
  });
  w.numbers(p.modes);
  w.numbers(p.interface);
  w.list(p.preserved, [&](const Preserved& x) {
    w.number(x.slot);
    w.number(x.reg);
  });
  w.numbers(p.results);
  w.numbers(p.links);
  w.list(p.code, [&](const Unlinked::Range& r) {
    w.number(r.address);
    w.number(r.bytes);
  });
}

std::unexpected<Error> malformed_program(std::string what) {
  return fail(ErrorKind::input, "prepared program is malformed: " + std::move(what));
}

Expected<Origins> read_origins(ByteReader& r) {
  Origins origins;
  const auto count = r.number<uint64_t>();
  for (uint64_t n = 1; r.ok() && n <= count; ++n) {
    Origin o;
    r.number(o.kind);
    r.number(o.limit);
    r.number(o.of);
    r.number(o.value);
    if (o.kind > Origin::Kind::index || std::ranges::any_of(o.of, [&](uint32_t part) { return part >= n; }))
      return malformed_program("an origin");
    if (origins.make(o) != n) return malformed_program("an origin stands twice");
  }
  return origins;
}

void write(ByteWriter& w, const std::vector<ir::InterfaceRegister>& list) {
  w.list(list, [&](const ir::InterfaceRegister& r) {
    w.number(r.number);
    w.number(r.type);
    w.number(r.per_lane);
  });
}

void read(ByteReader& r, std::vector<ir::InterfaceRegister>& list) {
  r.list(list, [&](ir::InterfaceRegister& x) {
    r.number(x.number);
    r.number(x.type);
    x.per_lane = r.number<uint8_t>() != 0;
  });
}

/// Calls lead to callees before `callees`, and pass and return what those say.
bool calls_fit(const ir::Function& f, std::span<const ir::CalleeFunction> callees,
               const ir::CalleeFunction* self) {
  return std::ranges::all_of(f.blocks, [&](const ir::BasicBlock& b) {
    return std::ranges::all_of(b.instructions, [&](ir::Value v) {
      const ir::Inst& i = f[v];
      if (i.op == ir::Op::call)
        return i.imm < callees.size() && i.operand_count == callees[i.imm].params.size() + 1;
      if (i.op == ir::Op::call_return) return self && i.operand_count == self->results.size();
      return true;
    });
  });
}

Expected<std::vector<ir::CalleeFunction>> read_callees(ByteReader& r) {
  std::vector<ir::CalleeFunction> callees;
  const auto count = r.number<uint64_t>();
  for (uint64_t k = 0; r.ok() && k < count; ++k) {
    auto function = ir::parse(r.text());
    if (!function) return std::unexpected(std::move(function.error()));
    ir::CalleeFunction c{std::move(*function), {}, {}};
    read(r, c.params);
    read(r, c.results);
    if (!r.ok()) break;
    if (auto ok = ir::verify(c.function); !ok) return std::unexpected(std::move(ok.error()));
    if (!calls_fit(c.function, callees, &c)) return malformed_program("a call of a function");
    callees.push_back(std::move(c));
  }
  return callees;
}

/// Numbers that index something must be inside it.
bool in_range(const Unlinked& p, bool calls_slots) {
  const auto origins = p.origins.all().size();
  const bool slots = std::ranges::all_of(p.slots, [&](const CallSlot& s) {
    const bool targets = std::ranges::all_of(s.target, [&](uint32_t o) { return o != 0 && o < origins; });
    return targets && std::ranges::all_of(s.registers, [&](const auto& r) { return r.origin < origins; });
  });
  const bool calls = !calls_slots || std::ranges::all_of(p.function.blocks, [&](const ir::BasicBlock& b) {
    return std::ranges::all_of(b.instructions, [&](ir::Value v) {
      const ir::Inst& i = p.function[v];
      if (i.op == ir::Op::call) return i.imm < p.slots.size() && i.operand_count == p.interface.size() + 1;
      if (i.op == ir::Op::call_return) return i.operand_count == p.results.size();
      return true;
    });
  });
  return slots && calls && p.modes.size() == p.slots.size();
}

Expected<Unlinked> read(ByteReader& r, bool calls_slots = true) {
  auto function = ir::parse(r.text());
  if (!function) return std::unexpected(std::move(function.error()));
  Unlinked p{.function = std::move(*function)};
  auto origins = read_origins(r);
  if (!origins) return std::unexpected(std::move(origins.error()));
  p.origins = std::move(*origins);
  r.list(p.slots, [&](CallSlot& s) {
    slot_fields(r, s);
    read_link(r, s.link);
  });
  r.numbers(p.modes);
  r.numbers(p.interface);
  r.list(p.preserved, [&](Preserved& x) {
    r.number(x.slot);
    r.number(x.reg);
  });
  r.numbers(p.results);
  r.numbers(p.links);
  r.list(p.code, [&](Unlinked::Range& x) {
    r.number(x.address);
    r.number(x.bytes);
  });
  if (!r.ok()) return malformed_program("it ends too early");
  if (auto ok = ir::verify(p.function); !ok) return std::unexpected(std::move(ok.error()));
  if (!in_range(p, calls_slots)) return malformed_program("a number is out of range");
  return p;
}

template <class Stream, class Descriptor>
void launch_fields(Stream& s, Descriptor& d) {
  s.number(d.group_segment_fixed_size);
  s.number(d.private_segment_fixed_size);
  s.number(d.kernarg_size);
  s.number(d.rsrc1);
  s.number(d.rsrc2);
  s.number(d.rsrc3);
  s.number(d.vgpr_count);
  s.number(d.wave32);
}

} // namespace

std::vector<uint8_t> serialize(const PreparedShader& shader) {
  ByteWriter w;
  w.text(shader.key);
  w.text(shader.kernel.name);
  launch_fields(w, shader.kernel.descriptor);
  w.number(shader.kernel.required_workgroup_size.has_value());
  w.number(shader.kernel.required_workgroup_size.value_or(std::array<uint32_t, 3>{}));
  w.number(shader.full_waves);
  w.numbers(shader.targets);
  w.list(shader.compared, [&](bool b) { w.number(b); });
  w.number(uint64_t{shader.callees.size()});
  for (const ir::CalleeFunction& c : shader.callees) {
    w.text(ir::print(c.function));
    write(w, c.params);
    write(w, c.results);
  }
  write(w, shader.program);
  return w.take();
}

Expected<std::shared_ptr<const PreparedShader>> deserialize_shader(std::span<const uint8_t> bytes) {
  ByteReader r(bytes);
  auto shader = std::make_shared<PreparedShader>();
  shader->key = r.text();
  shader->kernel.name = r.text();
  launch_fields(r, shader->kernel.descriptor);
  const bool required = r.number<uint8_t>() != 0;
  const auto size = r.number<std::array<uint32_t, 3>>();
  if (required) shader->kernel.required_workgroup_size = size;
  r.number(shader->full_waves);
  r.numbers(shader->targets);
  std::vector<uint8_t> compared;
  r.numbers(compared);
  for (const uint8_t c : compared) shader->compared.push_back(c != 0);
  auto callees = read_callees(r);
  if (!callees) return std::unexpected(std::move(callees.error()));
  shader->callees = std::move(*callees);
  auto program = read(r, shader->callees.empty());
  if (!program) return std::unexpected(std::move(program.error()));
  shader->program = std::move(*program);
  if (!shader->callees.empty() &&
      (!shader->program.slots.empty() || !calls_fit(shader->program.function, shader->callees, nullptr)))
    return malformed_program("a call of a function");
  if (!r.at_end() || shader->targets.size() != shader->program.slots.size() ||
      shader->compared.size() != shader->program.slots.size())
    return malformed_program("lists differ in length");
  return shader;
}

std::vector<uint8_t> serialize(const PreparedCallee& callee) {
  ByteWriter w;
  w.text(callee.key);
  w.number(callee.abi.wave_size);
  w.number(callee.abi.mode);
  w.number(callee.abi.vgprs);
  w.list(callee.code, [&](const PreparedCallee::Piece& p) {
    w.number(p.offset);
    w.bytes(p.bytes);
  });
  w.numbers(callee.changed);
  write(w, callee.program);
  return w.take();
}

Expected<std::shared_ptr<const PreparedCallee>> deserialize_callee(std::span<const uint8_t> bytes) {
  ByteReader r(bytes);
  auto callee = std::make_shared<PreparedCallee>();
  callee->key = r.text();
  r.number(callee->abi.wave_size);
  r.number(callee->abi.mode);
  r.number(callee->abi.vgprs);
  r.list(callee->code, [&](PreparedCallee::Piece& p) {
    r.number(p.offset);
    const auto b = r.bytes();
    p.bytes.assign(b.begin(), b.end());
  });
  r.numbers(callee->changed);
  auto program = read(r);
  if (!program) return std::unexpected(std::move(program.error()));
  callee->program = std::move(*program);
  if (!r.at_end()) return malformed_program("bytes are left over");
  return callee;
}

} // namespace lanewise::runtime
