// TMU operations of a block: which writes, configuration words and results belong together.
#pragma once

#include "v3d/vir.hpp"

#include <optional>
#include <vector>

namespace lanewise::v3d {

struct TmuOperation {
  std::vector<std::uint32_t> parameters; ///< writes and configurations in front of the trigger
  std::uint32_t trigger = 0;
  std::vector<std::uint32_t> results; ///< ldtmu, in order
};

[[nodiscard]] bool writes_tmu(const Inst& i);
/// The write that starts an operation.
[[nodiscard]] bool starts_lookup(const Inst& i);

/// The operations of a block if all of them only read (texture lookups and loads) and every result arrives in
/// the block.
[[nodiscard]] std::optional<std::vector<TmuOperation>> find_lookups(const Program& p,
                                                                    const std::vector<Inst>& insts);

/// Words that a general access with that configuration returns.
[[nodiscard]] unsigned words_returned(std::uint32_t config, bool has_data);

} // namespace lanewise::v3d
