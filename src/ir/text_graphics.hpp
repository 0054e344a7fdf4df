// Internal to ir/text: the suffixes of samples and exports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lanewise::ir::text {

/// Of packed ImageAccess: ".2d.lod.mask3". What has no spelling reads back as another number.
[[nodiscard]] std::string spell_image(uint64_t imm);
[[nodiscard]] std::optional<uint64_t> read_image(std::string_view suffix);
/// Of packed ExportTarget: ".mrt0.done", ".param3.mask7".
[[nodiscard]] std::string spell_export(uint64_t imm);
[[nodiscard]] std::optional<uint64_t> read_export(std::string_view suffix);

} // namespace lanewise::ir::text
