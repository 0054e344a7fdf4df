// Launches made up for kernels: what is made, and which one is taken.
#include "cli/made_up_launch.hpp"

#include "cli/arguments.hpp"
#include "runtime/execute.hpp"
#include "runtime/raw_kernel.hpp"

#include <cstring>

namespace lanewise::cli {
namespace {

using runtime::raw_kernel;

container::Kernel
named_kernel_of(std::vector<std::tuple<std::string, std::string, std::string, uint32_t>> arguments) {
  container::Kernel k;
  k.name = "k";
  k.has_metadata = true;
  k.uniform_workgroup_size = false;
  for (uint32_t at = 0; auto& [name, type, kind, size] : arguments) {
    k.arguments.push_back({.name = name, .type_name = type, .value_kind = kind, .offset = at, .size = size});
    at += 16;
  }
  return k;
}

TEST(MadeUpLaunch, ArgumentsByTypeAndKind) {
  const std::string pointer = "global_buffer", value = "by_value";
  const container::Kernel k = named_kernel_of({{"in", "float4*", pointer, 8},
                                               {"0", "S*", pointer, 8},
                                               {"l", "int*", "dynamic_shared_pointer", 4},
                                               {"m", "int*", "dynamic_shared_pointer", 4},
                                               {"n", "uint", value, 4},
                                               {"x", "float", value, 4},
                                               {"v", "int3", value, 16},
                                               {"s", "S", value, 8}});
  const Recipe recipe{.name = "r", .fill = Fill::small, .elements = 32};
  EXPECT_EQ(make_up_arguments(k, recipe, 9),
            (std::vector<std::string>{"in:f32[32]=rand:9:4", "arg1:u32[32]=rand:10:64", "local:16384",
                                      "local:16384", "u32:7", "f32:7.5", "{i32:7,i32:7,i32:7,i32:7}",
                                      "hex:0700000007000000"}));
  for (const Recipe& r : recipes()) {
    const MadeUpLaunch made_up = make_up(k, r, 1);
    const container::ShaderBinary binary;
    const auto launch = launch_of(binary, k, made_up);
    ASSERT_TRUE(launch) << r.name << ": " << launch.error().to_string();
    EXPECT_TRUE(runtime::check_launch(*launch)) << r.name;
  }
}

TEST(MadeUpLaunch, ShapesThatTheKernelAllows) {
  struct {
    Shape shape;
    bool uniform;
    std::optional<std::array<uint32_t, 3>> required;
    uint32_t most;
    const char* text;
  } const table[]{
      {Shape::cut_row, false, {}, 1024, "--grid 101 --block 64,1,1"},
      {Shape::cut_row, true, {}, 1024, "--grid 128 --block 64,1,1"},
      {Shape::cut_row, false, {}, 16, "--grid 26 --block 16,1,1"},
      {Shape::cut_plane, false, {}, 1024, "--grid 26,7 --block 16,4,1"},
      {Shape::cut_plane, false, {{8, 8, 2}}, 1024, "--grid 13,13,2 --block 8,8,2"},
      {Shape::row, false, {{256, 1, 1}}, 256, "--grid 512 --block 256,1,1"},
      {Shape::one, true, {}, 1024, "--grid 64 --block 64,1,1"},
      {Shape::few, true, {}, 1024, "--grid 4 --block 4,1,1"},
      {Shape::few, false, {{8, 1, 1}}, 1024, "--grid 8 --block 8,1,1"},
  };
  for (const auto& row : table) {
    container::Kernel k = named_kernel_of({});
    k.uniform_workgroup_size = row.uniform;
    k.required_workgroup_size = row.required;
    k.max_flat_workgroup_size = row.most;
    EXPECT_EQ(command_line(make_up(k, {.name = "r", .shape = row.shape}, 1)), row.text);
  }
}

TEST(MadeUpLaunch, VariedNumbersFitTheirTypes) {
  const std::string value = "by_value";
  const container::Kernel k = named_kernel_of({{"a", "char", value, 1},
                                               {"b", "ushort", value, 2},
                                               {"c", "int", value, 4},
                                               {"d", "ulong", value, 8},
                                               {"e", "half", value, 2},
                                               {"f", "double", value, 8},
                                               {"g", "S", value, 12}});
  const container::ShaderBinary binary;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto launch = launch_of(binary, k, make_up(k, {.name = "r", .number = {}}, seed));
    ASSERT_TRUE(launch) << seed << ": " << launch.error().to_string();
    EXPECT_TRUE(runtime::check_launch(*launch)) << seed;
  }
}

/// With two workgroups that write one word nothing is determined; the recipe with one workgroup is taken.
TEST(MadeUpLaunch, DeterminedOnesGoFirst) {
  const auto binary = raw_kernel(runtime::stores_group);
  const auto found = find_launch(binary, binary.kernels[0], {});
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_TRUE(found->wrote && found->determined);
  EXPECT_EQ(found->recipe, "one group");
}

/// The clock is never determined, but better than a launch that writes nothing.
TEST(MadeUpLaunch, OthersThatWriteGoSecond) {
  const auto binary = raw_kernel(runtime::stores_clock);
  const auto found = find_launch(binary, binary.kernels[0], {});
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_TRUE(found->wrote);
  EXPECT_FALSE(found->determined);
}

/// The kernel stores only if one element is another with all bits turned: one compare is fulfilled.
TEST(MadeUpLaunch, AimsAtGuesses) {
  for (const std::string type : {"uint*", "int*"}) {
    const auto binary =
        raw_kernel(runtime::stores_if_guessed, R"({"name": "out", "kind": "global_buffer", "type": ")" +
                                                   type + R"(", "offset": 0, "size": 8})");
    const auto found = find_launch(binary, binary.kernels[0], {});
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(found->recipe, "aimed");
    EXPECT_TRUE(found->wrote && found->determined);
    const std::string& argument = found->launch.arguments.at(0);
    EXPECT_NE(argument.find(";2=0x"), std::string::npos) << argument;
    const auto launch = launch_of(binary, binary.kernels[0], found->launch);
    ASSERT_TRUE(launch);
    uint32_t guess = 0, secret = 0;
    std::memcpy(&guess, &launch->buffers[0].contents[8], 4);
    std::memcpy(&secret, &launch->buffers[0].contents[12], 4);
    EXPECT_EQ(guess, ~secret);
  }
}

TEST(MadeUpLaunch, Refusals) {
  const auto endless = raw_kernel(R"("0xbf82ffff")");
  const auto none = find_launch(endless, endless.kernels[0], {.most_instructions = 1000});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::limit);
  const auto image =
      raw_kernel(runtime::stores_group, R"({"name": "i", "kind": "image", "offset": 0, "size": 8})");
  const auto refused = find_launch(image, image.kernels[0], {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
}

} // namespace
} // namespace lanewise::cli
