// Calls that are shorter written out.
#include "spirv/inline_calls.hpp"

#include <gtest/gtest.h>

namespace lanewise::spirv {
namespace {

constexpr Id type = 100, function_type = 101, entry = 102, helper = 103;

/// A helper of `length` additions and an entry point that calls it `calls` times.
std::vector<std::vector<uint32_t>> inlining_program(unsigned length, unsigned calls) {
  std::vector<uint32_t> h, m;
  const auto add = [](std::vector<uint32_t>& words, spv::Op op, std::initializer_list<uint32_t> operands) {
    append_instruction(words, op, std::span(operands.begin(), operands.size()));
  };
  add(h, spv::Op::OpFunction, {type, helper, 0, function_type});
  add(h, spv::Op::OpFunctionParameter, {type, 1});
  add(h, spv::Op::OpLabel, {2});
  for (uint32_t i = 0; i < length; ++i) add(h, spv::Op::OpIAdd, {type, 10 + i, i == 0 ? 1 : 9 + i, 1});
  add(h, spv::Op::OpReturnValue, {9 + length});
  add(h, spv::Op::OpFunctionEnd, {});
  add(m, spv::Op::OpFunction, {type, entry, 0, function_type});
  add(m, spv::Op::OpLabel, {200});
  for (uint32_t i = 0; i < calls; ++i) add(m, spv::Op::OpFunctionCall, {type, 300 + i, helper, 400 + i});
  add(m, spv::Op::OpReturn, {});
  add(m, spv::Op::OpFunctionEnd, {});
  return {h, m};
}

std::string text(const std::vector<uint32_t>& words) {
  std::string all;
  for_each_instruction(words, [&](spv::Op op, std::span<const uint32_t> w) {
    all += "op" + std::to_string(static_cast<unsigned>(op));
    for (const uint32_t x : w.subspan(1)) all += ' ' + std::to_string(x);
    all += '\n';
  });
  return all;
}

std::vector<std::vector<uint32_t>> inlined(std::vector<std::vector<uint32_t>> functions,
                                           const std::unordered_set<Id>& kept = {}) {
  Id next = 1000;
  (void)inline_short_calls(functions, entry, kept, [&] { return next++; });
  return functions;
}

TEST(InlineCalls, PutsTheBodyInPlace) {
  const auto result = inlined(inlining_program(2, 2));
  ASSERT_EQ(result.size(), 1u);
  EXPECT_EQ(text(result[0]), "op54 100 102 0 101\n"
                             "op248 200\n"
                             "op128 100 1000 400 400\n" // 10 = 1 + 1
                             "op128 100 300 1000 400\n" // 11 = 10 + 1, the result
                             "op128 100 1001 401 401\n"
                             "op128 100 301 1001 401\n"
                             "op253\n"
                             "op56\n");
}

TEST(InlineCalls, OnlyWhereItIsShorter) {
  struct Row {
    unsigned length, calls;
    bool is_inlined;
  };
  // A call has 5 words, an addition 5, the helper 13 more than its additions.
  const Row rows[] = {{1, 1, true}, {1, 50, true}, {2, 4, true}, {2, 5, false},
                      {4, 2, true}, {4, 3, false}, {9, 1, true}};
  for (const Row& row : rows) {
    const auto before = inlining_program(row.length, row.calls), after = inlined(before);
    const auto size = [](const auto& functions) {
      size_t n = 0;
      for (const auto& f : functions) n += f.size();
      return n;
    };
    EXPECT_EQ(after.size() == 1, row.is_inlined) << row.length << " additions, " << row.calls << " calls";
    EXPECT_LE(size(after), size(before));
  }
}

TEST(InlineCalls, LeavesWhatItMustNotTake) {
  EXPECT_EQ(inlined(inlining_program(1, 1), {10}).size(), 2u); // a decoration names the sum
  EXPECT_EQ(inlined(inlining_program(0, 1)).size(), 2u);       // hands something back that it did not make
  auto branching = inlining_program(1, 1);
  auto& words = branching[0];
  const uint32_t label[] = {2u << 16 | static_cast<uint32_t>(spv::Op::OpLabel), 55};
  words.insert(words.begin() + 10, label, label + 2);
  EXPECT_EQ(inlined(branching).size(), 2u);
}

} // namespace
} // namespace lanewise::spirv
