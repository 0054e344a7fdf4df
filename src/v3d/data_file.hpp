// Files of listings and words: plain text, or the same compressed with zstd.
#pragma once

#include "support/error.hpp"

#include <string>

namespace lanewise::v3d {

/// The whole text of a file ("-" is standard input), decompressed if it starts with zstd's magic number.
[[nodiscard]] Expected<std::string> read_text_file(const std::string& path);

} // namespace lanewise::v3d
