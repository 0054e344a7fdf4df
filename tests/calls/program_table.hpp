// What the tables of programs share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lanewise::calls {

/// A `plus` that is the same for all work-items.
template <uint32_t n>
uint32_t all(uint32_t) {
  return n;
}

} // namespace lanewise::calls
