// What results are kept under: every byte that they depend on, in order, so that equal keys mean equal
// results. A hash of a key only finds candidates; keys themselves are compared.
#pragma once

#include "runtime/compile.hpp"
#include "runtime/prepare.hpp"

#include <string>
#include <type_traits>

namespace lanewise::runtime {

/// Appends values to a key. Strings and lists carry their length, so that no two sequences look alike.
class KeyWriter {
 public:
  template <class T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  KeyWriter& add(T value) {
    key_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  KeyWriter& add(std::string_view text) {
    add(uint64_t{text.size()});
    key_ += text;
    return *this;
  }
  KeyWriter& add(std::span<const uint8_t> bytes) {
    return add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  [[nodiscard]] std::string take() { return std::move(key_); }

 private:
  std::string key_;
};

/// Starts every key: the library's version and build, the format of what is kept, and what it is.
[[nodiscard]] KeyWriter start_key(std::string_view what);

/// A hash of the library's sources (cmake/BuildId.cmake).
[[nodiscard]] std::string_view build_id();

/// The whole image, the kernel's descriptor and the options.
[[nodiscard]] std::string key_of(const container::ShaderBinary& binary, const container::Kernel& kernel,
                                 const PrepareOptions& options);
/// Code by offset from the entry, and how it is entered. No address.
[[nodiscard]] std::string key_of(const PreparedCallee& callee);
/// Device limits and options of compile(); its `observe` and `validate` change no result.
void add_options(KeyWriter& key, const CompileOptions& options);

/// 128 bits of XXH3, for tables.
struct Hash128 {
  uint64_t low = 0, high = 0;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};
[[nodiscard]] Hash128 hash_of(std::string_view key);

} // namespace lanewise::runtime
