// Why a select on a mask stays, by the use that can see lanes outside the mask.
#pragma once

#include "ir/ir.hpp"

#include <array>
#include <string_view>

namespace lanewise::passes {

enum class KeptReason : uint8_t { join, access, lanes, wave, branch, result };

inline constexpr std::array kKeptReasons{KeptReason::join, KeptReason::access, KeptReason::lanes,
                                         KeptReason::wave, KeptReason::branch, KeptReason::result};

/// `observer` is the operation of that use.
[[nodiscard]] KeptReason kept_reason(ir::Op observer);
/// "join", as statistics spell it.
[[nodiscard]] std::string_view name(KeptReason reason);
/// "other lanes read it"
[[nodiscard]] std::string_view sentence(KeptReason reason);

} // namespace lanewise::passes
