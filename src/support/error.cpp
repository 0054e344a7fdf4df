#include "support/error.hpp"

namespace lanewise {

std::string Error::to_string() const {
  std::string text;
  if (!where.empty()) text += where + ": ";
  text += what;
  if (!hint.empty()) text += " (" + hint + ")";
  return text;
}

} // namespace lanewise
