// Stores and fills that are put in one by one move together, so that they share thread switches. A store may
// wait while its value is still in its register; a fill may come earlier where registers are free. Neither
// leaves its block.
#include "v3d/spill_planner.hpp"

#include <map>

namespace lanewise::v3d::spilling {

namespace {

// Instructions that a store or fill moves over, at most, and registers that fills leave free.
constexpr std::uint32_t reach = 100;
constexpr unsigned spare = 1;

} // namespace

// Whether so many values more find registers in the gaps between two places.
bool Planner::has_room(std::uint32_t b, std::uint32_t from, std::uint32_t to, unsigned more) const {
  const std::uint32_t first = l_.first_position[b] - 1;
  for (std::uint32_t g = first + from; g < first + to; ++g) {
    if (used_[g] + more > capacity(g)) {
      return false;
    }
  }
  return true;
}

// Whether a store may stand there: everything lives across its switch, and its address needs a register.
bool Planner::may_switch(std::uint32_t b, std::uint32_t place) const {
  const std::uint32_t gap = l_.first_position[b] - 1 + place;
  return used_[gap] <= capacity_over_switch(gap) && used_[gap] + 1 <= capacity(gap);
}

void Planner::share_switches() {
  for (std::uint32_t b = 0; b < p_.blocks.size(); ++b) {
    if (insertions_[b].size() > 1) {
      gather_stores(b);
      gather_fills(b);
    }
  }
}

// The store that must come first waits for as long as it may; what may stand there too joins it.
void Planner::gather_stores(std::uint32_t b) {
  std::vector<Insertion*> waiting;
  for (Insertion& i : insertions_[b]) {
    if (i.kind == Insertion::store) {
      i.bound = std::min(std::max(i.bound, i.index), i.index + reach);
      waiting.push_back(&i);
    }
  }
  std::ranges::stable_sort(waiting, {}, [](const Insertion* i) { return i->bound; });
  std::vector<char> done(waiting.size());
  for (std::size_t k = 0; k < waiting.size(); ++k) {
    if (done[k] != 0) {
      continue;
    }
    std::uint32_t place = waiting[k]->bound;
    while (place > waiting[k]->index && (places_[b][place] == 0 || !may_switch(b, place))) {
      --place;
    }
    std::vector<std::size_t> joining;
    for (std::size_t m = k; m < waiting.size() && joining.size() < most_together(p_.threads); ++m) {
      if (done[m] == 0 && waiting[m]->index <= place && place <= waiting[m]->bound) {
        joining.push_back(m);
      }
    }
    for (const std::size_t m : joining) {
      done[m] = 1;
      if (joining.size() > 1) {
        waiting[m]->index = place;
      }
    }
  }
}

// All fills of a place go to the nearest earlier place that has a thread switch, if their values find room on
// the way.
void Planner::gather_fills(std::uint32_t b) {
  struct Operations {
    unsigned stores = 0;
    std::vector<Insertion*> fills;
  };
  std::map<std::uint32_t, Operations> at;
  for (Insertion& i : insertions_[b]) {
    if (i.kind == Insertion::store) {
      ++at[i.index].stores;
    } else if (i.kind == Insertion::fill) {
      at[i.index].fills.push_back(&i);
    }
  }
  for (auto it = at.begin(); it != at.end();) {
    const auto here = it++;
    const auto count = static_cast<unsigned>(here->second.fills.size());
    if (here->second.stores != 0) {
      continue;
    }
    std::uint32_t earliest = here->first > reach ? here->first - reach : 0;
    for (const Insertion* f : here->second.fills) {
      earliest = std::max(earliest, f->bound);
    }
    for (auto to = here; to != at.begin() && std::prev(to)->first >= earliest;) {
      --to;
      Operations& there = to->second;
      if (!has_room(b, to->first, here->first, count + spare)) {
        break;
      }
      if (there.stores + there.fills.size() + count > most_together(p_.threads)) {
        continue;
      }
      for (Insertion* f : here->second.fills) {
        f->index = to->first;
        there.fills.push_back(f);
      }
      const std::uint32_t first = l_.first_position[b] - 1;
      for (std::uint32_t g = first + to->first; g < first + here->first; ++g) {
        used_[g] += count;
      }
      at.erase(here);
      break;
    }
  }
}

} // namespace lanewise::v3d::spilling
