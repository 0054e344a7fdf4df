#include "link/call_cost.hpp"

#include <algorithm>

namespace lanewise::link {
namespace {

/// Callees before callers; empty if there is a cycle.
std::vector<uint32_t> callees_first(std::span<const CallNode> nodes) {
  enum class Mark : uint8_t { fresh, open, done };
  std::vector<Mark> mark(nodes.size(), Mark::fresh);
  std::vector<uint32_t> order;
  std::vector<std::pair<uint32_t, size_t>> stack{{0, 0}};
  mark[0] = Mark::open;
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next == nodes[node].calls.size()) {
      mark[node] = Mark::done;
      order.push_back(node);
      stack.pop_back();
      continue;
    }
    const uint32_t callee = nodes[node].calls[next++];
    if (mark[callee] == Mark::open) return {};
    if (mark[callee] == Mark::done) continue;
    mark[callee] = Mark::open;
    stack.emplace_back(callee, 0);
  }
  return order;
}

/// Numbers of copies grow like powers of the depth; nothing here needs more than this.
constexpr uint64_t most = uint64_t{1} << 40;

/// Sizes with what is called inlined, but for the functions chosen.
std::vector<uint64_t> sizes(std::span<const CallNode> nodes, std::span<const uint32_t> order,
                            const std::vector<bool>& chosen, const CallCosts& costs) {
  std::vector<uint64_t> size(nodes.size());
  for (const uint32_t n : order) {
    size[n] = nodes[n].instructions + uint64_t{nodes[n].scratch} * costs.scratch_access;
    for (const uint32_t c : nodes[n].calls)
      size[n] = std::min(most, size[n] + (chosen[c] ? costs.call : size[c]));
  }
  return size;
}

/// Whether the program is smaller with the functions chosen than with everything inlined.
bool pays(std::span<const CallNode> nodes, std::span<const uint32_t> order, const std::vector<bool>& chosen,
          const CallCosts& costs, uint64_t inlined) {
  const auto size = sizes(nodes, order, chosen, costs);
  uint64_t functions = 0;
  for (const uint32_t n : order)
    if (n == 0 || chosen[n]) functions += size[n] + (n == 0 ? 0 : costs.function);
  return functions < inlined;
}

} // namespace

std::vector<bool> choose_functions(std::span<const CallNode> nodes, const CallCosts& costs) {
  std::vector<bool> chosen(nodes.size());
  if (nodes.empty()) return chosen;
  const auto order = callees_first(nodes);
  if (order.empty()) return chosen;
  CallCosts memory_is_values = costs;
  memory_is_values.scratch_access = 0;
  const auto size = sizes(nodes, order, chosen, memory_is_values);
  std::vector<uint64_t> copies(nodes.size());
  copies[0] = 1;
  for (size_t k = order.size(); k-- > 0;) {
    const uint32_t n = order[k];
    if (n != 0 && nodes[n].callable) {
      const uint64_t once = std::min<uint64_t>(size[n], 1u << 20);
      chosen[n] = costs.always || copies[n] * once > once + costs.function + copies[n] * costs.call;
    }
    const uint64_t here = chosen[n] ? 1 : copies[n];
    for (const uint32_t c : nodes[n].calls) copies[c] = std::min(most, copies[c] + here);
  }
  if (!costs.always && !pays(nodes, order, chosen, costs, size[0])) chosen.assign(nodes.size(), false);
  return chosen;
}

} // namespace lanewise::link
