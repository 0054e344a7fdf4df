// A kernel whose calls lead to fixed places, as a program in which some callees are functions.
#pragma once

#include "container/shader_binary.hpp"
#include "ir/program.hpp"
#include "link/call_cost.hpp"
#include "support/error.hpp"
#include "translate/code.hpp"
#include "translate/translate.hpp"
#include "translate/unlinked.hpp"

#include <optional>

namespace lanewise::runtime {

/// The kernel's program if some of its callees become functions; nothing if none does, or if it has calls
/// that wait for a dispatch or is refused. `explored`: gets the kernel's code as it was decoded on the way.
[[nodiscard]] std::optional<ir::Program>
program_with_functions(const container::ShaderBinary& binary, const container::Kernel& kernel,
                       const translate::TranslateOptions& options, const link::CallCosts& costs,
                       std::optional<translate::Code>* explored = nullptr);

/// The kernel's program. `costs` decide which callees become functions; none: all are inlined. A callee stays
/// inlined where its caller relies on a register that it changes, where it returns elsewhere than to the
/// call's link, ends the program, may trap, or changes MODE. Errors as translate::translate().
[[nodiscard]] Expected<ir::Program> translate_program(const container::ShaderBinary& binary,
                                                      const container::Kernel& kernel,
                                                      const translate::TranslateOptions& options,
                                                      const std::optional<link::CallCosts>& costs);

/// The passes that hold for a function whose callers or callees are not known. Those that look at descriptors
/// or address spaces wait: what a register holds may be known only when callee and caller are together.
void simplify_unlinked(ir::Function& f);

/// Registers that differ from what the caller passed at some return.
[[nodiscard]] std::vector<uint16_t> changed_registers(const translate::Unlinked& program);

} // namespace lanewise::runtime
