#include "v3d/allocate.hpp"

#include "v3d/tighten.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lanewise::v3d {

namespace {

constexpr std::string_view order_names[] = {"given", "late", "depth", "late loads"};

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

class Allocator {
public:
  Allocator(const std::vector<Program>& listings, const AllocateOptions& o) : listings_(listings), o_(o) {}

  Expected<Allocation> run() {
    for (const unsigned threads : {4u, 2u}) {
      if (o_.threads != 0 && o_.threads != threads) {
        continue;
      }
      if (auto r = without_spills(threads)) {
        return std::move(*r);
      }
    }
    for (const unsigned threads : {2u, 4u}) {
      if (o_.threads != 0 && o_.threads != threads) {
        continue;
      }
      if (auto r = with_spills(threads)) {
        return std::move(*r);
      }
    }
    return fail(ErrorKind::unsupported, "no listing can be allocated: " + why_, {},
                "give a listing whose TMU sequences overlap less");
  }

private:
  [[nodiscard]] unsigned file(unsigned threads) const { return threads == 4 ? 32 : 64; }

  // Numbers of values that may be live at once, most first: 4.2's accumulators hold some of them.
  [[nodiscard]] std::vector<unsigned> limits(const Program& p, unsigned threads) const {
    const unsigned n = file(threads);
    if (p.gpu == Gpu::v42 && o_.color.accumulators) {
      return {n + 4, n + 2, n + 1, n, n - 1, n - 2, n - 4};
    }
    return {n, n - 1, n - 2, n - 4};
  }

  std::optional<Allocation> without_spills(unsigned threads) {
    for (const Order order : orders()) {
      for (std::size_t n = 0; n < listings_.size(); ++n) {
        if (!fits_fifo(listings_[n], threads)) {
          why_ = "TMU results would overflow the FIFO";
          continue;
        }
        SpillOptions s = o_.spill;
        s.allow_spills = false;
        if (auto r = attempt(n, threads, order, s)) {
          return r;
        }
      }
    }
    return std::nullopt;
  }

  std::optional<Allocation> with_spills(unsigned threads) {
    std::optional<Allocation> best;
    for (const Order order : orders()) {
      for (std::size_t n = 0; n < listings_.size(); ++n) {
        if (!fits_fifo(listings_[n], threads)) {
          continue;
        }
        auto r = attempt(n, threads, order, o_.spill);
        if (r && (!best || cost(*r) < cost(*best))) {
          best = std::move(r);
        }
      }
    }
    return best;
  }

  static unsigned cost(const Allocation& a) { return a.spills.weighted * 16 + a.spills.remats; }

  [[nodiscard]] std::vector<Order> orders() const {
    if (!o_.reorder) {
      return {Order::given};
    }
    return {Order::given, Order::late, Order::depth, Order::late_loads};
  }

  std::optional<Allocation> attempt(std::size_t n, unsigned threads, Order order, const SpillOptions& spill) {
    Program base = listings_[n];
    base.threads = threads;
    if (!spill.allow_spills) {
      drop_needless_switch(base);
    }
    split_webs(base);
    tighten_flags(base);
    std::vector<char> free(base.temp_count);
    const auto remat = find_rematerialisable(base, spill.remat_arithmetic);
    for (std::size_t t = 0; t < free.size(); ++t) {
      free[t] = spill.rematerialise && remat[t].kind != Remat::none;
    }
    reorder(base, order, file(threads), free);
    for (const unsigned registers : limits(base, threads)) {
      Allocation a;
      a.program = base;
      SpillOptions s = spill;
      s.registers = registers;
      a.spills = plan_spills(a.program, s);
      if (!a.spills.fits) {
        why_ = a.spills.why;
        return std::nullopt;
      }
      split_webs(a.program);
      ColorOptions c = o_.color;
      c.registers = file(threads);
      auto colors = color(a.program, c);
      if (!colors.ok) {
        c.coalesce = false;
        colors = color(a.program, c);
      }
      if (!colors.ok) {
        why_ = fmt::format("no register for a value although at most {} are live", registers);
        continue;
      }
      const Liveness l = analyse_liveness(a.program);
      const auto p = pressure(l, live_segments(a.program, l));
      a.max_temps = *std::ranges::max_element(p);
      a.before = a.program;
      apply_colors(a.program, colors);
      a.threads = threads;
      a.listing = n;
      a.copies_removed = colors.copies_removed;
      a.strategy = order_names[static_cast<std::size_t>(order)];
      return a;
    }
    return std::nullopt;
  }

  const std::vector<Program>& listings_;
  const AllocateOptions& o_;
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
