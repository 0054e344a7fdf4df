// Decoder and disassembler speed in bytes of machine code a second. The code is LLVM's test encodings one
// after the other, or the file that LANEWISE_BENCH_CODE names (raw words).
#include "rdna2/decoder.hpp"
#include "rdna2/disassembler.hpp"
#include "rdna2/register_use.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace lanewise::rdna2;

std::vector<uint8_t> read_vectors() {
  std::vector<uint8_t> code;
  FILE* pipe = popen("xz -dc '" LANEWISE_SOURCE_DIR "/tests/data/rdna2/gfx1030-vectors.w32.xz'", "r");
  if (pipe == nullptr) return code;
  char line[512];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    unsigned byte = 0;
    for (const char* p = line; std::sscanf(p, "%2x", &byte) == 1 && *p != '\t'; p += 2)
      code.push_back(uint8_t(byte));
  }
  pclose(pipe);
  return code;
}

const std::vector<uint8_t>& program() {
  static const std::vector<uint8_t> code = [] {
    const char* file = std::getenv("LANEWISE_BENCH_CODE");
    if (file == nullptr) return read_vectors();
    std::ifstream in(file, std::ios::binary);
    return std::vector<uint8_t>(std::istreambuf_iterator<char>(in), {});
  }();
  return code;
}

void set_rates(benchmark::State& state, size_t bytes, size_t instructions) {
  state.SetBytesProcessed(int64_t(state.iterations() * bytes));
  state.SetItemsProcessed(int64_t(state.iterations() * instructions));
}

void decode_bulk(benchmark::State& state) {
  std::vector<Instruction> out;
  size_t end = decode_append(program(), WaveSize::wave32, out); // the memory is there before the clock starts
  for (auto _ : state) {
    out.clear();
    end = decode_append(program(), WaveSize::wave32, out);
    benchmark::DoNotOptimize(out.data());
  }
  if (end != program().size()) state.SkipWithError("the code does not decode to its end");
  set_rates(state, end, out.size());
}
BENCHMARK(decode_bulk)->Unit(benchmark::kMillisecond);

/// In blocks that stay in the cache: what a consumer costs that does not keep the instructions.
void decode_blocks(benchmark::State& state) {
  constexpr size_t block = 32 << 10;
  std::vector<Instruction> out;
  size_t pc = 0, count = 0;
  for (auto _ : state) {
    for (pc = count = 0; pc < program().size();) {
      out.clear();
      const auto rest = std::span(program()).subspan(pc);
      const size_t step = decode_append(rest.first(std::min(block, rest.size())), WaveSize::wave32, out);
      if (step == 0) break;
      pc += step;
      count += out.size();
    }
    benchmark::DoNotOptimize(out.data());
  }
  if (pc != program().size()) state.SkipWithError("the code does not decode to its end");
  set_rates(state, pc, count);
}
BENCHMARK(decode_blocks)->Unit(benchmark::kMillisecond);

void decode_one_by_one(benchmark::State& state) {
  size_t count = 0;
  for (auto _ : state) {
    count = 0;
    for (uint32_t pc = 0; pc < program().size(); ++count) {
      const auto i = decode(program(), pc, WaveSize::wave32);
      if (!i) break;
      pc += i->size;
    }
    benchmark::DoNotOptimize(count);
  }
  set_rates(state, program().size(), count);
}
BENCHMARK(decode_one_by_one)->Unit(benchmark::kMillisecond);

void disassemble_text(benchmark::State& state) {
  std::vector<Instruction> instructions;
  decode_append(program(), WaveSize::wave32, instructions);
  instructions.resize(std::min<size_t>(instructions.size(), 32768));
  size_t bytes = 0;
  for (const Instruction& i : instructions) bytes += i.size;
  std::string text;
  for (auto _ : state) {
    text.clear();
    for (const Instruction& i : instructions) {
      disassemble_append(text, i, WaveSize::wave32);
      text += '\n';
    }
    benchmark::DoNotOptimize(text.data());
  }
  set_rates(state, bytes, instructions.size());
}
BENCHMARK(disassemble_text)->Unit(benchmark::kMillisecond);

void find_register_use(benchmark::State& state) {
  std::vector<Instruction> instructions;
  decode_append(program(), WaveSize::wave32, instructions);
  for (auto _ : state)
    for (const Instruction& i : instructions) benchmark::DoNotOptimize(register_use(i, WaveSize::wave32));
  set_rates(state, program().size(), instructions.size());
}
BENCHMARK(find_register_use)->Unit(benchmark::kMillisecond);

} // namespace
