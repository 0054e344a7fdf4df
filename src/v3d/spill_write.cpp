// Writes what the planner decided into the program.
//
//   store:  mov tmud, v ; ldunif o ; add tmuau, base, o ; ... ; thrsw ; tmuwt
//   fill:   ldunif o ; add tmuau, base, o ; ... ; thrsw ; ldtmu v ; ...
//
// What stands at one place shares the thread switch: stores, then fills. Slots lie in words or in rows
// (spill_slots.hpp):
//   base = tidx * spill_size_per_thread + eidx * (4 or 16) + spill_offset
#include "v3d/spill_plan.hpp"
#include "v3d/spill_slots.hpp"

#include <algorithm>

namespace lanewise::v3d::spilling {

namespace {

// Regular access of one 32-bit word, or of two to four, per quad: helper lanes take part.
std::uint32_t configuration(std::uint32_t width) { return 0xffffff78u | (width == 1 ? 7 : width); }

class Writer {
 public:
  Writer(Program& p, Plan plan, const std::vector<Remat>& remat, const SpillOptions& o, SpillResult& r)
      : p_(p), plan_(std::move(plan)), remat_(remat), o_(o), r_(r), original_(p.blocks) {}

  void run() {
    for (auto& list : plan_.insertions) {
      // At one place: stores free registers, then fills, then what is made again.
      std::ranges::stable_sort(list, [](const Insertion& a, const Insertion& b) {
        return a.index != b.index ? a.index < b.index : a.kind < b.kind;
      });
      const auto same = [](const Insertion& a, const Insertion& b) {
        return a.index == b.index && a.kind == b.kind && a.temp == b.temp && a.kind == Insertion::store;
      };
      list.erase(std::unique(list.begin(), list.end(), same), list.end());
    }
    drop_unread_stores();
    find_slots();
    if (r_.spills + r_.fills != 0) {
      base_ = p_.temp_count++;
    }
    for (std::uint32_t b = 0; b < p_.blocks.size(); ++b) {
      write(b);
    }
    if (base_ != no_index) {
      write_base();
    }
  }

 private:
  // Slots live backwards: a fill reads, a store ends. Also tells, for the sharing of slots, who meets whom.
  void drop_unread_stores() {
    number_.assign(plan_.is_stored.size(), no_index);
    for (std::uint32_t t = 0; t < plan_.is_stored.size(); ++t) {
      if (plan_.is_stored[t] != 0) {
        number_[t] = static_cast<std::uint32_t>(stored_.size());
        stored_.push_back(t);
      }
    }
    const std::size_t n = stored_.size(), count = p_.blocks.size();
    live_in_.assign(count, std::vector<char>(n));
    for (bool changed = n != 0; changed;) {
      changed = false;
      for (std::size_t b = count; b-- > 0;) {
        std::vector<char> live = live_out(b);
        for (auto it = plan_.insertions[b].rbegin(); it != plan_.insertions[b].rend(); ++it) {
          if (it->kind != Insertion::remat) {
            live[number_[it->temp]] = it->kind == Insertion::fill;
          }
        }
        changed = changed || live != live_in_[b];
        live_in_[b] = std::move(live);
      }
    }
    for (std::size_t b = 0; b < count && n != 0; ++b) {
      std::vector<char> live = live_out(b);
      auto& list = plan_.insertions[b];
      std::vector<Insertion> kept;
      for (auto it = list.rbegin(); it != list.rend(); ++it) {
        if (it->kind == Insertion::remat) {
          kept.push_back(*it);
          continue;
        }
        char& l = live[number_[it->temp]];
        if (it->kind == Insertion::fill || l != 0) {
          kept.push_back(*it);
          count_access(b, it->kind);
        }
        l = it->kind == Insertion::fill;
      }
      std::ranges::reverse(kept);
      list = std::move(kept);
    }
  }

  std::vector<char> live_out(std::size_t b) const {
    std::vector<char> live(stored_.size());
    for (const std::uint32_t s : p_.blocks[b].succs) {
      for (std::size_t k = 0; k < live.size(); ++k) {
        live[k] |= live_in_[s][k];
      }
    }
    return live;
  }

  void count_access(std::size_t b, Insertion::Kind kind) {
    (kind == Insertion::store ? r_.spills : r_.fills) += 1;
    r_.weighted += weight_of(b);
  }

  [[nodiscard]] unsigned weight_of(std::size_t b) const {
    unsigned weight = 1;
    for (unsigned d = 0; d < std::min(p_.blocks[b].loop_depth, 6u); ++d) {
      weight *= 10;
    }
    return weight;
  }

  // Who is in a slot while who else is.
  std::vector<std::vector<char>> find_meetings() const {
    const std::size_t n = stored_.size();
    std::vector<std::vector<char>> meets(n, std::vector<char>(n));
    for (std::size_t b = 0; b < p_.blocks.size() && n != 0; ++b) {
      std::vector<char> live = live_out(b);
      const auto all = [&](std::size_t k) {
        for (std::size_t m = 0; m < n; ++m) {
          if (live[m] != 0 && m != k) {
            meets[k][m] = meets[m][k] = 1;
          }
        }
      };
      for (std::size_t k = 0; k < n; ++k) {
        if (live[k] != 0) {
          all(k);
        }
      }
      for (auto it = plan_.insertions[b].rbegin(); it != plan_.insertions[b].rend(); ++it) {
        if (it->kind == Insertion::remat) {
          continue;
        }
        const std::size_t k = number_[it->temp];
        all(k);
        live[k] = it->kind == Insertion::fill;
      }
    }
    return meets;
  }

  void find_slots() {
    std::vector<Together> together;
    for (std::size_t b = 0; b < p_.blocks.size(); ++b) {
      const Insertion* before = nullptr;
      for (const Insertion& i : plan_.insertions[b]) {
        if (i.kind == Insertion::remat) {
          continue;
        }
        if (before == nullptr || before->index != i.index || before->kind != i.kind) {
          together.push_back({{}, weight_of(b), i.kind == Insertion::store});
        }
        together.back().values.push_back(number_[i.temp]);
        before = &i;
      }
    }
    slots_ = assign_slots(find_meetings(), together, p_.threads, o_);
    r_.slots = slots_.count;
  }

  Inst& emit(std::vector<Inst>& out, Role role) {
    Inst& i = out.emplace_back();
    i.role = role;
    i.alu.dst = {Reg::null};
    return i;
  }

  void alu(std::vector<Inst>& out, Role role, Op op, Reg dst, Reg a, Reg b = {}) {
    Inst& i = emit(out, role);
    i.alu.op = op;
    i.alu.dst = dst;
    i.alu.src[0].reg = a;
    i.alu.src[1].reg = b;
  }

  Reg uniform(std::vector<Inst>& out, Role role, std::uint32_t u) {
    Inst& i = emit(out, role);
    i.sigs = sig::ldunif;
    i.sig_dst = temp(p_.temp_count++);
    i.uniform = u;
    return i.sig_dst;
  }

  void address(std::vector<Inst>& out, Role role, std::uint32_t slot, std::uint32_t width) {
    const Reg o = uniform(out, role, intern_literal(p_, slot_offset(slot, slots_.rows)));
    alu(out, role, Op::add, peripheral(magic::tmuau), temp(base_), o);
    out.back().uniform = intern_literal(p_, configuration(width));
    out.back().origin = slot;
    r_.vectors += width > 1;
  }

  void thread_switch(std::vector<Inst>& out, Role role) {
    emit(out, role).sigs = sig::thrsw;
    ++r_.switches;
  }

  // By number, cut into accesses.
  std::vector<Access> accesses(std::vector<std::uint32_t>& values, bool is_store) const {
    return by_access(values, slots_, widest_access(p_.threads, is_store));
  }

  void write_group(std::vector<Inst>& out, std::vector<std::uint32_t> stores,
                   std::vector<std::uint32_t> fills) {
    for (const Access& a : accesses(stores, true)) {
      for (std::uint32_t k = a.first; k < a.first + a.width; ++k) {
        alu(out, Role::store, Op::mov, peripheral(magic::tmud), temp(stored_[stores[k]]));
      }
      address(out, Role::store, slots_.slot[stores[a.first]], a.width);
    }
    for (const Access& a : accesses(fills, false)) {
      address(out, Role::fill, slots_.slot[fills[a.first]], a.width);
    }
    thread_switch(out, stores.empty() ? Role::fill : Role::store);
    for (const std::uint32_t v : fills) {
      Inst& i = emit(out, Role::fill);
      i.sigs = sig::ldtmu;
      i.sig_dst = temp(stored_[v]);
      i.origin = slots_.slot[v];
    }
    if (!stores.empty()) {
      alu(out, Role::store, Op::tmuwt, {Reg::null}, {});
    }
  }

  void write(std::uint32_t b) {
    const auto& list = plan_.insertions[b];
    if (list.empty()) {
      return;
    }
    const auto& old = original_[b].insts;
    std::vector<Inst> out;
    std::size_t k = 0;
    const auto take = [&](std::uint32_t index, Insertion::Kind kind, std::size_t room) {
      std::vector<std::uint32_t> values;
      while (values.size() < room && k < list.size() && list[k].index == index && list[k].kind == kind) {
        values.push_back(number_[list[k++].temp]);
      }
      return values;
    };
    for (std::uint32_t n = 0; n <= old.size(); ++n) {
      while (k < list.size() && list[k].index == n && list[k].kind != Insertion::remat) {
        const std::size_t most = o_.batch ? most_together(p_.threads) : 1;
        auto stores = take(n, Insertion::store, most);
        auto fills = take(n, Insertion::fill, most - stores.size());
        write_group(out, std::move(stores), std::move(fills));
      }
      for (; k < list.size() && list[k].index == n; ++k) {
        const Remat& r = remat_[list[k].temp];
        out.push_back(original_[r.block].insts[r.index]);
        out.back().role = Role::remat;
        ++r_.remats;
      }
      if (n < old.size()) {
        out.push_back(old[n]);
      }
    }
    p_.blocks[b].insts = std::move(out);
  }

  void write_base() {
    std::vector<Inst> out;
    constexpr Role role = Role::spill_base;
    const auto fresh = [&] { return temp(p_.temp_count++); };
    const Reg thread = fresh(), lane = fresh(), product = fresh(), bytes = fresh(), sum = fresh();
    alu(out, role, Op::tidx, thread, {});
    const Reg size = uniform(out, role, intern_uniform(p_, "spill_size_per_thread"));
    alu(out, role, Op::multop, {Reg::null}, thread, size);
    alu(out, role, Op::umul24, product, thread, size);
    alu(out, role, Op::eidx, lane, {});
    alu(out, role, Op::shl, bytes, lane, {Reg::imm, slots_.rows ? 4u : 2u});
    alu(out, role, Op::add, sum, product, bytes);
    const Reg offset = uniform(out, role, intern_uniform(p_, "spill_offset"));
    alu(out, role, Op::add, temp(base_), sum, offset);
    auto& first = p_.blocks[0].insts;
    first.insert(first.begin(), out.begin(), out.end());
  }

  Program& p_;
  Plan plan_;
  const std::vector<Remat>& remat_;
  const SpillOptions& o_;
  SpillResult& r_;
  std::vector<Block> original_;
  std::vector<std::uint32_t> number_, stored_;
  SlotPlan slots_;
  std::vector<std::vector<char>> live_in_;
  std::uint32_t base_ = no_index;
};

} // namespace

void write_plan(Program& p, Plan plan, const std::vector<Remat>& remat, const SpillOptions& options,
                SpillResult& result) {
  Writer(p, std::move(plan), remat, options, result).run();
}

} // namespace lanewise::v3d::spilling
