// The selectors of byte_perm when they are known: which bit fields of the operands make up the result.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lanewise::ir {

/// Bytes that keep their distance: (operand >> right) & mask, or << -right.
struct SelectedBytes {
  unsigned operand = 0; ///< of byte_perm: 0 holds bytes 4..7, 1 bytes 0..3
  int right = 0;        ///< in bits
  uint32_t mask = 0;
  /// The shift alone clears the other bits.
  [[nodiscard]] bool mask_is_implied() const {
    return mask == (right >= 0 ? ~uint32_t{0} >> right : ~uint32_t{0} << -right);
  }
};

struct ByteSelection {
  std::vector<SelectedBytes> parts; ///< or-ed together
  uint32_t ones = 0;                ///< bytes that are 0xff
};

/// None if a selector asks for a sign. `same`: both operands are the same value.
[[nodiscard]] inline std::optional<ByteSelection> byte_selection(uint32_t selectors, bool same) {
  ByteSelection s;
  for (unsigned k = 0; k < 4; ++k) {
    const uint32_t selector = selectors >> (8 * k) & 0xff, mask = uint32_t{0xff} << (8 * k);
    if (selector >= 8 && selector < 12) return {};
    if (selector > 12) s.ones |= mask;
    if (selector >= 8) continue;
    const unsigned operand = selector < 4 || same ? 1 : 0;
    const int right = 8 * (static_cast<int>(selector & 3) - static_cast<int>(k));
    bool found = false;
    for (SelectedBytes& p : s.parts) {
      if (p.operand != operand || p.right != right) continue;
      p.mask |= mask;
      found = true;
    }
    if (!found) s.parts.push_back({operand, right, mask});
  }
  return s;
}

} // namespace lanewise::ir
