#include "v3d/allocate.hpp"

#include "v3d/compact.hpp"
#include "v3d/tighten.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lanewise::v3d {

namespace {

constexpr std::string_view order_names[] = {"given",        "late",          "depth",
                                            "bundles late", "bundles depth", "late loads"};

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

class Allocator {
 public:
  Allocator(const std::vector<Program>& listings, const AllocateOptions& o) : listings_(listings), o_(o) {}

  Expected<Allocation> run() {
    for (const unsigned threads : {4u, 2u}) {
      if (o_.threads == 0 || o_.threads == threads) {
        if (auto r = without_spills(threads)) {
          return std::move(*r);
        }
      }
    }
    for (const unsigned threads : {2u, 4u}) {
      if (o_.threads == 0 || o_.threads == threads) {
        if (auto r = with_spills(threads)) {
          return std::move(*r);
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
    Program program;
    unsigned registers = 0;
    SpillResult spills;
  };

  [[nodiscard]] unsigned file(unsigned threads) const { return threads == 4 ? 32 : 64; }

  // Numbers of values that may be live at once, most first: 4.2's accumulators hold some of them.
  [[nodiscard]] std::vector<unsigned> limits(const Program& p, unsigned threads) const {
    const unsigned n = file(threads);
    if (p.gpu == Gpu::v42 && o_.color.accumulators) {
      return {n + 4, n + 2, n + 1, n, n - 1, n - 2, n - 4};
    }
    return {n, n - 1, n - 2, n - 4};
  }

  const Prepared& prepared(std::size_t n, bool keep_last_switch) {
    auto& cache = keep_last_switch ? with_switch_ : without_switch_;
    cache.resize(listings_.size());
    if (!cache[n]) {
      Prepared r{listings_[n], {}};
      if (!keep_last_switch) {
        drop_needless_switch(r.program);
      }
      split_webs(r.program);
      tighten_flags(r.program);
      const auto remat = find_rematerialisable(r.program, o_.spill.remat_arithmetic);
      for (const Remat& m : remat) {
        r.free.push_back(static_cast<char>(o_.spill.rematerialise && m.kind != Remat::none));
      }
      cache[n] = std::move(r);
    }
    return *cache[n];
  }

  [[nodiscard]] std::vector<Order> orders() const {
    if (!o_.reorder) {
      return {Order::given};
    }
    return {Order::given,      Order::late,         Order::depth,
            Order::late_loads, Order::bundles_late, Order::bundles_depth};
  }

  std::optional<Allocation> without_spills(unsigned threads) {
    for (const Order order : orders()) {
      for (std::size_t n = 0; n < listings_.size(); ++n) {
        const Prepared& ready = prepared(n, false);
        Choice c{n, order, false, ready.program, 0, {}};
        c.program.threads = threads;
        reorder(c.program, order, file(threads), ready.free);
        if (!fits_fifo(c.program, threads)) {
          why_ = "TMU results would overflow the FIFO";
          continue;
        }
        const auto sizes = limits(c.program, threads);
        if (least_pressure(c.program, ready.free) > sizes.front()) {
          why_ = "more values are live at once than there are registers";
          continue;
        }
        for (const unsigned registers : sizes) {
          Choice trial = c;
          SpillOptions s = o_.spill;
          s.allow_spills = false;
          s.registers = registers;
          trial.spills = plan_spills(trial.program, s);
          if (!trial.spills.fits) {
            why_ = trial.spills.why;
            break;
          }
          trial.registers = registers;
          if (auto r = finish(trial, threads)) {
            return r;
          }
        }
      }
    }
    return std::nullopt;
  }

  std::optional<Allocation> with_spills(unsigned threads) {
    std::vector<Choice> choices;
    for (const Order order : orders()) {
      for (std::size_t n = 0; n < listings_.size(); ++n) {
        for (const bool compact : {false, true}) {
          Choice c{n, order, compact, {}, 0, {}};
          c.registers = limits(listings_[n], threads)[listings_[n].gpu == Gpu::v42 ? 1 : 0];
          if (plan(c, threads)) {
            choices.push_back(std::move(c));
          }
        }
      }
    }
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
    const Prepared& ready = prepared(c.listing, true);
    c.program = ready.program;
    c.program.threads = threads;
    reorder(c.program, c.order, file(threads), ready.free);
    if (c.compact) {
      compact_tmu(c.program);
    }
    if (!fits_fifo(c.program, threads)) {
      why_ = "TMU results would overflow the FIFO";
      return false;
    }
    SpillOptions s = o_.spill;
    s.registers = c.registers;
    c.spills = plan_spills(c.program, s);
    if (!c.spills.fits) {
      why_ = c.spills.why;
    }
    return c.spills.fits;
  }

  static unsigned cost(const SpillResult& s) { return s.weighted * 16 + s.remats; }

  std::optional<Allocation> finish(const Choice& c, unsigned threads) {
    Allocation a;
    a.program = c.program;
    split_webs(a.program);
    ColorOptions options = o_.color;
    options.registers = file(threads);
    auto colors = color(a.program, options);
    if (!colors.ok) {
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
    a.strategy =
        fmt::format("{}{}", order_names[static_cast<std::size_t>(c.order)], c.compact ? ", compact" : "");
    return a;
  }

  const std::vector<Program>& listings_;
  const AllocateOptions& o_;
  std::vector<std::optional<Prepared>> with_switch_, without_switch_;
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
    {"rf0", [](AllocateOptions& o) { o.color.prefer_implicit = false; }},
    {"reorder", [](AllocateOptions& o) { o.reorder = false; }},
    {"batch", [](AllocateOptions& o) { o.spill.batch = false; }},
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
  if (listings.empty()) {
    return fail(ErrorKind::call, "no listing to allocate");
  }
  return Allocator(listings, options).run();
}

} // namespace lanewise::v3d
