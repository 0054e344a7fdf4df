#include "v3d/tmu_operations.hpp"

#include <bit>

namespace lanewise::v3d {

bool writes_tmu(const Inst& i) {
  return i.alu.dst.kind == Reg::magic && is_tmu_write(static_cast<std::uint8_t>(i.alu.dst.index));
}

bool starts_lookup(const Inst& i) {
  return writes_tmu(i) && is_tmu_trigger(static_cast<std::uint8_t>(i.alu.dst.index));
}

unsigned words_returned(std::uint32_t config, bool has_data) {
  const std::uint32_t type = config & 7, op = config >> 3 & 15;
  if (has_data) {
    return op == 15 ? 0 : 1;
  }
  return type >= 2 && type <= 4 ? type : 1;
}

std::optional<std::vector<TmuOperation>> find_lookups(const Program& p, const std::vector<Inst>& insts) {
  std::vector<TmuOperation> list;
  std::vector<unsigned> words;
  TmuOperation now;
  unsigned returned = 0, configs = 0;
  std::size_t next = 0;
  for (std::uint32_t n = 0; n < insts.size(); ++n) {
    const Inst& i = insts[n];
    if ((i.sigs & sig::wrtmuc) != 0 && configs++ == 0) {
      returned = static_cast<unsigned>(std::popcount(p.uniforms[i.uniform].returned));
    }
    if (starts_lookup(i)) {
      const auto address = static_cast<std::uint8_t>(i.alu.dst.index);
      if (address == magic::tmua || address == magic::tmuau) {
        returned = words_returned(address == magic::tmuau ? p.uniforms[i.uniform].value : ~0u, false);
      }
      if (returned == 0) {
        return std::nullopt;
      }
      now.trigger = n;
      list.push_back(std::move(now));
      words.push_back(returned);
      now = {};
      returned = configs = 0;
    } else if (writes_tmu(i) || (i.sigs & sig::wrtmuc) != 0) {
      if (i.alu.dst.kind == Reg::magic && i.alu.dst.index == magic::tmud) {
        return std::nullopt; // a store or an atomic
      }
      now.parameters.push_back(n);
    }
    if ((i.sigs & sig::ldtmu) != 0) {
      while (next < list.size() && list[next].results.size() == words[next]) {
        ++next;
      }
      if (next == list.size()) {
        return std::nullopt;
      }
      list[next].results.push_back(n);
    }
  }
  for (std::size_t k = 0; k < list.size(); ++k) {
    if (list[k].results.size() != words[k]) {
      return std::nullopt;
    }
  }
  if (!now.parameters.empty()) {
    return std::nullopt;
  }
  return list;
}

} // namespace lanewise::v3d
