#include "v3d/compile.hpp"

#include "v3d/checker.hpp"
#include "v3d/simulate.hpp"

#include <fmt/format.h>

#include <ctime>
#include <span>

namespace lanewise::v3d {

namespace {

std::unexpected<Error> in_shader(const Shader& s, Error e) {
  e.where = fmt::format("{} {}{}{}", s.program, text(s.stage), e.where.empty() ? "" : ": ", e.where);
  return std::unexpected(std::move(e));
}

Expected<std::vector<Program>> read(const Shader& s) {
  std::vector<Program> programs;
  for (const Listing& l : s.listings) {
    auto p = parse_vir(l.vir, s.gpu, s.stage, l.threads);
    if (!p) {
      return std::unexpected(p.error());
    }
    programs.push_back(std::move(*p));
  }
  return programs;
}

// Of this thread: other work on the machine does not count.
double processor_milliseconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

// How often an allocation may be coloured and scheduled: instructions in all, at most.
constexpr std::size_t color_budget = 5000;

// Allocations without spills that are scheduled, of which the shortest is taken.
constexpr std::size_t most_allocations = 8;

// Registers chosen in one way or another leave the scheduler more or less room.
struct Variant {
  bool longest_free, longest_free_accumulator;
  unsigned short_range;
};
constexpr Variant variants_42[] = {{true, true, 20}, {true, false, 12}, {false, false, 20}, {true, true, 12}};
constexpr Variant variants_71[] = {{false, false, 20}, {true, true, 20}};

unsigned cycles(const QpuProgram& q) { return measure(q).inst_and_stalls; }

// The words of the allocation, and of the colouring, that take the fewest cycles.
Expected<QpuProgram> shortest(std::vector<Allocation>& several, ColorOptions options, Allocation& chosen) {
  auto best = schedule(several.front().program);
  if (!best) {
    return best;
  }
  std::size_t from = 0, left = color_budget;
  for (std::size_t k = 1; k < several.size(); ++k) {
    auto q = schedule(several[k].program);
    if (q && cycles(*q) < cycles(*best)) {
      best = std::move(q);
      from = k;
    }
  }
  chosen = std::move(several[from]);
  const bool is_42 = chosen.program.gpu == Gpu::v42;
  const std::size_t each = size(chosen.program);
  options.registers = chosen.threads == 4 ? 32 : 64;
  for (const Variant& v :
       is_42 ? std::span<const Variant>(variants_42) : std::span<const Variant>(variants_71)) {
    if (left < each) {
      break;
    }
    left -= each;
    options.longest_free = v.longest_free;
    options.longest_free_accumulator = v.longest_free_accumulator;
    options.short_range = v.short_range;
    const ColorResult colors = color(chosen.before, options);
    if (!colors.ok) {
      continue;
    }
    Program p = chosen.before;
    apply_colors(p, colors);
    auto q = schedule(p);
    if (q && cycles(*q) < cycles(*best)) {
      best = std::move(q);
      chosen.program = std::move(p);
      chosen.copies_removed = colors.copies_removed;
    }
  }
  return best;
}

} // namespace

Expected<Compiled> compile(const Shader& shader, const AllocateOptions& options) {
  const double start = processor_milliseconds();
  const auto programs = read(shader);
  if (!programs) {
    return in_shader(shader, programs.error());
  }
  auto several = allocate_several(*programs, options, most_allocations);
  if (!several) {
    return in_shader(shader, several.error());
  }
  Compiled c;
  auto q = shortest(*several, options.color, c.allocation);
  if (!q) {
    return in_shader(shader, q.error());
  }
  c.code = std::move(*q);
  c.milliseconds = processor_milliseconds() - start;
  c.figures = measure(c.code);
  c.figures.max_temps = c.allocation.max_temps;
  c.figures.spills = c.allocation.spills.spills;
  c.figures.fills = c.allocation.spills.fills;
  c.figures.weighted = c.allocation.spills.weighted;
  return c;
}

Expected<void> verify(const Shader& shader, const Compiled& c, unsigned seeds) {
  const auto bad = [&](std::string what) {
    return in_shader(shader, Error{ErrorKind::check, std::move(what), {}, {}});
  };
  const auto listing = parse_vir(shader.listings[c.allocation.listing].vir, shader.gpu, shader.stage, 4);
  if (!listing) {
    return in_shader(shader, listing.error());
  }
  for (const auto& r :
       {check_allocation(*listing, c.allocation.program), check_words(*listing, c.code), validate(c.code)}) {
    if (!r) {
      return in_shader(shader, r.error());
    }
  }
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    RunOptions o;
    o.seed = seed;
    o.max_branches = 24;
    const auto reference = interpret(*listing, o);
    if (!reference) {
      return in_shader(shader, reference.error());
    }
    o.follow = &reference->unsure;
    const auto allocated = interpret(c.allocation.program, o);
    const auto words = simulate(c.code, o);
    if (!allocated || !words) {
      return in_shader(shader, allocated ? words.error() : allocated.error());
    }
    if (const auto d = compare(*reference, *allocated); !d.empty()) {
      return bad("allocation changed the meaning: " + d);
    }
    if (const auto d = compare(*reference, *words); !d.empty()) {
      return bad("scheduling changed the meaning: " + d);
    }
    if (words->max_outstanding > 16 / c.allocation.threads) {
      return bad("more TMU results than the output FIFO holds");
    }
  }
  return {};
}

} // namespace lanewise::v3d
