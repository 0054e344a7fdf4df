#include "container/load.hpp"

#include "test_data.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace lanewise::container {
namespace {

ShaderBinary load_test(const std::string& name, const LoadOptions& options = {}) {
  auto binary = load(test_file(name), options);
  EXPECT_TRUE(binary) << name << ": " << binary.error().to_string();
  return binary ? *binary : ShaderBinary{};
}

std::vector<std::string> names(const auto& things) {
  std::vector<std::string> out;
  for (const auto& thing : things) out.push_back(thing.name);
  return out;
}

struct GoodFile {
  std::string file, format, target;
  std::vector<std::string> kernels;
  bool wave32;
};

class GoodFiles : public testing::TestWithParam<GoodFile> {};

TEST_P(GoodFiles, IsLoaded) {
  const GoodFile& want = GetParam();
  const ShaderBinary binary = load_test(want.file);
  EXPECT_EQ(binary.format, want.format);
  EXPECT_EQ(binary.target, want.target);
  EXPECT_EQ(names(binary.kernels), want.kernels);
  for (const Kernel& kernel : binary.kernels) {
    EXPECT_EQ(kernel.descriptor.wave32, want.wave32);
    EXPECT_GT(kernel.code_size, 0u);
    ASSERT_GE(binary.at(kernel.entry).size(), kernel.code_size);
    // Every kernel of these files ends with s_endpgm.
    uint32_t last;
    std::memcpy(&last, binary.at(kernel.entry).data() + kernel.code_size - 4, 4);
    EXPECT_EQ(last, 0xBF810000u) << kernel.name;
    const Symbol* symbol = binary.function_at(kernel.entry + 4);
    ASSERT_TRUE(symbol);
    EXPECT_EQ(symbol->name, kernel.name);
  }
}

INSTANTIATE_TEST_SUITE_P(
    , GoodFiles,
    testing::Values(
        GoodFile{"v3_w32.co", "hsa-code-object-v3", "amdgcn-amd-amdhsa--gfx1030", {"scale", "tile"}, true},
        GoodFile{"v4_w32.co", "hsa-code-object-v4", "amdgcn-amd-amdhsa--gfx1030", {"scale", "tile"}, true},
        GoodFile{"v5_w32.co",
                 "hsa-code-object-v5",
                 "amdgcn-amd-amdhsa--gfx1030",
                 {"scale", "tile", "calls"},
                 true},
        GoodFile{"v5_w64.co", "hsa-code-object-v5", "amdgcn-amd-amdhsa--gfx1030", {"scale", "tile"}, false},
        GoodFile{"gfx1031.co", "hsa-code-object-v5", "amdgcn-amd-amdhsa--gfx1031", {"scale", "tile"}, true},
        GoodFile{"got.co", "hsa-code-object-v5", "amdgcn-amd-amdhsa--gfx1030", {"through_got"}, true},
        GoodFile{
            "bundle.hipfb", "hsa-code-object-v5", "amdgcn-amd-amdhsa--gfx1030", {"scale", "tile"}, false}));

TEST(CodeObject, MetadataOfArguments) {
  struct Row {
    std::string name, type, kind, space;
    uint32_t offset, size;
  };
  const Row rows[] = {{"out", "float*", "global_buffer", "global", 0, 8},
                      {"in", "float*", "global_buffer", "global", 8, 8},
                      {"factor", "float", "by_value", "", 16, 4},
                      {"count", "uint", "by_value", "", 20, 4}};
  for (const char* file : {"v3_w32.co", "v4_w32.co", "v5_w32.co", "v5_w64.co"}) {
    const ShaderBinary binary = load_test(file);
    const Kernel* kernel = binary.find_kernel("scale");
    ASSERT_TRUE(kernel) << file;
    EXPECT_TRUE(kernel->has_metadata);
    ASSERT_GE(kernel->arguments.size(), std::size(rows));
    for (std::size_t i = 0; i < std::size(rows); ++i) {
      const KernelArgument& argument = kernel->arguments[i];
      EXPECT_EQ(argument.name, rows[i].name);
      EXPECT_EQ(argument.type_name, rows[i].type);
      EXPECT_EQ(argument.value_kind, rows[i].kind);
      EXPECT_EQ(argument.address_space, rows[i].space);
      EXPECT_EQ(argument.offset, rows[i].offset);
      EXPECT_EQ(argument.size, rows[i].size);
      EXPECT_FALSE(argument.hidden());
    }
    EXPECT_EQ(binary.find_kernel("none"), nullptr);
  }
}

TEST(CodeObject, HiddenArgumentsAndSizes) {
  const ShaderBinary binary = load_test("v5_w32.co");
  const Kernel* calls = binary.find_kernel("calls");
  ASSERT_TRUE(calls);
  EXPECT_TRUE(std::ranges::any_of(calls->arguments, &KernelArgument::hidden));
  EXPECT_TRUE(calls->descriptor.uses_dynamic_stack);
  EXPECT_TRUE(calls->descriptor.scratch_enabled);
  EXPECT_TRUE(calls->descriptor.user.kernarg_segment_ptr);
  const Kernel* tile = binary.find_kernel("tile");
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->required_workgroup_size, (std::array<uint32_t, 3>{8, 4, 2}));
  EXPECT_EQ(tile->max_flat_workgroup_size, 64u);
  EXPECT_EQ(tile->descriptor.group_segment_fixed_size, 256u);
  EXPECT_EQ(tile->descriptor.workitem_id_vgprs, 3u);
  EXPECT_TRUE(tile->descriptor.workgroup_id_y);
}

uint64_t word64(const ShaderBinary& binary, uint64_t address) {
  uint64_t value = 0;
  if (binary.at(address).size() >= 8) std::memcpy(&value, binary.at(address).data(), 8);
  return value;
}

uint64_t address_of(const ShaderBinary& binary, std::string_view name) {
  const auto found = std::ranges::find(binary.symbols, name, &Symbol::name);
  return found == binary.symbols.end() ? 0 : found->address;
}

TEST(CodeObject, RelativeRelocationsFillTablesOfFunctions) {
  const ShaderBinary binary = load_test("v5_w32.co");
  const uint64_t steps = address_of(binary, "steps");
  ASSERT_NE(steps, 0u);
  EXPECT_EQ(binary.pointers, (std::vector<uint64_t>{steps, steps + 8}));
  EXPECT_EQ(word64(binary, steps), address_of(binary, "add_one"));
  EXPECT_EQ(word64(binary, steps + 8), address_of(binary, "triple"));
  EXPECT_EQ(binary.function_at(word64(binary, steps + 8))->name, "triple");
}

TEST(CodeObject, GlobalOffsetTableHoldsTheObject) {
  const ShaderBinary binary = load_test("got.co");
  const uint64_t table = address_of(binary, "table");
  ASSERT_NE(table, 0u);
  ASSERT_EQ(binary.pointers.size(), 2u);
  EXPECT_EQ(std::ranges::count_if(binary.pointers, [&](uint64_t at) { return word64(binary, at) == table; }),
            1);
  EXPECT_EQ(word64(binary, table + 16), table + 8);
}

TEST(CodeObject, ConstantAndWritableData) {
  const ShaderBinary binary = load_test("v5_w32.co");
  const uint64_t primes = address_of(binary, "primes"), counter = address_of(binary, "counter");
  EXPECT_EQ(word64(binary, primes), 2 | uint64_t{3} << 32);
  ASSERT_TRUE(binary.segment_at(counter));
  EXPECT_TRUE(binary.segment_at(counter)->writable);
  EXPECT_FALSE(binary.segment_at(primes)->writable);
  EXPECT_EQ(binary.at(counter)[0], 7);
  EXPECT_TRUE(binary.at(0x100000).empty());
  EXPECT_EQ(binary.segment_at(~uint64_t{0}), nullptr);
}

TEST(ShaderBinary, CodeOfUnknownSizeEndsAtTheNextFunctionOrPadding) {
  const uint32_t words[] = {0xbf800000, 0xbf810000, 0xbf9f0000, 0xbf800001,
                            0xbf810000, 0xbf9f0000, 0xbf9f0000};
  ShaderBinary binary;
  binary.segments.push_back(
      {.address = 0x100, .bytes = std::vector<uint8_t>(sizeof words), .executable = true});
  std::memcpy(binary.segments[0].bytes.data(), words, sizeof words);
  binary.kernels.push_back({.name = "a", .entry = 0x100});
  binary.kernels.push_back({.name = "b", .entry = 0x10c});
  binary.kernels.push_back({.name = "c", .entry = 0x10c, .code_size = 12});
  binary.kernels.push_back({.name = "nowhere", .entry = 0x800});
  const std::size_t sizes[] = {8, 8, 12, 0};
  for (std::size_t i = 0; i < std::size(sizes); ++i)
    EXPECT_EQ(binary.code_of(binary.kernels[i]).size(), sizes[i]) << binary.kernels[i].name;
  binary.symbols.push_back({"f", 0x104, 0, Symbol::Kind::function});
  EXPECT_EQ(binary.code_of(binary.kernels[0]).size(), 4u);
  EXPECT_EQ(binary.code_of(binary.symbols[0]).size(), 4u);
}

TEST(Bundle, PicksTheTarget) {
  EXPECT_EQ(load_test("bundle.hipfb", {.target = "gfx1031"}).target, "amdgcn-amd-amdhsa--gfx1031");
  EXPECT_EQ(load_test("bundle.hipfb", {.target = "hipv4-amdgcn-amd-amdhsa--gfx1030"}).kernels.size(), 2u);
  const auto none = load(test_file("bundle.hipfb"), {.target = "gfx1036"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::call);
  EXPECT_NE(none.error().hint.find("hip-amdgcn-amd-amdhsa--gfx906"), std::string::npos) << none.error().hint;
  const auto other = load(test_file("bundle.hipfb"), {.target = "gfx906"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::unsupported);
}

TEST(Load, FileNamesThePath) {
  const auto missing = load_file("/nowhere/a.co");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::system);
  EXPECT_EQ(missing.error().where, "/nowhere/a.co");
  const auto folder = load_file(LANEWISE_TEST_DATA);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().kind, ErrorKind::system);
}

} // namespace
} // namespace lanewise::container
