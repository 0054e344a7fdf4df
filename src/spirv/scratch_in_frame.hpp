// A way around a cost of lavapipe's: it compiles every compute shader as a coroutine, and LLVM asks of an
// array on the stack whether two of its users lie on both sides of a suspension, pair by pair until two do.
// Large programs that reach scratch by computed addresses have ten thousands of users and no suspension: that
// took minutes.
#pragma once

#include "ir/program.hpp"

namespace lanewise::spirv {

/// Puts a barrier at the end of an invocation-level program, and a store to scratch behind it: the first
/// pairs that LLVM looks at have the barrier between them, and scratch lies in the coroutine's frame. Only
/// where scratch has many users and the program one end, where all waves meet; returns whether it had.
bool keep_scratch_in_frame(ir::Program& program);

} // namespace lanewise::spirv
