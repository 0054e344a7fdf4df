// Text to words: the whole 7.1 collection, its slowest shader, and listings one after the other as one
// program.
#include "v3d/compile.hpp"
#include "v3d/data_file.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

using namespace lanewise::v3d;

#ifdef __GLIBC__
// As the command does (src/cli/heap.cpp): large arrays come from the heap again and again, not from the
// system.
const bool keeps_heap = mallopt(M_MMAP_THRESHOLD, 1 << 30) != 0 && mallopt(M_TRIM_THRESHOLD, 1 << 30) != 0;
#endif

const std::vector<Shader>& collection() {
  static const std::vector<Shader> shaders = [] {
    const std::string path = LANEWISE_SOURCE_DIR "/tests/data/v3d/three-v3d-71.jsonl.zst";
    const auto text = read_text_file(path);
    auto parsed =
        text ? parse_shaders(*text, path, Gpu::v71) : lanewise::fail(lanewise::ErrorKind::system, "no data");
    return parsed ? std::move(*parsed) : std::vector<Shader>{};
  }();
  return shaders;
}

// Adds `by` to the number behind each `mark` that starts a word ("t12", "BLOCK 3").
std::string renumber(const std::string& line, std::string_view mark, unsigned by) {
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    const bool starts =
        at == 0 || (std::isalnum(static_cast<unsigned char>(line[at - 1])) == 0 && line[at - 1] != '_');
    std::size_t digits = at + mark.size();
    if (starts && line.compare(at, mark.size(), mark) == 0 && digits < line.size() &&
        std::isdigit(line[digits]) != 0) {
      unsigned n = 0;
      for (; digits < line.size() && std::isdigit(line[digits]) != 0; ++digits) {
        n = n * 10 + static_cast<unsigned>(line[digits] - '0');
      }
      out += std::string(mark) + std::to_string(n + by);
      at = digits;
      continue;
    }
    out += line[at++];
  }
  return out;
}

// Fragment listings, each entered from the end of the one before it, up to that many instructions.
Shader chain(std::size_t instructions) {
  Shader s;
  s.program = "chain";
  s.stage = Stage::fragment;
  std::string vir;
  std::size_t lines = 0;
  unsigned k = 0;
  for (std::size_t n = 0; lines < instructions; n = (n + 1) % collection().size()) {
    const Shader& part = collection()[n];
    if (part.stage != Stage::fragment || part.mesa.spills != 0) {
      continue;
    }
    const unsigned by = 100 * k, temps = 8000 * k++;
    if (!vir.empty()) {
      vir += "-> BLOCK " + std::to_string(by) + "\n";
    }
    const std::string& text = part.listings.back().vir;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      std::string line = renumber(text.substr(at, end - at), "t", temps);
      at = end + 1;
      if (line.starts_with("->")) { // "-> BLOCK 3, 1"
        line = renumber(line, "BLOCK ", by);
        if (const auto comma = line.find(", "); comma != std::string::npos) {
          line = line.substr(0, comma + 2) + std::to_string(std::stoul(line.substr(comma + 2)) + by);
        }
      } else if (line.starts_with("BLOCK ")) {
        line = renumber(line, "BLOCK ", by);
      }
      vir += line + "\n";
      ++lines;
    }
  }
  s.listings.push_back({"chain", 2, std::move(vir)});
  return s;
}

void compiles(benchmark::State& state, const std::vector<const Shader*>& shaders) {
  std::int64_t words = 0;
  for (auto _ : state) {
    for (const Shader* s : shaders) {
      const auto c = compile(*s, {});
      if (!c) {
        state.SkipWithError(c.error().to_string().c_str());
        return;
      }
      words += c->figures.instructions;
    }
  }
  state.SetItemsProcessed(words);
}

void whole_collection(benchmark::State& state) {
  std::vector<const Shader*> all;
  for (const Shader& s : collection()) {
    all.push_back(&s);
  }
  compiles(state, all);
}

void slowest_shader(benchmark::State& state) {
  const auto it =
      std::ranges::max_element(collection(), {}, [](const Shader& s) { return s.mesa.instructions; });
  compiles(state, {&*it});
}

void listings_in_a_row(benchmark::State& state) {
  const Shader s = chain(static_cast<std::size_t>(state.range(0)));
  compiles(state, {&s});
}

BENCHMARK(whole_collection)->Unit(benchmark::kMillisecond);
BENCHMARK(slowest_shader)->Unit(benchmark::kMillisecond);
BENCHMARK(listings_in_a_row)
    ->Arg(12500)
    ->Arg(25000)
    ->Arg(50000)
    ->Arg(100000)
    ->Arg(200000)
    ->Unit(benchmark::kMillisecond);

} // namespace
