#include "v3d/allocate.hpp"

#include "v3d/compact.hpp"
#include "v3d/tighten.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>

namespace lanewise::v3d {

namespace {

// Every order but `mixed` looks at a program once; `mixed` takes what they found.
constexpr Order all_orders[] = {Order::given,         Order::late,    Order::depth,      Order::bundles_late,
                                Order::bundles_depth, Order::forward, Order::late_loads, Order::mixed};

// How much work a shader is worth: instructions put in another order, and plans with spills. A shader that
// exceeds it is looked at in its first and last listing only.
constexpr std::size_t reorder_budget = 64000, plan_budget = 10000, fewest_plans = 3, most_plans = 5;

// Values beyond the register file from which on no order is likely to fit: as given, and after the first
// orders. (Of both collections' shaders that fit, the furthest were 22 and 11.)
constexpr unsigned hopeless_given = 28, hopeless_reordered = 14;

// Words in the TMU's output FIFO, and writes of one operation, at most: 16 for all threads together.
bool fits_fifo(const Program& p, unsigned threads) {
  const unsigned most = 16 / threads;
  for (const Block& b : p.blocks) {
    unsigned outstanding = 0, writes = 0, returned = 0;
    for (const Inst& i : b.insts) {
      if ((i.sigs & sig::wrtmuc) != 0 && returned == 0) {
        returned = static_cast<unsigned>(std::popcount(p.uniforms[i.uniform].returned));
      }
      if (i.alu.dst.kind == Reg::magic && is_tmu_write(static_cast<std::uint8_t>(i.alu.dst.index))) {
        ++writes;
        if (writes > most) {
          return false;
        }
        if (is_tmu_trigger(static_cast<std::uint8_t>(i.alu.dst.index))) {
          outstanding += returned;
          writes = returned = 0;
        }
      }
      if ((i.sigs & sig::ldtmu) != 0 && outstanding > 0) {
        --outstanding;
      }
      if (outstanding > most) {
        return false;
      }
    }
  }
  return true;
}

// The most values that must be in registers at one point: those that cannot be made again, and fixed
// registers.
unsigned least_pressure(const Program& p, const std::vector<char>& free) {
  const Liveness l = analyse_liveness(p);
  auto segments = live_segments(p, l);
  for (std::uint32_t t = 0; t < p.temp_count; ++t) {
    if (free[t] != 0) {
      segments[t].clear();
    }
  }
  for (std::uint32_t r = 0; r < 6; ++r) {
    segments[l.names.of(acc(r))].clear();
  }
  const auto p_at = pressure(l, segments);
  return *std::ranges::max_element(p_at);
}

// Instructions that making a value again may take, where the alternative is a store and a fill, and
// otherwise.
constexpr unsigned most_remat_cost = 20, few_remat_cost = 5;

// Instructions of several allocations of one shader, beyond which no more are made.
constexpr std::size_t several_budget = 5000;

class Allocator {
 public:
  Allocator(const std::vector<Program>& listings, const AllocateOptions& o, std::size_t most)
      : listings_(listings), o_(o), most_(most) {}

  Expected<std::vector<Allocation>> run() {
    for (const unsigned threads : {4u, 2u}) {
      if (o_.threads == 0 || o_.threads == threads) {
        if (auto r = without_spills(threads); !r.empty()) {
          return r;
        }
      }
    }
    for (const unsigned threads : {2u, 4u}) {
      if (o_.threads == 0 || o_.threads == threads) {
        if (auto r = with_spills(threads)) {
          std::vector<Allocation> one;
          one.push_back(std::move(*r));
          return one;
        }
      }
    }
    return fail(ErrorKind::unsupported, "no listing can be allocated: " + why_, {},
                "give a listing whose TMU sequences overlap less");
  }

 private:
  // A listing made ready once: webs apart, flags close to their branches, what is free to make again.
  struct Prepared {
    Program program;
    std::vector<char> free;
  };

  struct Choice {
    std::size_t listing = 0;
    Order order = Order::given;
    bool compact = false;
    std::uint64_t excess = 0;
    Program program; ///< before the plan, then with it
    std::shared_ptr<SpillPlanner> planner;
    unsigned registers = 0;
    SpillResult spills;
    unsigned max_remat_cost = most_remat_cost;
    bool with_spills = false, loose = false;
  };

  // What is tried in turn until something can be planned: TMU operations brought together where they overlap
  // too much, and fewer values made again where their operands take the room that they should give.
  struct Attempt {
    bool compact;
    unsigned max_remat_cost;
    bool loose; ///< colouring has to see whether what lives across a thread switch finds registers
  };
  static constexpr Attempt attempts[] = {{false, most_remat_cost, false},
                                         {false, most_remat_cost, true},
                                         {true, most_remat_cost, false},
                                         {true, most_remat_cost, true},
                                         {false, few_remat_cost, true},
                                         {true, few_remat_cost, true},
                                         {false, 1, true},
                                         {true, 1, true}};

  [[nodiscard]] unsigned file(unsigned threads) const { return threads == 4 ? 32 : 64; }

  // Numbers of values that may be live at once, most first: 4.2's accumulators hold some of them.
  [[nodiscard]] std::vector<unsigned> limits(const Program& p, unsigned threads) const {
    const unsigned n = file(threads);
    if (p.gpu == Gpu::v42 && o_.color.accumulators) {
      return {n + 5, n + 4, n + 2, n + 1, n, n - 1, n - 2, n - 4};
    }
    return {n, n - 1, n - 2, n - 4};
  }

  // Without spills only what is made again in a few instructions counts as free: more would cost more words
  // than the threads are worth. With spills almost anything is cheaper than a store and a fill.
  [[nodiscard]] SpillOptions spill_options(bool allow_spills) const {
    SpillOptions s = o_.spill;
    s.allow_spills = allow_spills;
    s.max_remat_cost = allow_spills ? most_remat_cost : few_remat_cost;
    return s;
  }

  const Prepared& prepared(std::size_t n, bool with_spills) {
    auto& cache = with_spills ? spilling_ : fitting_;
    cache.resize(listings_.size());
    if (!cache[n]) {
      Prepared r{listings_[n], {}};
      if (!with_spills) {
        drop_needless_switch(r.program);
      }
      split_webs(r.program);
      tighten_flags(r.program);
      for (const Remat& m : find_rematerialisable(r.program, spill_options(with_spills))) {
        r.free.push_back(static_cast<char>(m.kind != Remat::none));
      }
      cache[n] = std::move(r);
    }
    return *cache[n];
  }

  [[nodiscard]] std::vector<Order> orders() const {
    std::vector<Order> r;
    for (const Order o : all_orders) {
      const bool of_bundles = o == Order::bundles_late || o == Order::bundles_depth || o == Order::forward;
      if (o == Order::given || (o_.reorder && (o_.bundles || !of_bundles))) {
        r.push_back(o);
      }
    }
    return r;
  }

  std::vector<Allocation> without_spills(unsigned threads) {
    std::vector<Allocation> found;
    std::vector<std::unique_ptr<Reorderer>> reorderers(listings_.size());
    std::vector<unsigned> least(listings_.size(), ~0u);
    unsigned limit = ~0u;
    for (const Order order : orders()) {
      for (std::size_t n = 0; n < listings_.size(); ++n) {
        if (order != Order::given && least[n] > limit) {
          continue;
        }
        const Prepared& ready = prepared(n, false);
        if (!reorderers[n]) {
          reorderers[n] = std::make_unique<Reorderer>(ready.program, file(threads), ready.free);
        }
        Reordered made = reorderers[n]->run(order);
        least[n] = std::min(least[n], made.peak);
        if (auto r = fit(std::move(made), n, order, threads)) {
          found.push_back(std::move(*r));
          if (found.size() >= most_ || found.size() * size(ready.program) > several_budget) {
            return found;
          }
        }
      }
      if (order == Order::given && !found.empty()) {
        return found;
      }
      if (order == Order::given || order == Order::depth) {
        limit = file(threads) + (order == Order::given ? hopeless_given : hopeless_reordered);
      }
    }
    if (*std::ranges::min_element(least) > limit) {
      why_ = "more values are live at once than there are registers";
    }
    return found;
  }

  std::optional<Allocation> fit(Reordered made, std::size_t n, Order order, unsigned threads) {
    made.program.threads = threads;
    const auto sizes = limits(made.program, threads);
    if (made.peak > sizes.front() + 2 ||
        least_pressure(made.program, prepared(n, false).free) > sizes.front()) {
      why_ = "more values are live at once than there are registers";
      return std::nullopt;
    }
    if (!fits_fifo(made.program, threads)) {
      why_ = "TMU results would overflow the FIFO";
      return std::nullopt;
    }
    SpillOptions s = spill_options(false);
    s.file = file(threads);
    SpillPlanner planner(made.program, s);
    for (const unsigned registers : sizes) {
      Choice trial{n, order, false, 0, {}, nullptr, registers, {}};
      trial.spills = planner.plan(registers, trial.program);
      if (!trial.spills.fits) {
        why_ = trial.spills.why;
        break;
      }
      if (auto r = finish(trial, threads)) {
        return r;
      }
    }
    return std::nullopt;
  }

  // The most promising orders are planned, and the cheapest plan that colours is taken.
  std::optional<Allocation> with_spills(unsigned threads) {
    std::vector<Choice> ranking = ranked(threads);
    const std::size_t plans =
        std::clamp(plan_budget / (size(listings_.front()) + 1), fewest_plans, most_plans);
    for (const Attempt& attempt : attempts) {
      // Those that are most likely to do well; if none of them colours, the next.
      for (auto next = ranking.begin(); next != ranking.end();) {
        std::vector<Choice> choices;
        for (; next != ranking.end() && choices.size() < plans; ++next) {
          Choice c = *next;
          c.compact = attempt.compact;
          c.max_remat_cost = attempt.max_remat_cost;
          c.loose = attempt.loose;
          c.with_spills = true;
          if (plan(c, threads)) {
            choices.push_back(std::move(c));
          }
        }
        if (auto r = cheapest(choices, threads)) {
          return r;
        }
      }
    }
    return std::nullopt;
  }

  // With the last thread switch, in front of which spills may stand.
  std::vector<Choice> ranked(unsigned threads) {
    std::vector<Choice> ranking;
    std::size_t total = 0;
    for (const Program& p : listings_) {
      total += size(p) * orders().size();
    }
    for (std::size_t n = 0; n < listings_.size(); ++n) {
      if (total > reorder_budget && n != 0 && n + 1 != listings_.size()) {
        continue;
      }
      const Prepared& ready = prepared(n, true);
      Reorderer reorderer(ready.program, file(threads), ready.free);
      for (const Order order : orders()) {
        Reordered made = reorderer.run(order);
        made.program.threads = threads;
        const unsigned registers = limits(made.program, threads).front();
        ranking.push_back({n, order, false, made.excess, std::move(made.program), nullptr, registers, {}});
      }
    }
    std::ranges::stable_sort(ranking, {}, &Choice::excess);
    return ranking;
  }

  std::optional<Allocation> cheapest(std::vector<Choice>& choices, unsigned threads) {
    while (!choices.empty()) {
      const auto best = std::ranges::min_element(choices, {}, [](const Choice& c) { return cost(c.spills); });
      if (auto r = finish(*best, threads)) {
        return r;
      }
      // Fewer values at once, until they find registers.
      if (best->registers <= file(threads) / 2 || (--best->registers, !plan(*best, threads))) {
        choices.erase(best);
      }
    }
    return std::nullopt;
  }

  bool plan(Choice& c, unsigned threads) {
    if (!c.planner) {
      if (c.compact) {
        compact_tmu(c.program);
      }
      if (!fits_fifo(c.program, threads)) {
        why_ = "TMU results would overflow the FIFO";
        return false;
      }
      SpillOptions s = spill_options(true);
      s.max_remat_cost = c.max_remat_cost;
      s.file = c.loose ? c.registers : file(threads);
      c.planner = std::make_shared<SpillPlanner>(c.program, s);
    }
    c.spills = c.planner->plan(c.registers, c.program);
    if (!c.spills.fits) {
      why_ = c.spills.why;
    }
    return c.spills.fits;
  }

  // A store or fill waits for the memory unit behind a thread switch; making a value again is a word or less.
  static unsigned cost(const SpillResult& s) { return s.weighted * 48 + s.remats; }

  std::optional<Allocation> finish(const Choice& c, unsigned threads) {
    Allocation a;
    a.program = c.program;
    split_webs(a.program);
    ColorOptions options = o_.color;
    options.registers = file(threads);
    auto colors = color(a.program, options);
    if (!colors.ok && (!c.with_spills || c.loose || c.registers <= file(threads))) {
      options.coalesce = false;
      colors = color(a.program, options);
    }
    if (!colors.ok) {
      why_ = fmt::format("no register for a value although at most {} are live", c.registers);
      return std::nullopt;
    }
    const Liveness l = analyse_liveness(a.program);
    const auto p = pressure(l, live_segments(a.program, l));
    a.max_temps = *std::ranges::max_element(p);
    a.before = a.program;
    apply_colors(a.program, colors);
    a.threads = threads;
    a.listing = c.listing;
    a.spills = c.spills;
    a.copies_removed = colors.copies_removed;
    a.strategy = fmt::format("{}{}", text(c.order), c.compact ? ", compact" : "");
    return a;
  }

  const std::vector<Program>& listings_;
  const AllocateOptions& o_;
  std::size_t most_;
  std::vector<std::optional<Prepared>> spilling_, fitting_;
  std::string why_;
};

} // namespace

namespace {

struct Feature {
  std::string_view name;
  void (*off)(AllocateOptions&);
};

constexpr Feature features[] = {
    {"remat", [](AllocateOptions& o) { o.spill.rematerialise = false; }},
    {"arithmetic-remat", [](AllocateOptions& o) { o.spill.remat_arithmetic = false; }},
    {"coalesce", [](AllocateOptions& o) { o.color.coalesce = false; }},
    {"accumulators", [](AllocateOptions& o) { o.color.accumulators = false; }},
    {"bundles", [](AllocateOptions& o) { o.bundles = false; }},
    {"reorder", [](AllocateOptions& o) { o.reorder = false; }},
    {"batch", [](AllocateOptions& o) { o.spill.batch = false; }},
    {"vectors", [](AllocateOptions& o) { o.spill.vectors = false; }},
    {"share-slots", [](AllocateOptions& o) { o.spill.share_slots = false; }},
    {"stored-bias", [](AllocateOptions& o) { o.spill.stored_bias = 1; }},
};

} // namespace

bool switch_off(AllocateOptions& o, std::string_view feature) {
  for (const Feature& f : features) {
    if (f.name == feature) {
      f.off(o);
      return true;
    }
  }
  return false;
}

std::string feature_names() {
  std::string s;
  for (const Feature& f : features) {
    s += fmt::format("{}{}", s.empty() ? "" : ", ", f.name);
  }
  return s;
}

Expected<Allocation> allocate(const std::vector<Program>& listings, const AllocateOptions& options) {
  auto r = allocate_several(listings, options, 1);
  if (!r) {
    return std::unexpected(r.error());
  }
  return std::move(r->front());
}

Expected<std::vector<Allocation>> allocate_several(const std::vector<Program>& listings,
                                                   const AllocateOptions& options, std::size_t most) {
  if (listings.empty()) {
    return fail(ErrorKind::call, "no listing to allocate");
  }
  return Allocator(listings, options, most).run();
}

} // namespace lanewise::v3d
