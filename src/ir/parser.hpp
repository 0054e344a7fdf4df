// Reads the text form of the IR (docs/ir.md, "Text form").
#pragma once

#include "ir/ir.hpp"
#include "support/error.hpp"

#include <string_view>

namespace lanewise::ir {

/// Syntax, names and block links are checked; types and dominance are the verifier's business (verify).
/// Errors name LINE:COLUMN. Values may have any name: "%12", "%sum".
[[nodiscard]] Expected<Function> parse(std::string_view text);

} // namespace lanewise::ir
