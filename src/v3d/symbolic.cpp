#include "v3d/symbolic.hpp"

#include <fmt/format.h>

namespace lanewise::v3d {

namespace {

// Operators of the table itself; those of the program are made by the checker from 1 << 32 on.
constexpr std::uint64_t op_choose = 2, op_halves = 3, op_low = 4, op_high = 5;

std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdull;
}

} // namespace

Node Expressions::make(std::uint64_t op, std::vector<Node> operands, bool pure) {
  std::uint64_t h = mix(0, op);
  for (const Node n : operands) {
    h = mix(h, n);
  }
  const auto [first, last] = index_.equal_range(h);
  for (auto it = first; it != last; ++it) {
    if (nodes_[it->second].op == op && nodes_[it->second].operands == operands) {
      return it->second;
    }
  }
  const auto n = static_cast<Node>(nodes_.size());
  bool has_undefined = n == undefined;
  for (const Node o : operands) {
    has_undefined = has_undefined || nodes_[o].has_undefined;
    pure = pure && nodes_[o].is_constant;
  }
  nodes_.push_back({op, std::move(operands), has_undefined, pure});
  index_.emplace(h, n);
  return n;
}

Node Expressions::under(Node value, Node flags, bool set) const {
  const Entry& e = nodes_[value];
  return e.op == op_choose && e.operands[0] == flags ? e.operands[set ? 1 : 2] : value;
}

Node Expressions::choose(Node flags, Node a, Node b) {
  a = under(a, flags, true);
  b = under(b, flags, false);
  return a == b ? a : make(op_choose, {flags, a, b});
}

Node Expressions::halves(Node low, Node high) { return make(op_halves, {low, high}, true); }

Node Expressions::half(Node value, bool high) {
  if (value == undefined) {
    return undefined;
  }
  if (nodes_[value].op == op_halves) {
    return nodes_[value].operands[high ? 1 : 0];
  }
  return make(high ? op_high : op_low, {value}, true);
}

bool Expressions::refines(Node reference, Node other) {
  if (reference == other || reference == undefined) {
    return true;
  }
  if (!nodes_[reference].has_undefined) {
    return false;
  }
  const std::uint64_t key = static_cast<std::uint64_t>(reference) << 32 | other;
  if (const auto it = refined_.find(key); it != refined_.end()) {
    return it->second;
  }
  if (nodes_[reference].op == op_choose) {
    // Lane by lane, whatever the other is: where both arms became one value it is no choice any more.
    const std::vector<Node> arms = nodes_[reference].operands;
    if (refines(arms[1], under(other, arms[0], true)) && refines(arms[2], under(other, arms[0], false))) {
      refined_.emplace(key, true);
      return true;
    }
  }
  if (nodes_[reference].op != nodes_[other].op ||
      nodes_[reference].operands.size() != nodes_[other].operands.size()) {
    refined_.emplace(key, false);
    return false;
  }
  const auto& a = nodes_[reference].operands;
  const auto& b = nodes_[other].operands;
  if ((nodes_[reference].op & commutes) != 0 && a.size() == 2 && refines(a[0], b[1]) && refines(a[1], b[0])) {
    refined_.emplace(key, true);
    return true;
  }
  bool all = true;
  for (std::size_t k = 0; all && k < a.size(); ++k) {
    all = refines(a[k], b[k]);
  }
  refined_.emplace(key, all);
  return all;
}

std::string Expressions::difference(Node reference, Node other) {
  std::string path;
  for (unsigned depth = 0; depth < 64; ++depth) {
    const Entry &r = nodes_[reference], &o = nodes_[other];
    if (r.op != o.op || r.operands.size() != o.operands.size()) {
      break;
    }
    std::size_t k = 0;
    while (k < r.operands.size() && refines(r.operands[k], o.operands[k])) {
      ++k;
    }
    if (k == r.operands.size()) {
      break;
    }
    path += fmt::format("{:x}[{}] ", r.op, k);
    reference = r.operands[k];
    other = o.operands[k];
  }
  return fmt::format("at {}: {:x} became {:x}", path, nodes_[reference].op, nodes_[other].op);
}

} // namespace lanewise::v3d
