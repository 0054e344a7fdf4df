// Numbers, strings and lists one behind the other, little endian.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lanewise::runtime {

class ByteWriter {
 public:
  template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>)
  void number(T value) {
    const auto* p = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), p, p + sizeof value);
  }
  void bytes(std::span<const uint8_t> list) {
    number(uint64_t{list.size()});
    bytes_.insert(bytes_.end(), list.begin(), list.end());
  }
  void text(std::string_view t) { bytes({reinterpret_cast<const uint8_t*>(t.data()), t.size()}); }
  template <class T, class F>
  void list(const std::vector<T>& values, F&& each) {
    number(uint64_t{values.size()});
    for (const T& v : values) each(v);
  }
  template <class T>
  void numbers(const std::vector<T>& values) {
    list(values, [&](const T& v) { number(v); });
  }
  [[nodiscard]] std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

/// Reads what ByteWriter wrote. Past the end everything is 0 and empty, and ok() turns false.
class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : rest_(bytes) {}
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>)
  void number(T& value) {
    value = T{};
    if (!take(sizeof value)) return;
    std::memcpy(&value, taken_.data(), sizeof value);
  }
  void number(bool& value) {
    uint8_t byte = 0;
    number(byte);
    value = byte != 0;
  }
  template <class T>
  [[nodiscard]] T number() {
    T value{};
    number(value);
    return value;
  }
  [[nodiscard]] std::span<const uint8_t> bytes() {
    const auto size = number<uint64_t>();
    return take(size) ? taken_ : std::span<const uint8_t>();
  }
  [[nodiscard]] std::string text() {
    const auto b = bytes();
    return {reinterpret_cast<const char*>(b.data()), b.size()};
  }
  /// `each(T&)` reads one element.
  template <class T, class F>
  void list(std::vector<T>& values, F&& each) {
    const auto count = number<uint64_t>();
    // Each element takes a byte at least, so a lie about the count costs nothing.
    if (count > rest_.size()) ok_ = false;
    for (uint64_t k = 0; ok_ && k < count; ++k) each(values.emplace_back());
  }
  template <class T>
  void numbers(std::vector<T>& values) {
    list(values, [&](T& v) { number(v); });
  }

 private:
  bool take(uint64_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return false;
    }
    taken_ = rest_.first(size);
    rest_ = rest_.subspan(size);
    return true;
  }
  std::span<const uint8_t> rest_, taken_;
  bool ok_ = true;
};

} // namespace lanewise::runtime
