// The rule that says which callees become functions.
#include "link/call_cost.hpp"

#include <gtest/gtest.h>

namespace lanewise::link {
namespace {

struct Case {
  const char* name;
  std::vector<CallNode> nodes; ///< instructions, calls, callable, scratch
  std::vector<bool> functions;
};

TEST(CallCost, Choice) {
  const Case cases[] = {
      {"no calls", {{100, {}}}, {false}},
      {"one site", {{100, {1}}, {5000, {}, true}}, {false, false}},
      {"two sites, small", {{100, {1, 1}}, {100, {}, true}}, {false, false}},
      {"two sites, large", {{100, {1, 1}}, {200, {}, true}}, {false, true}},
      {"many sites, tiny", {{100, {1, 1, 1, 1, 1, 1, 1, 1}}, {20, {}, true}}, {false, false}},
      {"many sites", {{100, {1, 1, 1, 1, 1, 1, 1, 1}}, {60, {}, true}}, {false, true}},
      {"it has to be inlined", {{100, {1, 1}}, {5000, {}, false}}, {false, false}},
      {"private memory, few copies", {{100, {1, 1, 1}}, {5000, {}, true, 1500}}, {false, false}},
      {"private memory, many copies", {{100, {1, 1, 1, 1}}, {5000, {}, true, 1500}}, {false, true}},
      {"a little private memory", {{100, {1, 1, 1}}, {5000, {}, true, 100}}, {false, true}},
      {"private memory of the kernel", {{9000, {1, 1, 1}, false, 500}, {800, {}, true}}, {false, false}},
      {"once inside what is a function",
       {{100, {1, 1, 1}}, {400, {2}, true}, {400, {}, true}},
       {false, true, false}},
      {"twice inside what is a function",
       {{100, {1, 1, 1}}, {400, {2, 2}, true}, {400, {}, true}},
       {false, true, true}},
      {"twice, through one that is inlined",
       {{100, {1, 1}}, {10, {2}, false}, {400, {}, true}},
       {false, false, true}},
      {"recursive", {{100, {1, 1, 1}}, {400, {1}, true}}, {false, false}},
  };
  for (const Case& c : cases) EXPECT_EQ(choose_functions(c.nodes, {}), c.functions) << c.name;
}

TEST(CallCost, Always) {
  const std::vector<CallNode> nodes{{100, {1, 2}}, {5, {}, true}, {5, {}, false}};
  EXPECT_EQ(choose_functions(nodes, {.always = true}), (std::vector{false, true, false}));
}

/// Copies double at each level: numbers grow beyond any type unless they are cut.
TEST(CallCost, DeepTrees) {
  for (const unsigned depth : {30u, 200u}) {
    std::vector<CallNode> nodes;
    for (uint32_t n = 0; n < depth; ++n) nodes.push_back({10, {n + 1, n + 1}, false});
    nodes.push_back({100, {}, true});
    const auto chosen = choose_functions(nodes, {});
    EXPECT_EQ(chosen.size(), depth + 1);
    if (depth == 30) {
      EXPECT_TRUE(chosen.back());
    }
  }
}

} // namespace
} // namespace lanewise::link
