// A way around a cost of lavapipe's: it compiles every compute shader as a coroutine, and LLVM asks of an
// array on the stack whether two of its users lie on both sides of a suspension, pair by pair until two do.
// Large programs that reach scratch by computed addresses have ten thousands of users and no suspension: that
// took minutes.
#pragma once

#include "ir/program.hpp"

namespace lanewise::spirv {

/// Writes zeros to words of scratch at the start of an invocation-level program, and a barrier behind them:
/// the pairs are found at once, and scratch lies in the coroutine's frame. Only where scratch has many users;
/// returns whether it had. What scratch holds at the start nobody may rely on.
bool keep_scratch_in_frame(ir::Program& program);

} // namespace lanewise::spirv
