// gfx1030 assembly text to code, with llvm-mc. All programs of a table go through one run of the assembler.
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace lanewise::calls {

/// One program's code and the addresses of its labels, both from its first byte.
struct Assembled {
  std::vector<uint8_t> code;
  std::map<std::string, uint32_t> labels;
};

/// Assembles each source for waves of `wave` lanes. In a source, % stands for its number, so that labels of
/// several sources differ ("add%"); `labels` have the name without it. Macros that all may use (`n` is a
/// constant or SGPR):
///   begin              v1 = work-item id: sums go there
///   plus n             v1 += n
///   finish             out[work-item id] = v1, end; s[0:1] holds `out`
///   address lo, hi, l  s[lo:hi] = address of label l
///   if_lanes_below n   switches off lanes whose id is n or more; s[20:21] keeps EXEC
///   end_if             EXEC = s[20:21]
/// Error: system (no llvm-mc), input (its messages).
[[nodiscard]] Expected<std::vector<Assembled>> assemble(unsigned wave, std::span<const std::string> sources);

} // namespace lanewise::calls
