// Whether lanes of a wave have to do with each other.
#pragma once

#include "ir/program.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace lanewise::spirv {

/// The first operation by which a lane reads another of its wave, waits for it, or may leave a trace of who
/// shares its wave; its name and guest pc. None: each lane may run on its own, on subgroups of any width
/// (docs/seating.md).
///
/// Of waves, votes and fences do not count: passes/diverge may turn votes into branches of single lanes, and
/// fences may order nothing. What the program on invocations has left of them does.
enum class Level : uint8_t { waves, invocations };
[[nodiscard]] std::optional<std::string> lanes_meet(const ir::Program& program, Level level);

} // namespace lanewise::spirv
