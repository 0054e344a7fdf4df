// check --try-selects: which selects a program could do without, found by taking them out one at a time.
#pragma once

#include "runtime/launch.hpp"

#include <functional>

namespace lanewise::cli {

/// Of one kernel.
struct SelectTrial {
  unsigned selects = 0;   ///< per lane, before exec_select
  unsigned tried = 0;     ///< of these, taken out and run
  unsigned droppable = 0; ///< tried, and no launch left other memory when it was its new value
  unsigned dropped = 0;   ///< droppable, and dropped by exec_select
  unsigned wrong = 0;     ///< launches that tell exec_select's result from the program: must be 0
};

/// Makes launch i; they should differ in sizes, so in masks, and in contents.
using MakeLaunch = std::function<Expected<runtime::Launch>(unsigned i)>;

/// Runs every variant in the interpreter on `launches` launches. At most `most` selects are tried, evenly
/// spread.
[[nodiscard]] Expected<SelectTrial> try_selects(const container::ShaderBinary& binary,
                                                const container::Kernel& kernel, const MakeLaunch& make,
                                                unsigned launches, unsigned most);

} // namespace lanewise::cli
