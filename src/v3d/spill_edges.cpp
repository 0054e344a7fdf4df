// What is in registers where blocks meet: at the entry of a block, at loop headers, on edges, and the stores
// that belong to definitions.
#include "v3d/spill_planner.hpp"

#include <fmt/format.h>

namespace lanewise::v3d::spilling {

std::vector<unsigned> Planner::temp_pressure(const std::vector<std::vector<Segment>>& segments) const {
  std::vector<std::int32_t> change(l_.gap_count + 1);
  for (std::uint32_t t = 0; t < l_.names.temps; ++t) {
    for (const Segment& s : segments[t]) {
      change[s.begin] += remat_[t].kind == Remat::none;
      change[s.end] -= remat_[t].kind == Remat::none;
    }
  }
  std::vector<unsigned> r(l_.gap_count);
  std::int32_t now = 0;
  for (std::size_t g = 0; g < r.size(); ++g) {
    now += change[g];
    r[g] = static_cast<unsigned>(now);
  }
  return r;
}

void Planner::find_late_blocks() {
  late_.assign(p_.blocks.size(), 0);
  last_ = last_switch(p_);
  if (last_.block == no_index) {
    return;
  }
  std::vector<std::uint32_t> work(p_.blocks[last_.block].succs);
  while (!work.empty()) {
    const std::uint32_t b = work.back();
    work.pop_back();
    if (late_[b] == 0) {
      late_[b] = 1;
      work.insert(work.end(), p_.blocks[b].succs.begin(), p_.blocks[b].succs.end());
    }
  }
}

bool Planner::entry(std::uint32_t b) {
  const Block& block = p_.blocks[b];
  while (!set_.empty()) {
    remove(set_.back());
  }
  bool is_header = false;
  for (const std::uint32_t q : block.preds) {
    is_header = is_header || q >= b;
  }
  struct Incoming {
    std::uint32_t temp, next;
    bool everywhere;
  };
  std::vector<Incoming> candidates;
  for (std::size_t k = 0; k < l_.live_in[b].size(); ++k) {
    const std::uint32_t t = l_.live_in[b][k];
    if (!l_.names.is_temp(t)) {
      continue;
    }
    bool everywhere = true, can_fill = true;
    for (const std::uint32_t q : block.preds) {
      // Where it is not live out of a predecessor, no definition has reached it there.
      if (q < b && std::ranges::binary_search(l_.live_out[q], t) &&
          !std::ranges::binary_search(exit_[q], t)) {
        everywhere = false;
        can_fill = can_fill && p_.blocks[q].succs.size() == 1;
      }
    }
    const std::uint32_t next = std::min(next_.at_entry[b][k], 1u << 30);
    if (everywhere || (is_header && can_fill && next < loop_exit_distance && !is_remat(t)) ||
        (late_[b] != 0 && !is_remat(t))) {
      candidates.push_back({t, next, everywhere});
    }
  }
  unsigned room = capacity(l_.first_position[b] - 1);
  if (is_header) {
    room = std::min(room, header_room(b, candidates.size()));
    std::ranges::stable_sort(candidates, {}, &Incoming::next);
    unsigned through = through_room(b);
    for (const Incoming& c : candidates) {
      const bool passes = c.next >= loop_exit_distance;
      if (set_.size() >= room || (passes && through == 0) || (is_remat(c.temp) && set_.size() + 4 > room)) {
        if (!is_remat(c.temp)) {
          if (!o_.allow_spills) {
            return no(fmt::format("block {}: more values live through the loop than there are registers",
                                  block.label));
          }
          stored_[c.temp] = 1;
        }
        continue;
      }
      through -= passes && !is_remat(c.temp);
      add(c.temp, c.next);
    }
  } else {
    std::ranges::stable_sort(candidates, {}, &Incoming::next);
    for (const Incoming& c : candidates) {
      if (set_.size() < room) {
        add(c.temp, c.next);
      } else if (!is_remat(c.temp)) {
        if (!o_.allow_spills) {
          return no(fmt::format("block {}: too many values live", block.label));
        }
        stored_[c.temp] = 1;
      }
    }
  }
  // What is live but not here has to come from its slot.
  for (const std::uint32_t t : l_.live_in[b]) {
    if (l_.names.is_temp(t) && !in(t) && !is_remat(t)) {
      if (late_[b] != 0) {
        return no(fmt::format("block {}: a value is needed behind the last thread switch", block.label));
      }
      if (!o_.allow_spills) {
        return no("a value is not in a register where it is needed");
      }
      stored_[t] = 1;
    }
  }
  entry_[b] = set_;
  std::ranges::sort(entry_[b]);
  return true;
}

unsigned Planner::header_room(std::uint32_t, std::size_t candidates) const {
  return static_cast<unsigned>(candidates);
}

// How many values may stay in registers through a loop that does not use them.
unsigned Planner::through_room(std::uint32_t header) const {
  unsigned peak = 0, through = 0;
  std::uint32_t last = header;
  for (const std::uint32_t q : p_.blocks[header].preds) {
    last = std::max(last, q);
  }
  for (std::uint32_t b = header; b <= last; ++b) {
    const std::uint32_t first = l_.first_position[b] - 1;
    for (std::uint32_t g = first; g <= first + p_.blocks[b].insts.size(); ++g) {
      peak = std::max(peak, pressure_[g] + fixed_[g]);
    }
  }
  for (std::size_t k = 0; k < l_.live_in[header].size(); ++k) {
    const std::uint32_t t = l_.live_in[header][k];
    through += l_.names.is_temp(t) && !is_remat(t) && next_.at_entry[header][k] >= loop_exit_distance;
  }
  const unsigned used = peak - std::min(peak, through) + 3; // room for uniforms on their way
  if (!o_.allow_spills) {
    return through;
  }
  return o_.registers > used ? o_.registers - used : 0;
}

// Values that must be in registers when the block is left to a block that is entered elsewhere too.
std::vector<std::uint32_t> Planner::wanted_at_exit(std::uint32_t b) const {
  std::vector<std::uint32_t> r;
  if (p_.blocks[b].succs.size() == 2) {
    for (const std::uint32_t s : p_.blocks[b].succs) {
      if (s <= b) {
        r.insert(r.end(), entry_[s].begin(), entry_[s].end());
      }
    }
  }
  return r;
}

// What a successor expects in registers and this block does not leave there.
bool Planner::edges(std::uint32_t b) {
  const Block& block = p_.blocks[b];
  for (const std::uint32_t s : block.succs) {
    for (const std::uint32_t t : entry_[s]) {
      if (std::ranges::binary_search(exit_[b], t) || !std::ranges::binary_search(l_.live_out[b], t)) {
        continue;
      }
      const bool branches = !block.insts.empty() && block.insts.back().is_branch;
      const auto at = static_cast<std::uint32_t>(block.insts.size()) - branches;
      if (block.succs.size() != 1) {
        return no("a value is missing on a critical edge");
      }
      if (is_remat(t)) {
        make_at_end(b, at, t);
        continue;
      }
      if (places_[b][at] == 0 || !o_.allow_spills) {
        return no(fmt::format("block {}: a value cannot be read back at the end", block.label));
      }
      stored_[t] = 1;
      insertions_[b].push_back({Insertion::fill, at, t, at});
    }
  }
  return true;
}

void Planner::make_at_end(std::uint32_t b, std::uint32_t at, std::uint32_t t) {
  const Remat& r = remat_[t];
  const Inst& i = p_.blocks[r.block].insts[r.index];
  for (unsigned s = 0; r.kind == Remat::arithmetic && s < source_count(i.alu); ++s) {
    const Reg& q = i.alu.src[s].reg;
    if (q.kind == Reg::temp && !std::ranges::binary_search(exit_[b], q.index)) {
      make_at_end(b, at, q.index);
    }
  }
  insertions_[b].push_back({Insertion::remat, at, t, at});
}

// Behind the unit of each definition, or where the block ends in a branch at the start of what follows.
bool Planner::stores() {
  for (const Candidate& c : candidates_) {
    if (stored_[c.temp] == 0) {
      continue;
    }
    const Block& block = p_.blocks[c.block];
    const auto count = static_cast<std::uint32_t>(block.insts.size());
    if (c.index < count || !block.insts.back().is_branch) {
      if (places_[c.block][c.index] == 0) {
        return no(fmt::format("block {}: a value cannot be stored", block.label));
      }
      insertions_[c.block].push_back({Insertion::store, c.index, c.temp, c.until});
      continue;
    }
    for (const std::uint32_t s : block.succs) {
      if (!std::ranges::binary_search(l_.live_in[s], c.temp)) {
        continue;
      }
      if (!std::ranges::binary_search(entry_[s], c.temp) || places_[s][0] == 0) {
        return no(fmt::format("block {}: a value cannot be stored behind a branch", block.label));
      }
      insertions_[s].push_back({Insertion::store, 0, c.temp, 0});
    }
  }
  return true;
}

} // namespace lanewise::v3d::spilling
