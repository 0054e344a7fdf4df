// What calls pass and take back, made as small as what callees read and callers use.
//
//   x = call_scalar.8 (call.0 t, 1, a, b)             b is never read, register 8 stays what it was
//   callee 0: r = param_scalar.8 ... call_return r, y      ->      call.0 t, a;  x = a, the callee has 1 for
//                                                                  its parameter and returns nothing
#pragma once

#include "ir/program.hpp"

namespace lanewise::link {

/// Drops results that no caller reads, that are constant or that are what came in, and parameters that no
/// callee reads or that all calls pass the same constant or input for; and what is dead then. Growth: linear
/// in the program for each round, and few rounds are needed.
void narrow_interfaces(ir::Program& program);

} // namespace lanewise::link
