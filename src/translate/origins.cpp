#include "translate/origins.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lanewise::translate {

uint32_t Origins::make(const Origin& o) {
  const auto [it, inserted] = numbers_.try_emplace(o, static_cast<uint32_t>(nodes_.size()));
  if (inserted) nodes_.push_back(o);
  return it->second;
}

uint32_t Origins::join(uint32_t set, uint32_t other) {
  if (set == other || other == 0) return set;
  if (set == 0) return other;
  std::vector<Preserved> both;
  std::ranges::set_union(sets_[set], sets_[other], std::back_inserter(both));
  const auto [it, inserted] = set_numbers_.try_emplace(both, static_cast<uint32_t>(sets_.size()));
  if (inserted) sets_.push_back(std::move(both));
  return it->second;
}

uint32_t Origins::with(uint32_t set, Preserved p) {
  std::vector<Preserved> more = sets_[set];
  const auto at = std::ranges::lower_bound(more, p);
  if (at != more.end() && *at == p) return set;
  more.insert(at, p);
  const auto [it, inserted] = set_numbers_.try_emplace(more, static_cast<uint32_t>(sets_.size()));
  if (inserted) sets_.push_back(std::move(more));
  return it->second;
}

/// Whether some part of the expression is wanted. Operands have lower numbers, so one walk down is enough.
template <class F>
bool Origins::any(uint32_t origin, F&& wanted) const {
  std::vector<bool> part(origin + 1);
  part[origin] = true;
  for (uint32_t n = origin; n > 0; --n) {
    if (!part[n]) continue;
    if (wanted(nodes_[n])) return true;
    for (const uint32_t o : nodes_[n].of) part[o] = true;
  }
  return false;
}

std::map<uint64_t, uint32_t> Origins::choices(uint32_t origin) const {
  std::map<uint64_t, uint32_t> found;
  (void)any(origin, [&](const Origin& o) {
    if (o.kind == Origin::Kind::either) found[o.value] = 2;
    if (o.kind == Origin::Kind::index) found[o.value] = o.limit;
    return false;
  });
  return found;
}

bool Origins::reads_memory(uint32_t origin) const {
  const auto is_argument = [&](const Origin& o) {
    return o.kind == Origin::Kind::load && o.of[2] == 0 && nodes_[o.of[0]].kind == Origin::Kind::kernarg_lo &&
           nodes_[o.of[1]].kind == Origin::Kind::kernarg_hi;
  };
  return any(origin, [&](const Origin& o) {
    return o.kind == Origin::Kind::buffer || (o.kind == Origin::Kind::load && !is_argument(o));
  });
}

bool Origins::depends_on_parameters(uint32_t origin) const {
  return any(origin, [](const Origin& o) { return o.kind == Origin::Kind::parameter; });
}

std::string Origins::text(uint32_t origin, unsigned depth) const {
  const Origin& o = nodes_[origin];
  if (depth == 0) return "...";
  const auto part = [&](unsigned n) { return text(o.of[n], depth - 1); };
  const auto plus = [](uint64_t value) {
    return value == 0 ? std::string() : fmt::format(" + 0x{:x}", value);
  };
  switch (o.kind) {
  case Origin::Kind::number: return fmt::format("0x{:x}", o.value);
  case Origin::Kind::image_lo:
  case Origin::Kind::image_hi: return "image" + plus(o.value);
  case Origin::Kind::kernarg_lo:
  case Origin::Kind::kernarg_hi: return "kernarg";
  case Origin::Kind::user_data: return fmt::format("user_data[{}]", o.value);
  case Origin::Kind::parameter: return fmt::format("caller's s{}", o.value);
  case Origin::Kind::load: return "load(" + part(0) + plus(o.value) + (o.of[2] ? " + " + part(2) : "") + ")";
  case Origin::Kind::buffer:
    return "buffer(" + part(0) + plus(o.value) + (o.of[4] ? " + " + part(4) : "") + ")";
  case Origin::Kind::sum_lo:
  case Origin::Kind::sum_hi: return part(0) + " + " + part(1);
  case Origin::Kind::difference_lo:
  case Origin::Kind::difference_hi: return part(0) + " - " + part(1);
  case Origin::Kind::shift_left: return fmt::format("({} << {})", part(0), o.value);
  case Origin::Kind::and_: return "(" + part(0) + " & " + part(1) + ")";
  case Origin::Kind::either: return "either(" + part(0) + ", " + part(1) + ")";
  case Origin::Kind::index: return fmt::format("index below {}", o.limit);
  }
  return "nothing";
}

} // namespace lanewise::translate
