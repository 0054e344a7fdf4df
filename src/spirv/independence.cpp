#include "spirv/independence.hpp"

#include <fmt/format.h>

namespace lanewise::spirv {
namespace {

using ir::Op;

bool meets_others(Op op) {
  switch (op) {
  case Op::ballot:
  case Op::read_lane:
  case Op::read_first:
  case Op::permute:
  case Op::push:
  case Op::dpp:
  case Op::image_sample_implicit:
  case Op::host_ballot:
  case Op::host_any:
  case Op::host_shuffle:
  case Op::host_broadcast:
  case Op::clock: return true; // one time for the wave
  default: return false;
  }
}

} // namespace

std::optional<std::string> lanes_meet(const ir::Program& program, Level level) {
  std::optional<std::string> found;
  const auto look = [&](const ir::Function& f) {
    for (const ir::BasicBlock& b : f.blocks)
      for (const ir::Value v : b.instructions)
        if (!found && (meets_others(f[v].op) || (level == Level::invocations && f[v].op == Op::wave_fence)))
          found = fmt::format("{} at pc {:#x}", ir::info(f[v].op).name, f[v].pc);
  };
  look(program.main);
  for (const ir::CalleeFunction& c : program.callees) look(c.function);
  return found;
}

} // namespace lanewise::spirv
