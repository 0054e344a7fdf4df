// Random programs allocate and pass all checks. LANEWISE_V3D_RANDOM sets how many (tests/v3d/long_random.sh
// runs twenty thousand), LANEWISE_V3D_SEED where to start.
#include "random_vir.hpp"

#include "v3d/compile.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lanewise::v3d {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

TEST(Random, programs_allocate_and_pass_every_check) {
  const std::uint64_t first = setting("LANEWISE_V3D_SEED", 1), count = setting("LANEWISE_V3D_RANDOM", 100);
  unsigned spilling = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    std::mt19937_64 random(seed * 77);
    RandomOptions r;
    r.pressure = 10 + static_cast<unsigned>(random() % (seed % 8 == 0 ? 291 : 90));
    r.steps = 20 + static_cast<unsigned>(random() % 160);
    r.threads = random() % 2 == 0 ? 4 : 2;
    Shader s;
    s.program = "random " + std::to_string(seed);
    s.gpu = random() % 2 == 0 ? Gpu::v42 : Gpu::v71;
    s.stage = Stage::fragment;
    std::string vir = RandomVir(seed, r).text();
    if (s.gpu == Gpu::v42) { // the payload's W and the coefficient have other names there
      for (const auto& [from, to] : {std::pair{", rf0\n", ", r5\n"}, std::pair{", rf3\n", ", rf0\n"}}) {
        for (auto at = vir.find(from); at != std::string::npos; at = vir.find(from)) {
          vir.replace(at, std::string_view(from).size(), to);
        }
      }
    }
    s.listings.push_back({"random", r.threads, std::move(vir)});
    AllocateOptions o;
    o.threads = r.threads;
    const auto c = compile(s, o);
    ASSERT_TRUE(c) << c.error().to_string() << "\n" << s.listings[0].vir;
    const auto ok = verify(s, *c, 1);
    ASSERT_TRUE(ok) << ok.error().to_string() << "\n" << s.listings[0].vir;
    spilling += c->figures.spills != 0;
  }
  if (count >= 100) {
    EXPECT_GT(spilling, count / 10);
  }
}

} // namespace
} // namespace lanewise::v3d
