// The control flow of a function as rooms that know no IR see it.
#pragma once

#include "cfg/graph.hpp"
#include "ir/ir.hpp"

namespace lanewise::ir {

/// Node n is block n; a block that branches to one place twice has two edges there.
[[nodiscard]] cfg::Graph graph_of(const Function& f);

} // namespace lanewise::ir
