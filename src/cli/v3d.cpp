// lanewise v3d: QPU words as text and back, and the register allocator on VIR listings.
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "v3d/compile.hpp"
#include "v3d/data_file.hpp"
#include "v3d/draw.hpp"
#include "v3d/pack.hpp"

#include <charconv>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

namespace lanewise::cli {
namespace {

using v3d::Gpu;

int exit_status(const Error& e) {
  switch (e.kind) {
  case ErrorKind::call: return 2;
  case ErrorKind::check: return 3;
  default: return 1;
  }
}

int report(const Error& e) {
  fmt::print(stderr, "lanewise v3d: {}\n", e.to_string());
  return exit_status(e);
}

struct Common {
  std::vector<std::string> files;
  std::string gpu = "71";
  [[nodiscard]] Gpu generation() const { return gpu == "42" ? Gpu::v42 : Gpu::v71; }
};

void add_common(Command& command, Common& c) {
  command.list("files", c.files, "Files; - is standard input").required();
  command.text("--gpu", c.gpu, "Generation").one_of({"42", "71"}).show_default();
}

template <class F>
int each_line(const Common& c, F&& f) {
  for (const std::string& path : c.files) {
    const auto text = v3d::read_text_file(path);
    if (!text) {
      return report(text.error());
    }
    std::size_t number = 0;
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t end = std::min(text->find('\n', at), text->size());
      const std::string_view line(text->data() + at, end - at);
      at = end + 1;
      ++number;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
        continue;
      }
      if (auto r = f(line); !r) {
        Error e = r.error();
        e.where = fmt::format("{}, line {}: {}", path, number, e.where);
        return report(e);
      }
    }
  }
  return 0;
}

/// "0x3818..." alone or with text behind it.
Expected<void> disassemble(Gpu gpu, std::string_view line) {
  const auto first = line.find_first_not_of(" \t");
  std::string_view word = line.substr(first, line.find_first_of(" \t\r", first) - first);
  const std::string_view shown = word;
  if (word.starts_with("0x")) {
    word.remove_prefix(2);
  }
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), bits, 16);
  if (error != std::errc{} || end != word.data() + word.size()) {
    return fail(ErrorKind::input, "not a 64-bit word in hexadecimal", std::string(shown));
  }
  const auto w = v3d::unpack(gpu, bits);
  if (!w) {
    return std::unexpected(w.error());
  }
  fmt::print("{:#018x} {}\n", bits, v3d::to_text(gpu, *w));
  return {};
}

/// Text, with or without the word that dis prints in front.
Expected<void> assemble(Gpu gpu, std::string_view line) {
  const auto first = line.find_first_not_of(" \t");
  line.remove_prefix(first);
  if (line.starts_with("0x") && line.find(' ') != std::string_view::npos) {
    line.remove_prefix(line.find(' '));
  }
  const auto w = v3d::parse_word(gpu, line);
  if (!w) {
    return std::unexpected(w.error());
  }
  const auto bits = v3d::pack(gpu, *w);
  if (!bits) {
    return std::unexpected(bits.error());
  }
  fmt::print("{:#018x}\n", *bits);
  return {};
}

struct AllocOptions : Common {
  std::string threads = "auto", stats, svg;
  bool verify = false, print = false, compare = false;
  std::vector<std::string> without;
};

/// In the form that `lanewise compare` reads, named as in the collection files.
nlohmann::json record(const v3d::Shader& s, const v3d::Compiled& c) {
  const v3d::Figures& f = c.figures;
  return {{"name", s.program},
          {"stage", std::string(v3d::text(s.stage))},
          {"target", s.gpu == Gpu::v42 ? "v3d-42" : "v3d-71"},
          {"count", s.count},
          {"strategy", c.allocation.strategy},
          {"milliseconds", c.milliseconds},
          {"metrics",
           {{"instructions", f.instructions},
            {"threads", f.threads},
            {"loops", f.loops},
            {"uniforms", f.uniforms},
            {"max_temps", f.max_temps},
            {"spills", f.spills},
            {"fills", f.fills},
            {"weighted", f.weighted},
            {"sfu_stalls", f.sfu_stalls},
            {"inst_and_stalls", f.inst_and_stalls},
            {"nops", f.nops},
            {"thread_switches_added", c.allocation.spills.switches},
            {"vector_accesses", c.allocation.spills.vectors},
            {"rematerialised", c.allocation.spills.remats},
            {"slots", c.allocation.spills.slots},
            {"copies_removed", c.allocation.copies_removed}}}};
}

/// Sums over shaders, ours beside Mesa's.
struct Totals {
  struct Row {
    const char* name;
    unsigned v3d::Figures::* figure;
  };
  static constexpr Row rows[] = {{"spills", &v3d::Figures::spills},
                                 {"fills", &v3d::Figures::fills},
                                 {"weighted", &v3d::Figures::weighted},
                                 {"threads", &v3d::Figures::threads},
                                 {"instructions", &v3d::Figures::instructions},
                                 {"nops", &v3d::Figures::nops},
                                 {"sfu-stalls", &v3d::Figures::sfu_stalls},
                                 {"inst-and-stalls", &v3d::Figures::inst_and_stalls},
                                 {"uniforms", &v3d::Figures::uniforms},
                                 {"max-temps", &v3d::Figures::max_temps}};
  struct Sum {
    std::uint64_t mesa = 0, ours = 0;
    unsigned helped = 0, hurt = 0;
  };
  std::array<Sum, std::size(rows)> all{}, unspilled{};
  unsigned shaders = 0, refused = 0, four = 0, four_mesa = 0, fewer = 0, newly_spilling = 0,
           without_spills = 0;
  double time = 0, worst = 0;

  void add(const v3d::Figures& mesa, const v3d::Compiled& c) {
    const v3d::Figures& ours = c.figures;
    ++shaders;
    four += ours.threads == 4;
    four_mesa += mesa.threads == 4;
    fewer += ours.threads < mesa.threads;
    newly_spilling += mesa.spills + mesa.fills == 0 && ours.spills + ours.fills != 0;
    time += c.milliseconds;
    worst = std::max(worst, c.milliseconds);
    const bool clean = mesa.spills + ours.spills + mesa.fills + ours.fills == 0;
    without_spills += clean;
    for (std::size_t k = 0; k < std::size(rows); ++k) {
      const unsigned m = mesa.*rows[k].figure, o = ours.*rows[k].figure;
      for (Sum* s : {&all[k], clean ? &unspilled[k] : nullptr}) {
        if (s == nullptr) {
          continue;
        }
        s->mesa += m;
        s->ours += o;
        const bool more_is_better = rows[k].figure == &v3d::Figures::threads;
        s->helped += more_is_better ? o > m : o < m;
        s->hurt += more_is_better ? o < m : o > m;
      }
    }
  }

  void print(const std::array<Sum, std::size(rows)>& sums) const {
    for (std::size_t k = 0; k < std::size(rows); ++k) {
      const Sum& s = sums[k];
      const bool has_reference = rows[k].figure != &v3d::Figures::weighted;
      const double change =
          s.mesa == 0 ? 0 : 100.0 * (static_cast<double>(s.ours) / static_cast<double>(s.mesa) - 1);
      if (has_reference) {
        fmt::print("  {:16} {:>8} -> {:>8}  {:+.2f}%  helped {:>3}  HURT {:>3}\n", rows[k].name, s.mesa,
                   s.ours, change, s.helped, s.hurt);
      } else {
        fmt::print("  {:16} {:>8} -> {:>8}\n", rows[k].name, "?", s.ours);
      }
    }
  }

  void print() const {
    fmt::print("{} shaders, {} refused; Mesa -> Lanewise\n", shaders, refused);
    print(all);
    fmt::print("{} shaders that neither side spills:\n", without_spills);
    print(unspilled);
    fmt::print("4 threads: {} -> {}; fewer threads than Mesa: {}; spill only here: {}\n", four_mesa, four,
               fewer, newly_spilling);
    fmt::print("processor time from text to words: {:.0f} ms in all, {:.1f} ms the worst\n", time, worst);
  }
};

Expected<v3d::AllocateOptions> allocate_options(const AllocOptions& o) {
  v3d::AllocateOptions a;
  a.threads = o.threads == "4" ? 4 : o.threads == "2" ? 2 : 0;
  for (const std::string& w : o.without) {
    if (!v3d::switch_off(a, w)) {
      return fail(ErrorKind::call, "no such feature", w, "one of " + v3d::feature_names());
    }
  }
  return a;
}

int draw(const std::string& path, const v3d::Shader& s, const v3d::Compiled& c) {
  const auto listing =
      v3d::parse_vir(s.listings[c.allocation.listing].vir, s.gpu, s.stage, c.allocation.threads);
  std::ofstream out(path);
  if (!listing || !out) {
    return report({ErrorKind::system, "cannot draw to the file", path, {}});
  }
  out << v3d::draw_allocation(*listing, c.allocation);
  return 0;
}

int alloc(const AllocOptions& o) {
  const auto options = allocate_options(o);
  if (!options) {
    return report(options.error());
  }
  std::ofstream stats;
  if (!o.stats.empty()) {
    stats.open(o.stats);
    if (!stats) {
      return report({ErrorKind::system, "cannot write the file", o.stats, {}});
    }
  }
  int status = 0;
  Totals totals;
  for (const std::string& path : o.files) {
    const auto text = v3d::read_text_file(path);
    if (!text) {
      return report(text.error());
    }
    const auto shaders = v3d::parse_shaders(*text, path, o.generation());
    if (!shaders) {
      return report(shaders.error());
    }
    for (const v3d::Shader& s : *shaders) {
      const auto c = v3d::compile(s, *options);
      if (!c) {
        ++totals.refused;
        status = std::max(status, report(c.error()));
        continue;
      }
      if (o.verify) {
        if (auto r = v3d::verify(s, *c); !r) {
          status = std::max(status, report(r.error()));
        }
      }
      totals.add(s.mesa, *c);
      if (!o.svg.empty()) {
        if (const int r = draw(o.svg, s, *c); r != 0) {
          return r;
        }
      }
      if (stats.is_open()) {
        stats << record(s, *c).dump() << '\n';
      }
      if (o.print) {
        fmt::print("{}", v3d::to_text(c->code));
      } else if (!o.compare && !stats.is_open()) {
        fmt::print(
            "{} {}: {} instructions, {} threads, {} max-temps, {}:{} spills:fills, {} nops, {:.1f} ms\n",
            s.program, v3d::text(s.stage), c->figures.instructions, c->figures.threads, c->figures.max_temps,
            c->figures.spills, c->figures.fills, c->figures.nops, c->milliseconds);
      }
    }
  }
  if (o.compare) {
    totals.print();
  }
  return status;
}

} // namespace

void add_v3d(Command& root, int& status) {
  Command command = root.add("v3d", "Broadcom V3D 4.2 and 7.1: QPU words and register allocation");
  command.require_subcommand();

  auto dis_options = std::make_shared<Common>();
  Command dis = command.add("dis", "Instruction words, one a line in hexadecimal, as text");
  add_common(dis, *dis_options);
  dis.run(status, [dis_options] {
    return each_line(*dis_options, [&](auto line) { return disassemble(dis_options->generation(), line); });
  });

  auto asm_options = std::make_shared<Common>();
  Command as = command.add("asm", "Text, one word a line, as 64-bit words");
  add_common(as, *asm_options);
  as.run(status, [asm_options] {
    return each_line(*asm_options, [&](auto line) { return assemble(asm_options->generation(), line); });
  });

  auto o = std::make_shared<AllocOptions>();
  Command al = command.add("alloc", "Registers and words for VIR listings (.vir or collection files)");
  add_common(al, *o);
  al.text("--threads", o->threads, "Hardware threads").one_of({"auto", "4", "2"});
  al.text("--stats", o->stats, "Write a JSON object for each shader to this file");
  al.text("--svg", o->svg, "Draw the live ranges and registers of the (last) shader into this file");
  al.flag("--verify", o->verify, "Check every result: symbolically, by the machine's rules, by running it");
  al.flag("--print", o->print, "Print the words");
  al.flag("--compare", o->compare, "Print totals beside Mesa's, as the collection files have them");
  al.list("--without", o->without, "Switch a feature off (for measurements); may be repeated");
  al.run(status, [o] { return alloc(*o); });
}

} // namespace lanewise::cli
