// Small functions of the emitted module, each written once at its first use: operations that SPIR-V does not
// have or does not define exactly enough. A call is also shorter than most expansions.
#pragma once

#include <functional>

#include "spirv/code.hpp"

namespace lanewise::spirv {

class Helpers {
 public:
  explicit Helpers(Types& types) : types_(types) {}

  /// Writes a body; returns the result, an Expr without id if there is none. It ends in an open block.
  using Body = std::function<Expr(Code&, std::span<const Expr>)>;
  /// What a helper is found by: a kind of the caller's and up to 56 bits of variation.
  struct Key {
    uint8_t kind;
    uint64_t variant;
    friend bool operator==(const Key&, const Key&) = default;
  };
  /// The function's id. `result` is a type id, as results may be vectors.
  Id get(Key key, const char* name, Id result, std::span<const ir::Type> parameters, const Body& body);
  /// Names are written into the module.
  bool debug_names = false;

 private:
  Types& types_;
  std::unordered_map<uint64_t, Id> functions_;
};

} // namespace lanewise::spirv
