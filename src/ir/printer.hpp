// The IR as text (docs/ir.md, "Text form"). Complete: parse(print(f)) is f up to the numbering of values.
#pragma once

#include "ir/ir.hpp"

#include <string>

namespace lanewise::ir {

/// Values are numbered in the order in which they stand in the text.
[[nodiscard]] std::string print(const Function& f);

/// How `print` would name each value (by Value::index): "%12", "i32 3"; for error messages.
class ValueNames {
 public:
  explicit ValueNames(const Function& f);
  [[nodiscard]] std::string operator()(Value v) const;
  void spell(std::string& out, Value v) const;

 private:
  const Function& function_;
  std::vector<uint32_t> numbers_;
};

} // namespace lanewise::ir
