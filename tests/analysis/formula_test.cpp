#include "analysis/formula.hpp"

#include <gtest/gtest.h>
#include <random>

using namespace lanewise::analysis;

namespace {

TEST(Formula, EqualFormulasHaveEqualHandles) {
  FormulaPool p;
  const Formula a = p.atom(0), b = p.atom(1), c = p.atom(2);
  EXPECT_EQ(p.and_(a, b), p.and_(b, a));
  EXPECT_EQ(p.not_(p.and_(a, b)), p.or_(p.not_(a), p.not_(b)));
  EXPECT_EQ(p.or_(p.and_(a, b), p.and_(a, p.not_(b))), a); // then | else = the region's own mask
  EXPECT_EQ(p.and_(a, p.or_(b, c)), p.or_(p.and_(a, b), p.and_(a, c)));
  EXPECT_EQ(p.xor_(a, a), kFalse);
  EXPECT_EQ(p.ite(a, b, b), b);
  EXPECT_TRUE(p.implies(p.and_(p.and_(a, b), c), b));
  EXPECT_FALSE(p.implies(b, p.and_(a, b)));
}

/// Random formulas of up to 6 atoms against their truth tables.
TEST(Formula, AgreesWithTruthTables) {
  FormulaPool p;
  std::mt19937 random(7);
  constexpr uint64_t kAtomTable[6] = {0xaaaaaaaaaaaaaaaaull, 0xccccccccccccccccull, 0xf0f0f0f0f0f0f0f0ull,
                                      0xff00ff00ff00ff00ull, 0xffff0000ffff0000ull, 0xffffffff00000000ull};
  std::vector<std::pair<Formula, uint64_t>> pool{{kTrue, ~0ull}};
  for (uint32_t i = 0; i < 6; ++i) pool.emplace_back(p.atom(i), kAtomTable[i]);
  for (int step = 0; step < 4000; ++step) {
    const auto [a, ta] = pool[random() % pool.size()];
    const auto [b, tb] = pool[random() % pool.size()];
    const auto [c, tc] = pool[random() % pool.size()];
    switch (random() % 5) {
    case 0: pool.emplace_back(p.and_(a, b), ta & tb); break;
    case 1: pool.emplace_back(p.or_(a, b), ta | tb); break;
    case 2: pool.emplace_back(p.xor_(a, b), ta ^ tb); break;
    case 3: pool.emplace_back(p.not_(a), ~ta); break;
    case 4: pool.emplace_back(p.ite(c, a, b), (tc & ta) | (~tc & tb)); break;
    }
    const auto [f, table] = pool.back();
    for (unsigned row = 0; row < 64; ++row)
      ASSERT_EQ(p.evaluate(f, [&](uint32_t level) { return (row >> level & 1) != 0; }),
                (table >> row & 1) != 0);
    EXPECT_EQ(p.implies(a, b), (ta & ~tb) == 0);
  }
}

/// Quantifying atoms 2 and 3: f holds for some value of them.
TEST(Formula, RebuildQuantifies) {
  FormulaPool p;
  const auto exists = [&](Formula f) {
    FormulaPool::Memo memo;
    return p.rebuild(
        f, 2,
        [&](uint32_t level, Formula h, Formula l) {
          return level == 2 || level == 3 ? p.or_(h, l) : p.ite(p.atom(level), h, l);
        },
        memo);
  };
  const Formula a = p.atom(0), b = p.atom(1), c = p.atom(2), d = p.atom(3), e = p.atom(4);
  EXPECT_EQ(exists(p.and_(a, c)), a);
  EXPECT_EQ(exists(p.and_(c, p.not_(c))), kFalse);
  EXPECT_EQ(exists(p.xor_(c, d)), kTrue);
  EXPECT_EQ(exists(p.and_(p.and_(e, d), p.or_(b, p.and_(a, c)))), p.and_(e, p.or_(a, b)));
  EXPECT_EQ(exists(p.not_(p.and_(a, c))), kTrue);
}

/// A kill chain: each mask loses one more set of lanes. Cost per step is constant.
TEST(Formula, LongChainsStaySmall) {
  FormulaPool p;
  Formula alive = p.atom(0);
  const Formula first = alive;
  constexpr uint32_t kSteps = 100'000;
  for (uint32_t i = 1; i <= kSteps; ++i) {
    const Formula next = p.and_(alive, p.not_(p.atom(i)));
    ASSERT_TRUE(p.implies(next, alive));
    alive = next;
  }
  EXPECT_TRUE(p.implies(alive, first));
  EXPECT_LT(p.node_count(), 3 * kSteps);
}

} // namespace
