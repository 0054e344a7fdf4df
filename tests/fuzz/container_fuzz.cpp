// Fuzzes container::load: whatever the bytes are, the result is an error that says something or a binary that
// holds together. Run it with -timeout=1 -malloc_limit_mb=256, which is what docs/limits.md promises.
#include "container/load.hpp"
#include "support/limits.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

using namespace lanewise;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const container::ShaderBinary& binary) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < binary.segments.size(); ++i) {
    const auto& segment = binary.segments[i];
    bytes += segment.bytes.size();
    if (i == 0) continue;
    const auto& before = binary.segments[i - 1];
    require(before.address < segment.address && segment.address - before.address >= before.bytes.size());
  }
  // A raw description may have code and data up to the limit each.
  require(bytes <= limits::max_image_bytes + limits::max_program_bytes);
  require(binary.kernels.size() <= limits::max_kernels);
  for (const container::Kernel& kernel : binary.kernels) {
    const auto* segment = binary.segment_at(kernel.entry);
    require(segment && segment->executable && kernel.entry % 4 == 0 && kernel.code_size % 4 == 0);
    require(kernel.code_size <= binary.at(kernel.entry).size());
    require(kernel.descriptor.vgpr_count <= 256 && kernel.descriptor.user.count <= 16);
  }
  for (const uint64_t pointer : binary.pointers) require(binary.at(pointer).size() >= 8);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  for (const char* target : {"", "gfx1031"}) {
    const auto binary = container::load({data, size}, {.target = target, .folder = {}});
    if (binary)
      check(*binary);
    else
      require(!binary.error().what.empty());
  }
  return 0;
}
