// The life of a shader that calls through a pointer: prepare, resolve and link, dispatch with known callees.
#include "runtime/shader_library.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace {

using namespace lanewise;

constexpr uint64_t code_at = 0x7000'0000;
constexpr size_t stride = 64;

/// v1 = v0; call s[2:3]; s[0:1][v0] = v1
constexpr uint32_t shader_code[] = {0x7e020300, 0xbe9e2102, 0x34040082, 0xdc708000, 0x00000102, 0xbf810000};

/// Callee n: v1 += n; return through s[30:31].
class Memory final : public GuestMemory {
 public:
  Memory() {
    for (uint32_t n = 0; n < 64; ++n) {
      const uint32_t words[2] = {0x4a020280 + n, 0xbe80201e};
      std::memcpy(&bytes_[n * stride], words, sizeof words);
    }
  }
  std::optional<Extent> extent(uint64_t address) const override {
    if (address < code_at || address - code_at >= bytes_.size()) return {};
    return Extent{code_at, bytes_.size()};
  }
  bool read(uint64_t address, std::span<uint8_t> out) const override {
    if (address < code_at || address - code_at > bytes_.size() ||
        bytes_.size() - (address - code_at) < out.size())
      return false;
    std::memcpy(out.data(), &bytes_[address - code_at], out.size());
    return true;
  }
  uint64_t write_version(uint64_t, uint64_t) const override { return 1; }

 private:
  std::array<uint8_t, 64 * stride> bytes_{};
};

container::ShaderBinary shader() {
  container::ShaderBinary b{.format = "raw", .target = "amdgcn-amd-amdhsa--gfx1030"};
  std::vector<uint8_t> bytes(sizeof shader_code);
  std::memcpy(bytes.data(), shader_code, sizeof shader_code);
  b.segments.push_back({.address = 0x1000, .bytes = std::move(bytes), .executable = true});
  container::Kernel k{.name = "main", .entry = 0x1000, .code_size = sizeof shader_code};
  k.descriptor.wave32 = true;
  k.descriptor.vgpr_count = 8;
  k.descriptor.user.count = k.descriptor.user.kernarg_preload_length = 4;
  k.descriptor.kernarg_size = 16;
  b.kernels.push_back(k);
  return b;
}

runtime::LibraryOptions options(std::filesystem::path folder = {}) {
  runtime::LibraryOptions o;
  o.host.subgroup_size = 32;
  o.host.subgroup_operations = true;
  o.cache_folder = std::move(folder);
  return o;
}

struct Setup {
  Memory memory;
  container::ShaderBinary binary = shader();
  std::unique_ptr<runtime::ShaderLibrary> library = *runtime::ShaderLibrary::create(options());
  runtime::ShaderPtr added = *library->add(binary, binary.kernels[0], {.block = {64, 1, 1}});

  Expected<runtime::Binding> bind(uint32_t n) {
    const uint64_t data[2] = {0x1000'0000, code_at + n * stride};
    return library->bind(added, memory,
                         {{reinterpret_cast<const uint8_t*>(data), sizeof data}, 0x2000'0000, 0});
  }
};

void Prepare(benchmark::State& state) {
  const auto binary = shader();
  for (auto _ : state) benchmark::DoNotOptimize(runtime::prepare(binary, binary.kernels[0]));
}
BENCHMARK(Prepare)->Unit(benchmark::kMicrosecond);

void PrepareCallee(benchmark::State& state) {
  const Memory memory;
  for (auto _ : state) benchmark::DoNotOptimize(runtime::prepare_callee(memory, code_at, {32, 0x2f0, 8}));
}
BENCHMARK(PrepareCallee)->Unit(benchmark::kMicrosecond);

/// A dispatch whose callee was never seen: it is prepared, linked and compiled.
void ResolveAndLinkNewCallee(benchmark::State& state) {
  uint32_t n = 64;
  std::unique_ptr<Setup> s;
  for (auto _ : state) {
    if (n == 64) {
      state.PauseTiming();
      s = std::make_unique<Setup>();
      n = 0;
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(s->bind(n));
    n += 16; // few callees in one module
  }
}
BENCHMARK(ResolveAndLinkNewCallee)->Unit(benchmark::kMicrosecond);

/// Dispatches that alternate between known callees.
void BindKnown(benchmark::State& state) {
  static Setup s;
  if (state.thread_index() == 0)
    for (uint32_t n = 0; n < 4; ++n) (void)s.bind(n);
  uint32_t n = 0;
  for (auto _ : state) {
    auto binding = s.bind(n++ % 4);
    if (!binding) state.SkipWithError("bind failed");
    benchmark::DoNotOptimize(binding);
  }
}
BENCHMARK(BindKnown)->Threads(1)->Threads(16)->UseRealTime();

/// Many threads on one store: mostly reads, some writes.
void Store(benchmark::State& state) {
  static const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("lanewise-bench-" + std::to_string(getpid()));
  static std::shared_ptr<cache::Store> store;
  if (state.thread_index() == 0) store = *cache::Store::open({.folder = folder});
  const std::vector<uint8_t> value(20'000, 7);
  uint32_t n = static_cast<uint32_t>(state.thread_index());
  for (auto _ : state) {
    const std::string key = "key " + std::to_string(n++ % 64);
    if (!store->get(key)) (void)store->put("bench", key, value);
  }
  if (state.thread_index() == 0) {
    store.reset();
    std::filesystem::remove_all(folder);
  }
}
BENCHMARK(Store)->Threads(1)->Threads(16)->UseRealTime()->Unit(benchmark::kMicrosecond);

} // namespace
