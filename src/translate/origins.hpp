// Where the dwords of a call target come from, as expressions over what the host knows when it dispatches:
// user data, the kernarg pointer, the image's address, and memory behind proven pointers.
//
// Expressions are immutable, unique, and free of invocation data; runtime/resolve.hpp evaluates them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lanewise::translate {

/// A dword.
struct Origin {
  enum class Kind : uint8_t {
    number,   ///< `value`
    image_lo, ///< half of `image base + value`
    image_hi,
    kernarg_lo, ///< half of the kernarg segment's address
    kernarg_hi,
    user_data, ///< dword `value` of the kernarg segment, as the wave starts
    parameter, ///< of a callee: scalar register `value` at its entry
    load,      ///< dword at ((of[1]:of[0]) + value + of[2]) & ~3; of[2] may be none
    buffer,    ///< dword `value` bytes + of[4] into the buffer of[0..3], 0 outside of it; of[4] may be none
    sum_lo,    ///< of[0] + of[1]
    sum_hi,    ///< high half of (of[2]:of[0]) + (of[3]:of[1])
    difference_lo,
    difference_hi,
    shift_left, ///< of[0] << value
    and_,       ///< of[0] & of[1]
    either,     ///< of[0] or of[1], as choice `value` is 0 or 1
    index,      ///< a number that only the program knows, below `limit`: choice `value`
  } kind{};
  uint32_t limit = 0;
  std::array<uint32_t, 5> of{}; ///< operands, by number; 0 is none
  uint64_t value = 0;
  friend auto operator<=>(const Origin&, const Origin&) = default;
};

/// A register that a call through slot `slot` has to leave alone for what is known behind it to hold.
struct Preserved {
  uint32_t slot = 0; ///< node of the call while the graph grows
  uint32_t reg = 0;  ///< translate::reg
  friend auto operator<=>(const Preserved&, const Preserved&) = default;
};

/// Expressions and sets of Preserved, each once. Number 0 is "none" and the empty set. Growth: logarithmic
/// per request.
class Origins {
 public:
  Origins() : nodes_(1), sets_(1) { set_numbers_[{}] = 0; }

  [[nodiscard]] uint32_t make(const Origin& o);
  [[nodiscard]] const Origin& operator[](uint32_t n) const { return nodes_[n]; }
  [[nodiscard]] std::span<const Origin> all() const { return nodes_; }

  [[nodiscard]] uint32_t join(uint32_t set, uint32_t other);
  [[nodiscard]] uint32_t with(uint32_t set, Preserved p);
  [[nodiscard]] const std::vector<Preserved>& preserved(uint32_t set) const { return sets_[set]; }

  /// Choices that an expression depends on, with the number of their outcomes; sorted.
  [[nodiscard]] std::map<uint64_t, uint32_t> choices(uint32_t origin) const;
  /// Whether the value is read from memory (the kernarg segment apart).
  [[nodiscard]] bool reads_memory(uint32_t origin) const;
  [[nodiscard]] bool depends_on_parameters(uint32_t origin) const;
  /// "load(user_data[2] + 0x10)"; deep parts are left out.
  [[nodiscard]] std::string text(uint32_t origin, unsigned depth = 6) const;

 private:
  template <class F>
  bool any(uint32_t origin, F&& wanted) const;

  std::vector<Origin> nodes_;
  std::map<Origin, uint32_t> numbers_;
  std::vector<std::vector<Preserved>> sets_;
  std::map<std::vector<Preserved>, uint32_t> set_numbers_;
};

} // namespace lanewise::translate
