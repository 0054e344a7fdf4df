// Small moves before allocation.
#pragma once

#include "v3d/vir.hpp"

namespace lanewise::v3d {

/// Moves what does not depend on it from between a flag operation and the branch on its flags to before it,
/// so that a thread switch finds a place behind each definition.
void tighten_flags(Program& p);

} // namespace lanewise::v3d
