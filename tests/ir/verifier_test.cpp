// Each rule that the verifier keeps, broken once.
#include "ir/parser.hpp"
#include "ir/verifier.hpp"

#include <gtest/gtest.h>

namespace lanewise::ir {
namespace {

struct VerifierCase {
  const char* body;
  const char* error; ///< "" = correct
};

const VerifierCase kCases[] = {
    {"b0:\n ret\n", ""},
    {"b0:\n", "the block does not end with a terminator"},
    {"b0:\n ret\n ret\n", "a terminator inside"},
    {"b0:\n br b0\n", "predecessors are not the blocks that lead here"},
    {"b0: from b0\n br b0\n", "the entry block has predecessors"},
    {"b0:\n br b1, b1\nb1: from b0, b0\n ret\n", "needs 1 successors"},
    {"b0:\n %1 = i32 add i32 1\n ret\n", "has 1 operands, needs 2"},
    {"b0:\n %1 = i32 add i32 1, i64 1\n ret\n", "operand 1 has the wrong type i64"},
    {"b0:\n %1 = f32 add f32 1, f32 1\n ret\n", "operand 0 has the wrong type f32"},
    {"b0:\n %1 = i64 add i32 1, i32 1\n ret\n", "the result's type is wrong"},
    {"b0:\n %1 = i32 zext i64 1\n ret\n", "cannot have a result of type i32"},
    {"b0:\n %1 = uniform i64 ballot u1 true\n ret\n", "the result's type is wrong"},
    {"b0:\n %1 = i32 add %2, i32 1\n %2 = i32 lane_id\n ret\n",
     "operand %2 is not defined on every way here"},
    {"b0:\n %1 = uniform i32 lane_id\n ret\n", "is called uniform but depends on the lane"},
    {"b0:\n %1 = i32 lane_id\n %2 = u1 eq %1, i32 0\n cond_br %2, b1, b1\nb1: from b0, b0\n ret\n",
     "branches on a value that lanes differ in"},
    {"b0:\n cond_br u1 true, b1, b2\nb1: from b0\n %1 = i32 lane_id\n br b3\nb2: from b0\n br b3\n"
     "b3: from b1, b2\n %2 = i32 phi %1, %1\n ret\n",
     "operand %1 is not defined on every way here"},
    {"b0:\n br b1\nb1: from b0\n %1 = i32 phi i32 1, i32 2\n ret\n", "one operand for each predecessor"},
    {"b0:\n br b1\nb1: from b0\n %1 = i32 phi i64 1\n ret\n", "an operand has another type"},
    {"b0:\n br b1\nb1: from b0\n %1 = i32 lane_id\n %2 = i32 phi %1\n ret\n",
     "a phi behind other instructions"},
    {"b0:\n %1 = i32 load.lds.4 i64 1, u1 true\n ret\n", "operand 0 has the wrong type i64"},
    {"b0:\n %1 = i32 load.lds.8 i32 1, u1 true\n ret\n", "accesses more bytes than the type has"},
    {"b0:\n %1 = i32 load.lds.3 i32 1, u1 true\n ret\n", "accesses 1, 2, 4 or 8 bytes"},
    {"b0:\n %1 = i32 atomic.lds.4 i32 1, u1 true, i32 1\n ret\n", "has no atomic operation"},
    {"b0:\n %1 = i32 atomic.cmpswap.lds.4 i32 1, u1 true, i32 1\n ret\n",
     "has the wrong number of data operands"},
    {"b0:\n %1 = i32x2 load.lds.4 i32 1, u1 true\n %2 = i32 not %1\n ret\n",
     "a tuple is used without extract"},
    {"b0:\n %1 = i32x2 load.lds.4 i32 1, u1 true\n %2 = i32 extract.2 %1\n ret\n",
     "cannot have a result of type i32"},
    {"b0:\n store.lds.4 i32 1, u1 true\n ret\n", "too few or too many operands"},
    {"b0:\n %1 = i32 lane_id\n %2 = uniform i32 read_lane %1, %1\n ret\n", "the lane to read is not uniform"},
};

TEST(Verifier, Rules) {
  for (const VerifierCase& c : kCases) {
    const auto f = parse(std::string("function \"f\" wave32 lds 0 scratch 0 {\n") + c.body + "}");
    ASSERT_TRUE(f) << c.body << f.error().to_string();
    const auto result = verify(*f);
    EXPECT_EQ(result ? "" : result.error().what, c.error) << c.body;
  }
}

} // namespace
} // namespace lanewise::ir
