// What a program needs: everything else is dead code.
#pragma once

#include "ir/ir.hpp"

#include <vector>

namespace lanewise::analysis {

/// By value: a store, an atomic, an effect or a branch depends on it, or it is one. Linear.
[[nodiscard]] std::vector<bool> needed_values(const ir::Function& f);

} // namespace lanewise::analysis
