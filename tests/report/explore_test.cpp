// What the page of `lanewise explore` is made of; explore_page.py looks at the page itself.
#include "report/explore.hpp"

#include "example.hpp"

#include "ir/parser.hpp"
#include "passes/passes.hpp"
#include "report/explore_graph.hpp"
#include "report/mask_text.hpp"
#include "runtime/disassemble.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include <regex>

namespace lanewise::report {
namespace {

constexpr const char* kExamples[] = {"saxpy",      "mandelbrot.w32", "matmul.w64",  "nbody.w32",
                                     "reduce.w64", "bitonic.w32",    "collatz.w32", "sha256.w64"};

/// Asking where instructions come from changes no word, and answers for most of them.
TEST(Explore, OriginsChangeNothing) {
  for (const char* name : kExamples)
    for (const unsigned lanes : {1u, 8u, 32u}) {
      const auto binary = example(name);
      ASSERT_FALSE(binary.kernels.empty());
      runtime::CompileOptions options;
      options.host.subgroup_size = lanes;
      options.host.subgroup_operations = lanes > 1;
      const auto plain = runtime::compile(binary, binary.kernels[0], options);
      uint32_t values = 0;
      options.trace = true;
      options.look = [&](runtime::Stage, const ir::Program& p) { values = p.main.value_count(); };
      const auto traced = runtime::compile(binary, binary.kernels[0], options);
      ASSERT_TRUE(plain && traced) << name;
      EXPECT_EQ(plain->module.words, traced->module.words) << name;
      EXPECT_TRUE(plain->module.origins.empty());
      const auto lines = runtime::disassemble_spirv(traced->module.words);
      ASSERT_TRUE(lines);
      ASSERT_EQ(lines->size(), traced->module.origins.size()) << name;
      // "OpEntryPoint GLCompute %main "main" ...", and the code of that function.
      const auto entry =
          std::ranges::find_if(*lines, [](const auto& l) { return l.starts_with("OpEntryPoint"); });
      ASSERT_NE(entry, lines->end());
      const size_t at = entry->find('%');
      const std::string start = entry->substr(at, entry->find(' ', at) - at) + " = OpFunction ";
      size_t known = 0, code = 0;
      bool inside = false;
      for (size_t i = 0; i < lines->size(); ++i) {
        const spirv::Origin& o = traced->module.origins[i];
        inside |= (*lines)[i].starts_with(start);
        EXPECT_EQ(o.function, 0u) << name;
        EXPECT_LT(o.value.index, values) << name;
        EXPECT_TRUE(inside || !o.value) << name << ": " << (*lines)[i];
        code += inside;
        known += bool(o.value);
        inside = inside && !(*lines)[i].starts_with("OpFunctionEnd");
      }
      EXPECT_GT(known * 10, code * 7) << name << " on " << lanes;
    }
}

struct MaskCase {
  const char* body; ///< the last store's mask is spelled
  const char* text;
};

constexpr MaskCase kMasks[] = {
    {"%m = u1 and %e, %lt", "launched & local_id_x <u 64"},
    {"%k = u1 ule i32 64, %x\n %m = u1 and %e, %k", "launched & local_id_x >=u 64"},
    {"%k = u1 not %lt\n %m = u1 and %e, %k", "launched & local_id_x >=u 64"},
    {"%k = u1 eq %x, i32 3\n %m = u1 or %k, %lt", "local_id_x <u 64 | local_id_x == 3"},
    {"%k = u1 slt %y, i32 0\n %m = u1 and %k, %lt", "local_id_x <u 64 & local_id_y < 0"},
    {"%k = u1 eq %x, i32 64\n %m = u1 or %lt, %k", "local_id_x <=u 64"},
    {"%k = u1 eq %x, %y\n %n = u1 not %k\n %m = u1 and %e, %n", "launched & local_id_x != local_id_y"},
    {"%f = f32 bitcast %x\n %g = f32 bitcast %y\n %m = u1 fcmp.l %f, %g", "local_id_x < local_id_y"},
    {"%f = f32 bitcast %x\n %g = f32 bitcast %y\n %k = u1 fcmp.eg %f, %g\n %m = u1 not %k",
     "!(local_id_x >= local_id_y)"},
    {"%p = i32 load.lds.4 %x, %e @0x48\n %q = i32 load.lds.4 %y, %e @0x48\n %m = u1 ult %p, %q",
     "load@0x48 <u load.2@0x48"},
    {"%l = i32 lane_id\n %m = u1 ult %l, i32 8", "lane in 0-7"},
    {"%l = i32 lane_id\n %k = u1 ult %l, i32 8\n %m = u1 and %k, %lt", "lane in 0-7 & local_id_x <u 64"},
    {"%k = u1 eq %y, i32 1\n %j = u1 eq %y, i32 2\n %m = u1 select %k, %lt, %j",
     "local_id_y == 2 ? local_id_x <u 64 | local_id_y != 1 : local_id_x <u 64 & local_id_y == 1"},
    {"%a = i32 add %x, %y\n %b = i32 mul %a, i32 5\n %m = u1 eq %b, i32 7",
     "((local_id_x + local_id_y) * 5) == 7"},
};

TEST(Explore, MasksInWords) {
  for (const MaskCase& c : kMasks) {
    const auto f = ir::parse(std::string("function \"t\" wave32 lds 4096 scratch 0 {\nb0:\n"
                                         " %e = u1 input.initial_exec\n %x = i32 input.local_id_x\n"
                                         " %y = i32 input.local_id_y\n %lt = u1 ult %x, i32 64\n ") +
                             c.body + "\n store.lds.4 %x, %m, %y\n ret\n}\n");
    ASSERT_TRUE(f) << c.body << f.error().to_string();
    analysis::MaskAlgebra masks(*f);
    MaskText text(*f, masks);
    const auto& list = f->blocks[0].instructions;
    EXPECT_EQ(text(masks.formula_of(f->operand(list[list.size() - 2], 1))), c.text) << c.body;
  }
}

/// A long chain has one name for each link, and none is longer than a line.
TEST(Explore, NestedMasksAreSaidByNames) {
  std::string body = "function \"t\" wave32 lds 4096 scratch 0 {\nb0:\n %m0 = u1 input.initial_exec\n"
                     " %x = i32 input.local_id_x\n";
  for (int i = 1; i <= 300; ++i)
    body += fmt::format(" %l{0} = i32 load.lds.4 %x, %m{1}\n %c{0} = u1 slt %l{0}, i32 {0}\n"
                        " %m{0} = u1 and %m{1}, %c{0}\n store.lds.4 %x, %m{0}, %l{0}\n",
                        i, i - 1);
  const auto f = ir::parse(body + " ret\n}\n");
  ASSERT_TRUE(f) << f.error().to_string();
  analysis::MaskAlgebra masks(*f);
  MaskText text(*f, masks);
  std::vector<std::string> said;
  for (const ir::Value v : f->blocks[0].instructions) {
    if ((*f)[v].op != ir::Op::store) continue;
    const auto mask = masks.formula_of(f->operand(v, 1));
    said.push_back(text(mask));
    text.call(mask, fmt::format("E{}", said.size()));
  }
  ASSERT_EQ(said.size(), 300u);
  EXPECT_EQ(said[0], "launched & load < 1");
  EXPECT_EQ(said[299], "E299 & load < 300");
  // Without names the oldest conditions are left out.
  MaskText plain(*f, masks);
  const auto last = f->blocks[0].instructions[f->blocks[0].instructions.size() - 2];
  EXPECT_LT(plain(masks.formula_of(f->operand(last, 1))).size(), 500u);
}

TEST(Explore, EverythingOfAKernel) {
  for (const char* name : kExamples) {
    const auto binary = example(name);
    const auto data = explore(binary, binary.kernels[0], {});
    ASSERT_TRUE(data) << data.error().to_string();
    EXPECT_EQ(data->guest.size(), data->code.instructions.size());
    ASSERT_FALSE(data->formulas.empty()) << name;
    EXPECT_EQ(data->guest[0].exec, 0u);
    uint32_t most = 0;
    for (const ExploreGuest& g : data->guest) most = std::max(most, g.after.per_lane);
    EXPECT_EQ(most, data->record.metrics.at("live_lane.after")) << name;
    const auto lit = [](const std::vector<ExploreLine>& lines) {
      return std::ranges::count_if(lines, [](const ExploreLine& l) { return l.guest != kNoIndex; });
    };
    EXPECT_GT(lit(data->optimised), 10) << name;
    EXPECT_GT(lit(data->spirv), 10) << name;
    double kept = 0;
    for (const auto& [metric, value] : data->record.metrics)
      if (metric.starts_with("selects.kept.")) kept += value;
    EXPECT_EQ(static_cast<double>(data->kept.size()), kept) << name;
    const std::string page = to_html(*data);
    EXPECT_EQ(page.find("http"), std::string::npos) << "the page asks for something from outside";
    EXPECT_NE(page.find("<title>" + binary.kernels[0].name + "</title>"), std::string::npos);
  }
}

/// Blocks do not lie on each other, and all that the entry reaches are there.
TEST(Explore, GraphLayout) {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    const uint32_t count = 2 + random() % 40;
    std::vector<GraphNode> nodes(count);
    for (uint32_t n = 0; n < count; ++n) {
      nodes[n].title = fmt::format("b{}", n);
      if (n + 1 < count) nodes[n].successors.push_back(n + 1);
      if (random() % 2) nodes[n].successors.push_back(static_cast<uint32_t>(random() % count));
    }
    const std::string svg = graph_svg(nodes);
    const std::regex box("<rect x='([-0-9.]+)' y='([-0-9.]+)' width='([0-9.]+)' height='([0-9.]+)'");
    std::vector<std::array<double, 4>> boxes;
    for (std::sregex_iterator it(svg.begin(), svg.end(), box), end; it != end; ++it)
      boxes.push_back({std::stod((*it)[1]), std::stod((*it)[2]), std::stod((*it)[3]), std::stod((*it)[4])});
    ASSERT_EQ(boxes.size(), count);
    for (size_t a = 0; a < boxes.size(); ++a)
      for (size_t b = 0; b < a; ++b)
        EXPECT_FALSE(boxes[a][0] < boxes[b][0] + boxes[b][2] && boxes[b][0] < boxes[a][0] + boxes[a][2] &&
                     boxes[a][1] < boxes[b][1] + boxes[b][3] && boxes[b][1] < boxes[a][1] + boxes[a][3])
            << a << " on " << b << "\n"
            << svg;
  }
}

} // namespace
} // namespace lanewise::report
