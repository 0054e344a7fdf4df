#include "collection.hpp"

namespace lanewise::v3d {
namespace {

class Listings : public testing::TestWithParam<Gpu> {};

TEST_P(Listings, parse_and_print_back) {
  std::size_t count = 0;
  for (const Shader& s : collection(GetParam())) {
    for (const Listing& l : s.listings) {
      const auto p = parse_vir(l.vir, s.gpu, s.stage, l.threads);
      ASSERT_TRUE(p) << s.program << ": " << p.error().to_string();
      ASSERT_EQ(to_text(*p), l.vir) << s.program;
      ++count;
    }
  }
  EXPECT_GT(count, 500u);
}

INSTANTIATE_TEST_SUITE_P(Collection, Listings, testing::Values(Gpu::v42, Gpu::v71),
                         [](const auto& i) { return i.param == Gpu::v71 ? "v71" : "v42"; });

TEST(Vir, malformed_listings_are_errors) {
  const char* rows[] = {
      "",
      "mov t1, t2",            // no block
      "BLOCK 0:\nBLOCK 0:",    // twice
      "BLOCK 0:\n-> BLOCK 7",  // not there
      "BLOCK 0:\nfrob t1, t2", // operation
      "BLOCK 0:\nfadd t1, t2", // operands
      "BLOCK 0:\nfadd t1, t2, t3, t4",
      "BLOCK 0:\nfadd t1, t2.q, t3", // modifier
      "BLOCK 0:\nfadd t1, 17, t3",   // immediate
      "BLOCK 0:\nmov.ifz t1, t3",    // condition
      "BLOCK 0:\nnop t1; ldunif",    // uniform
      "BLOCK 0:\nmov t1, t2 (push[0])",
      "BLOCK 0:\nnop t1; ldfoo",
      "BLOCK 0:\nmov t99999999, t2",
      "BLOCK 0:\nbu.alla  1, r:unif (0x0 / 0)\n-> BLOCK 0",
      "BLOCK 0:\n-> BLOCK 2\nBLOCK 1:\nBLOCK 2:", // fall-through is not next
      "BLOCK 0:\nbu.any",
  };
  for (const char* row : rows) {
    EXPECT_FALSE(parse_vir(row, Gpu::v71, Stage::fragment, 4)) << row;
  }
}

} // namespace
} // namespace lanewise::v3d
