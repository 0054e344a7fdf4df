// Each rule of lane demand, broken on purpose: the prover must refuse at least one program, and must accept
// all of them when no rule is broken (tests/passes/exec_select_test.cpp).
#include "analysis/demand_cases.hpp"
#include "analysis/demand_proof.hpp"
#include "ir/parser.hpp"
#include "passes/exec_select.hpp"

#include <gtest/gtest.h>

namespace {

using namespace lanewise;
using namespace lanewise::tests;
using analysis::BrokenRule;

struct Mutation {
  const char* name;
  BrokenRule rule;
  friend void PrintTo(const Mutation& m, std::ostream* out) { *out << m.name; }
};

const Mutation kMutations[] = {
    {"select_forgets_old", BrokenRule::select_forgets_old},
    {"access_forgets_address", BrokenRule::access_forgets_address},
    {"active_only_where_active", BrokenRule::active_only_where_active},
    {"read_lane_reads_nothing", BrokenRule::read_lane_reads_nothing},
    {"read_first_skips_lane_0", BrokenRule::read_first_skips_lane_0},
    {"dpp_reads_own_lane", BrokenRule::dpp_reads_own_lane},
    {"permute_reads_own_lane", BrokenRule::permute_reads_own_lane},
    {"ballot_reads_nothing", BrokenRule::ballot_reads_nothing},
    {"both_masks_excused", BrokenRule::both_masks_excused},
    {"back_edge_same_iteration", BrokenRule::back_edge_same_iteration},
    {"loops_left_unquantified", BrokenRule::loops_left_unquantified},
    {"loop_phi_unchecked", BrokenRule::loop_phi_unchecked},
    {"wrong_way_into_a_join", BrokenRule::wrong_way_into_a_join},
    {"taken_branch_empty", BrokenRule::taken_branch_empty},
    {"phi_forgets_an_edge", BrokenRule::phi_forgets_an_edge},
    {"other_pattern_counts", BrokenRule::other_pattern_counts},
    {"no_mask_is_empty", BrokenRule::no_mask_is_empty},
    {"implicit_level_reads_own_lane", BrokenRule::implicit_level_reads_own_lane},
    {"export_forgets_who", BrokenRule::export_forgets_who},
};

class BrokenDemand : public testing::TestWithParam<Mutation> {};

TEST_P(BrokenDemand, TheProverNotices) {
  unsigned refuted = 0;
  for (const DemandCase& c : kDemandCases) {
    auto f = ir::parse(demand_program(c));
    ASSERT_TRUE(f) << c.name;
    const auto result = passes::exec_select(*f, {.prove = true, .broken = GetParam().rule});
    for (const auto& failure : result.proof.failures) refuted += failure.refuted;
  }
  EXPECT_GT(refuted, 0u);
}

INSTANTIATE_TEST_SUITE_P(Rules, BrokenDemand, testing::ValuesIn(kMutations),
                         [](const auto& test) { return std::string(test.param.name); });

} // namespace
