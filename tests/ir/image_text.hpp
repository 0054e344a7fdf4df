// Programs in text that sample need not write down twelve words of descriptors each time.
#pragma once

#include <string>

namespace lanewise::ir::testing {

/// Every "%image" becomes eight words for an image and four for a sampler.
inline std::string with_image(std::string text) {
  constexpr std::string_view name = "%image";
  std::string words;
  for (unsigned i = 1; i <= 12; ++i) words += (i > 1 ? ", i32 " : "i32 ") + std::to_string(i);
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += words.size())
    text.replace(at, name.size(), words);
  return text;
}

} // namespace lanewise::ir::testing
