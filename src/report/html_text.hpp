// Text inside HTML.
#pragma once

#include <string>
#include <string_view>

namespace lanewise::report {

/// `&`, `<`, `>` and `"` as entities; control characters become '?'.
[[nodiscard]] inline std::string html_text(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    switch (c) {
    case '&': out += "&amp;"; break;
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '"': out += "&quot;"; break;
    default: out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
  }
  return out;
}

} // namespace lanewise::report
