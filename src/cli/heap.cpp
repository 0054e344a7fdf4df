#include "cli/heap.hpp"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace lanewise::cli {

#ifdef __GLIBC__
void prepare_heap() {
  constexpr int step = 64 << 20;
  constexpr uintptr_t huge_page = 2 << 20;
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, step);
  const auto before = reinterpret_cast<uintptr_t>(sbrk(0));
  // Larger than what start-up left, so that the heap grows now; volatile, or the pair would be optimised
  // away.
  void* volatile block = std::malloc(step);
  std::free(block);
  const uintptr_t begin = (before + huge_page - 1) / huge_page * huge_page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(sbrk(0)) / huge_page * huge_page;
  // Advice only: where it is refused, pages stay small.
  if (begin < end) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}
#else
void prepare_heap() {}
#endif

} // namespace lanewise::cli
