// TMU sequences brought together, so that little stands where nothing can be stored or read back.
#pragma once

#include "v3d/vir.hpp"

namespace lanewise::v3d {

/// Moves the parameters of each TMU operation down to its last write and its results up behind that, with a
/// thread switch of their own. Operations that overlapped no longer do. Latency is hidden less, but every
/// place between two operations can hold a store or a fill. Growth: linear in instructions.
void compact_tmu(Program& p);

} // namespace lanewise::v3d
