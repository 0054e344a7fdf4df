// Values as expressions, shared so that equal expressions are one node. The checker evaluates the listing and
// the allocated program into these and compares them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace lanewise::v3d {

using Node = std::uint32_t;

class Expressions {
 public:
  /// What nobody may look at: the reference's undefined values, which anything may stand for.
  static constexpr Node undefined = 0;

  Expressions() { make(0, {}); }

  /// The node for an operator (any number) over operands. `pure`: a constant if its operands are.
  Node make(std::uint64_t op, std::vector<Node> operands, bool pure = false);
  /// The bit of an operator whose two operands may change places.
  static constexpr std::uint64_t commutes = 1ull << 41;
  /// A value that equals no other.
  Node fresh() { return make(1ull << 63 | ++fresh_, {}); }

  /// In lanes where `flags` is set `a`, elsewhere `b`. Choices on the same flags inside the arms are
  /// resolved.
  Node choose(Node flags, Node a, Node b);
  /// The value as lanes with `flags` set (or clear) see it.
  [[nodiscard]] Node under(Node value, Node flags, bool set) const;
  /// A value of two halves; reading a half of it gives that half back.
  Node halves(Node low, Node high);
  Node half(Node value, bool high);

  /// Whether `other` may stand for `reference`: the same but for the reference's undefined parts.
  bool refines(Node reference, Node other);

  /// How many nodes there are: an expression whose node was there before somebody has already made.
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

  /// Whether the value is made of uniforms and constants by operations that any thread may repeat anywhere.
  [[nodiscard]] bool is_constant(Node n) const { return nodes_[n].is_constant; }

  /// Where two values first part: operators on the way and the two that differ, for messages.
  [[nodiscard]] std::string difference(Node reference, Node other);

 private:
  struct Entry {
    std::uint64_t op;
    std::vector<Node> operands;
    bool has_undefined, is_constant;
  };
  std::vector<Entry> nodes_;
  std::unordered_multimap<std::uint64_t, Node> index_;
  std::unordered_map<std::uint64_t, bool> refined_;
  std::uint64_t fresh_ = 0;
};

} // namespace lanewise::v3d
