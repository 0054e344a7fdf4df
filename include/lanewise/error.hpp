// Errors: every boundary of Lanewise returns Expected<T>. No input makes the library throw or abort.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace lanewise {

/// Whose fault it is; decides the exit status of the command (docs/architecture.md, "The command").
enum class ErrorKind : unsigned char {
  input,       ///< the file or program is malformed
  call,        ///< the caller's arguments are wrong
  unsupported, ///< correct input that Lanewise cannot handle yet; listed in docs/limits.md
  limit,       ///< a named limit (docs/limits.md) was exceeded
  check,       ///< a comparison of two references failed
  system,      ///< the operating system or the Vulkan driver refused
};

/// What went wrong, where, and what can be done about it.
struct Error {
  ErrorKind kind = ErrorKind::input;
  std::string what;  ///< one sentence without a full stop: "instruction is truncated"
  std::string where; ///< "pc 0x40: v_foo_b32 v0, v1" or "a.co, offset 0x1c"; may be empty
  std::string hint;  ///< what the user can do; may be empty

  /// "WHERE: WHAT (HINT)" on one line, without a trailing newline.
  [[nodiscard]] std::string to_string() const;
};

template <class T>
using Expected = std::expected<T, Error>;

/// `return fail(ErrorKind::input, "truncated", "offset 0x10");`
[[nodiscard]] inline std::unexpected<Error> fail(ErrorKind kind, std::string what, std::string where = {},
                                                 std::string hint = {}) {
  return std::unexpected(Error{kind, std::move(what), std::move(where), std::move(hint)});
}

} // namespace lanewise
