#include "collection.hpp"

#include "v3d/machine.hpp"

namespace lanewise::v3d {
namespace {

TEST(Interpreter, runs_every_listing_without_a_fault) {
  for (const Gpu gpu : {Gpu::v42, Gpu::v71}) {
    std::size_t effects = 0;
    for (const Shader& s : collection(gpu)) {
      for (const Listing& l : s.listings) {
        const auto p = parse_vir(l.vir, s.gpu, s.stage, l.threads);
        ASSERT_TRUE(p);
        RunOptions o;
        o.max_branches = 8;
        const auto t = interpret(*p, o);
        ASSERT_TRUE(t) << s.program << ": " << t.error().to_string();
        EXPECT_TRUE(t->faults.empty()) << s.program << " " << l.strategy << ": " << t->faults.front();
        EXPECT_LE(t->max_outstanding, 16 / l.threads) << s.program << " " << l.strategy;
        effects += t->effects.size();
      }
    }
    EXPECT_GT(effects, 1000u);
  }
}

} // namespace
} // namespace lanewise::v3d
