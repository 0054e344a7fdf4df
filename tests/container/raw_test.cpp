#include "container/load.hpp"
#include "container/raw.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace lanewise::container {
namespace {

Expected<ShaderBinary> load_text(std::string_view json, const LoadOptions& options = {}) {
  return load(std::span(reinterpret_cast<const uint8_t*>(json.data()), json.size()), options);
}

constexpr std::string_view whole = R"({
  "format": "lanewise-raw-1", "target": "gfx1030", "address": "0x2000",
  "words": ["0x7e000280", 3212836864, "0xbf810000"],
  "data": [{"address": "0x8000", "words": [1, 2]}],
  "functions": [{"name": "tail", "entry": 8, "size": 4}],
  "kernels": [{"name": "k", "entry": 0, "size": 12, "wave": 64, "vgprs": 20, "lds": 64, "scratch": 16,
               "float_mode": {"denorm_32": 0}, "ieee": false,
               "user_sgprs": ["kernarg_segment_ptr", "dispatch_ptr"], "workgroup_ids": "xz", "workitem_ids": 2,
               "workgroup_size": [64, 1, 1],
               "args": [{"name": "p", "kind": "global_buffer", "offset": 0, "size": 8},
                        {"name": "n", "offset": 8, "size": 4}]}]
})";

TEST(Raw, NamedFields) {
  const auto binary = load_text(whole);
  ASSERT_TRUE(binary) << binary.error().to_string();
  EXPECT_EQ(binary->format, "raw");
  ASSERT_EQ(binary->segments.size(), 2u);
  EXPECT_EQ(binary->at(0x8004)[0], 2);
  ASSERT_EQ(binary->kernels.size(), 1u);
  const Kernel& kernel = binary->kernels[0];
  EXPECT_EQ(kernel.entry, 0x2000u);
  EXPECT_EQ(kernel.code_size, 12u);
  EXPECT_EQ(binary->at(kernel.entry)[3], 0x7e);
  EXPECT_EQ(binary->function_at(0x2008)->name, "tail");
  const KernelDescriptor& d = kernel.descriptor;
  EXPECT_FALSE(d.wave32);
  EXPECT_EQ(d.vgpr_count, 20u);
  EXPECT_EQ(d.group_segment_fixed_size, 64u);
  EXPECT_TRUE(d.scratch_enabled);
  EXPECT_EQ(d.float_mode.denorm_32, 0);
  EXPECT_EQ(d.float_mode.denorm_16_64, 3);
  EXPECT_FALSE(d.ieee);
  EXPECT_TRUE(d.dx10_clamp);
  EXPECT_EQ(d.user.count, 4);
  EXPECT_TRUE(d.user.kernarg_segment_ptr && d.user.dispatch_ptr && !d.user.queue_ptr);
  EXPECT_TRUE(d.workgroup_id_x && !d.workgroup_id_y && d.workgroup_id_z);
  EXPECT_EQ(d.workitem_id_vgprs, 2);
  EXPECT_EQ(d.kernarg_size, 12u);
  EXPECT_EQ(kernel.required_workgroup_size, (std::array<uint32_t, 3>{64, 1, 1}));
  EXPECT_EQ(kernel.arguments[1].value_kind, "by_value");
}

TEST(Raw, RegistersWin) {
  const auto binary = load_text(R"({"format": "lanewise-raw-1", "words": [3212902400],
    "kernels": [{"rsrc1": "0x00ac0001", "rsrc2": "0x88", "vgprs": 99}]})");
  ASSERT_TRUE(binary) << binary.error().to_string();
  EXPECT_EQ(binary->kernels[0].name, "main");
  EXPECT_EQ(binary->kernels[0].descriptor.vgpr_count, 16u);
  EXPECT_EQ(binary->kernels[0].descriptor.user.count, 4);
  EXPECT_FALSE(binary->kernels[0].has_metadata);
}

TEST(Raw, CodeFile) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "lanewise_raw_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "code.bin", std::ios::binary).write("\x00\x00\x81\xbf", 4);
  std::ofstream(folder / "d.json")
      << R"({"format": "lanewise-raw-1", "code_file": "code.bin", "kernels": [{}]})";
  const auto binary = load_file(folder / "d.json");
  ASSERT_TRUE(binary) << binary.error().to_string();
  EXPECT_EQ(binary->kernels[0].code_size, 4u);
  std::filesystem::remove_all(folder);
}

TEST(Raw, CodeInMemory) {
  const std::string_view json = R"({"format": "lanewise-raw-1", "kernels": [{}]})";
  const uint8_t code[] = {0, 0, 0x81, 0xbf};
  const auto binary =
      load_raw_code(std::span(reinterpret_cast<const uint8_t*>(json.data()), json.size()), code);
  ASSERT_TRUE(binary) << binary.error().to_string();
  EXPECT_EQ(binary->at(binary->kernels[0].entry).size(), 4u);
}

TEST(Raw, Refused) {
  struct Row {
    const char *json, *what;
  };
  const Row rows[] = {
      {"{", "not valid JSON"},
      {"{}", "\"format\""},
      {R"({"format": "lanewise-raw-1", "words": [], "kernels": [{}]})", "leaves the code"},
      {R"({"format": "lanewise-raw-1", "words": [1]})", "no kernels"},
      {R"({"format": "lanewise-raw-1", "words": [-1], "kernels": [{}]})", "\"words\""},
      {R"({"format": "lanewise-raw-1", "words": [4294967296], "kernels": [{}]})", "\"words\""},
      {R"({"format": "lanewise-raw-1", "words": ["0xg"], "kernels": [{}]})", "\"words\""},
      {R"({"format": "lanewise-raw-1", "words": [1], "kernels": [{"wave": 16}]})", "\"wave\""},
      {R"({"format": "lanewise-raw-1", "words": [1], "kernels": [{"entry": 4}]})", "leaves the code"},
      {R"({"format": "lanewise-raw-1", "words": [1], "kernels": [{"entry": 2}]})", "leaves the code"},
      {R"({"format": "lanewise-raw-1", "words": [1], "kernels": [{"size": 8}]})", "leaves the code"},
      {R"({"format": "lanewise-raw-1", "words": [1], "kernels": [{"colour": 8}]})", "unknown field"},
      {R"({"format": "lanewise-raw-1", "words": [1], "kernels": [{"user_sgprs": ["x"]}]})", "no user SGPR"},
      {R"({"format": "lanewise-raw-1", "words": [1], "kernels": [{"stage": "x"}]})", "no stage"},
      {R"({"format": "lanewise-raw-1", "words": [1], "kernels": [{"args": [{}]}]})", "offset"},
      {R"({"format": "lanewise-raw-1", "words": [1], "target": "gfx900", "kernels": [{}]})", "not RDNA2"},
      {R"({"format": "lanewise-raw-1", "code_file": "../x", "kernels": [{}]})", "plain file name"},
      {R"({"format": "lanewise-raw-1", "code_file": "x", "kernels": [{}]})", "not opened here"},
      {R"({"format": "lanewise-raw-1", "words": [1], "data": [{"address": 4096, "words": [1]}], "kernels": [{}]})",
       "overlaps"},
  };
  for (const Row& row : rows) {
    const auto binary = load_text(row.json);
    ASSERT_FALSE(binary) << row.json;
    EXPECT_NE(binary.error().to_string().find(row.what), std::string::npos) << binary.error().to_string();
  }
  // Deep nesting neither overflows the stack nor takes long.
  EXPECT_FALSE(load_text("{\"a\":" + std::string(1000000, '[')));
}

} // namespace
} // namespace lanewise::container
