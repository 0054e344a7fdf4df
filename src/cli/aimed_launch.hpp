// Launches aimed at a guess that has to come true before a kernel writes, such as a hash that is searched
// for.
#pragma once

#include "cli/made_up_launch.hpp"
#include "runtime/execute.hpp"

namespace lanewise::cli {

/// Starts from a launch that runs and writes nothing. Buffers become as random as the kernel bears; then, where
/// a compare finds two numbers unequal and one stands in a single place of the buffers, the other is put there,
/// and so on with the next compare, until the kernel writes. Nothing where that does not come about.
[[nodiscard]] std::optional<MadeUpLaunch> aim(const container::ShaderBinary& binary,
                                              const container::Kernel& kernel, MadeUpLaunch launch,
                                              const runtime::ExecuteOptions& execute);

} // namespace lanewise::cli
