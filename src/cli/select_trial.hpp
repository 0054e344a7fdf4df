// check --try-selects: which selects a program could do without, found by taking them out one at a time.
#pragma once

#include "ir/ir.hpp"
#include "runtime/launch.hpp"

#include <functional>

namespace lanewise::cli {

/// Of one kernel. Counted are writes under EXEC; selects that choose data (v_cndmask, lanes that DPP or
/// ds_bpermute finds off, v_writelane) are not.
struct SelectTrial {
  unsigned selects = 0;   ///< per-lane writes under EXEC, before exec_select
  unsigned on_data = 0;   ///< per-lane selects beside them
  unsigned tried = 0;     ///< of these, taken out and run
  unsigned droppable = 0; ///< tried, and no launch left other memory when it was its new value
  unsigned dropped = 0;   ///< droppable, and dropped by exec_select
  /// What stays though no launch tells.
  struct Left {
    uint32_t pc = 0,
             observer_pc = 0; ///< guest instructions: the select, and the use that asks for more lanes
    ir::Op observer{};
  };
  std::vector<Left> left;
  unsigned launches = 0; ///< that ran
  unsigned wrong = 0;    ///< launches that tell exec_select's result from the program: must be 0
};

/// Makes launch i; they should differ in sizes, so in masks, and in contents.
using MakeLaunch = std::function<Expected<runtime::Launch>(unsigned i)>;

/// Runs every variant in the interpreter on `launches` launches; of launches that do not run (they reach
/// outside their buffers, say) as many others are tried again. At most `most` selects are tried, evenly
/// spread.
[[nodiscard]] Expected<SelectTrial> try_selects(const container::ShaderBinary& binary,
                                                const container::Kernel& kernel, const MakeLaunch& make,
                                                unsigned launches, unsigned most);

} // namespace lanewise::cli
