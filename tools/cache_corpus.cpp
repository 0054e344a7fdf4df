// cache_corpus FOLDER CACHE: compiles every kernel of the code objects (*.co) in a folder through a disk
// cache, and says how long that took and what the cache did. Run it twice: cold, then warm.
#include "container/load.hpp"
#include "runtime/module_cache.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <vector>

using namespace lanewise;

namespace {

std::string module_key(const container::ShaderBinary& binary, const container::Kernel& kernel,
                       const runtime::CompileOptions& options) {
  runtime::KeyWriter key = runtime::start_key("module");
  key.add(runtime::key_of(binary, kernel, {}));
  runtime::add_options(key, options);
  return key.take();
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: cache_corpus FOLDER CACHE\n");
    return 2;
  }
  auto store = cache::Store::open({.folder = argv[2], .max_bytes = uint64_t{1} << 30});
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().to_string().c_str());
    return 1;
  }
  runtime::CompileOptions options;
  options.host.subgroup_size = 32;
  options.host.subgroup_operations = true;
  std::vector<std::shared_ptr<const container::ShaderBinary>> binaries;
  for (const auto& file : std::filesystem::directory_iterator(argv[1])) {
    if (file.path().extension() != ".co") continue;
    if (auto binary = container::load_file(file.path()))
      binaries.push_back(std::make_shared<const container::ShaderBinary>(std::move(*binary)));
  }
  const auto start = std::chrono::steady_clock::now();
  unsigned kernels = 0, failed = 0;
  {
    runtime::MemoryBudget budget(uint64_t{512} << 20);
    runtime::ModuleCache cache(budget, *store);
    std::vector<runtime::ModuleFuture> futures;
    for (const auto& binary : binaries)
      for (const container::Kernel& kernel : binary->kernels) {
        ++kernels;
        futures.push_back(cache.get(module_key(*binary, kernel, options), [binary, &kernel, options] {
          return runtime::compile(*binary, kernel, options);
        }));
      }
    for (const auto& f : futures) failed += f.get() ? 0 : 1;
    const auto s = cache.statistics();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%zu files, %u kernels, %u refused, %llu compiled, %llu from disk, %.2f s\n", binaries.size(),
                kernels, failed, static_cast<unsigned long long>(s.compiled),
                static_cast<unsigned long long>(s.disk_hits), seconds.count());
  }
  const auto kept = (*store)->statistics();
  if (kept)
    std::printf("%llu entries, %llu bytes\n", static_cast<unsigned long long>(kept->entries),
                static_cast<unsigned long long>(kept->bytes));
  return 0;
}
