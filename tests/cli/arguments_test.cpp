// --arg and its relatives: what each spelling becomes, and what is refused.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "cli/arguments.hpp"
#include "cli/made_up_launch.hpp"
#include "cli/outputs.hpp"

namespace lanewise::cli {
namespace {

using runtime::Argument;

/// A kernel of the given explicit arguments: (type name, kind, size).
container::Kernel kernel_of(std::vector<std::tuple<std::string, std::string, uint32_t>> arguments) {
  container::Kernel k;
  k.name = "k";
  k.has_metadata = true;
  uint32_t at = 0;
  for (auto& [type, kind, size] : arguments) {
    container::KernelArgument a;
    a.type_name = type, a.value_kind = kind, a.size = size, a.offset = at;
    at += 8;
    k.arguments.push_back(a);
  }
  return k;
}

std::string hex(const std::vector<uint8_t>& bytes) {
  std::string text;
  for (uint8_t b : bytes) text += "0123456789abcdef"[b >> 4], text += "0123456789abcdef"[b & 15];
  return text;
}

/// The bytes of one by-value argument, or the error.
std::string value_of(const std::string& text, const std::string& type, uint32_t size) {
  container::Kernel k = kernel_of({{type, "by_value", size}});
  runtime::Launch launch;
  launch.kernel = &k;
  if (auto ok = add_argument(launch, text); !ok) return ok.error().what;
  return hex(launch.arguments.at(0).value);
}

TEST(Arguments, Scalars) {
  struct {
    const char *text, *type;
    uint32_t size;
    const char* bytes;
  } const table[]{
      {"7u", "", 4, "07000000"},
      {"7", "", 8, "0700000000000000"},
      {"7", "uchar", 1, "07"},
      {"-3", "int", 4, "fdffffff"},
      {"-3", "", 2, "fdff"},
      {"0xff", "short", 2, "ff00"},
      {"0xffffffff", "int", 4, "ffffffff"},
      {"-1", "uint", 4, "-1 does not fit u32"},
      {"2.0f", "float", 4, "00000040"},
      {"2.0", "float", 4, "00000040"},
      {"2.0", "double", 8, "0000000000000040"},
      {"2.0", "", 8, "0000000000000040"},
      {"1e3f", "float", 4, "00007a44"},
      {"2.0h", "half", 2, "0040"},
      {"-inf", "float", 4, "000080ff"},
      {"5ul", "ulong", 8, "0500000000000000"},
      {"9i16", "", 2, "0900"},
      {"u16:258", "", 2, "0201"},
      {"f32:1.5", "", 4, "0000c03f"},
      {"2", "float", 4, "'2' is given, the kernel wants float"},
      {"2.0f", "uint", 4, "'2.0f' is given, the kernel wants uint"},
      {"300", "uchar", 1, "300 does not fit u8"},
      {"{1.0f,2.0f}", "float2", 8, "0000803f00000040"},
      {"{1,2,3}", "char3", 4, "01020300"},
      {"{1,2.0f}", "S", 8, "0100000000000040"},
      {"hex:00ff10", "S", 3, "00ff10"},
      {"hex:0", "S", 1, "'hex:0' is not pairs of hexadecimal digits"},
      {"seven", "int", 4, "'seven' is no argument"},
      {"", "int", 4, "'' is no argument"},
  };
  for (const auto& row : table) EXPECT_EQ(value_of(row.text, row.type, row.size), row.bytes) << row.text;
}

TEST(Arguments, Buffers) {
  container::Kernel k = kernel_of({});
  struct {
    const char *text, *name, *bytes;
  } const table[]{
      {"out:u16[3]=5", "out", "050005000500"}, {"u8[2*2]=iota", "arg0", "00010203"},
      {"x:i8[3]=1,-1,0x7f", "x", "01ff7f"},    {"x:f32[1]=0.5", "x", "0000003f"},
      {"x:u32[1]", "x", "00000000"},           {"x:u32[0]=0", "x", ""},
  };
  for (const auto& row : table) {
    runtime::Launch launch;
    launch.kernel = &k;
    auto ok = add_argument(launch, row.text);
    ASSERT_TRUE(ok) << row.text << ": " << ok.error().to_string();
    EXPECT_EQ(launch.buffers.at(0).name, row.name);
    EXPECT_EQ(hex(launch.buffers.at(0).contents), row.bytes) << row.text;
  }
  for (const char* text : {"x:u32[2]=1,2,3", "x:u32[2]=@/nonexistent", "x:q8[1]=0", "x:u8[1]=256",
                           "x:u32[9999999999]=0", "&y", "local:100000", "x:u8[1]=rand:x", "x:u8[1]=rand:1:0",
                           "x:u8[2]=0;2=1", "x:u8[2]=0;1", "x:u8[2]=0;1=256"}) {
    runtime::Launch launch;
    launch.kernel = &k;
    EXPECT_FALSE(add_argument(launch, text)) << text;
  }
}

TEST(Arguments, RandomIsTheSameEverywhere) {
  container::Kernel k = kernel_of({});
  runtime::Launch launch;
  launch.kernel = &k;
  ASSERT_TRUE(add_argument(launch, "a:u32[2]=rand:1"));
  ASSERT_TRUE(add_argument(launch, "b:f32[2]=rand:1"));
  ASSERT_TRUE(add_argument(launch, "&a"));
  EXPECT_EQ(launch.arguments[2].buffer, 0u);
  EXPECT_EQ(slice_text(launch, {0, 0, 2}, "a"), "a = 2433363436 3203108257");
  EXPECT_EQ(slice_text(launch, {1, 0, 1}, "b[0]"), "b[0] = 0.5665615");
}

TEST(Arguments, CheckedAgainstMetadata) {
  const container::Kernel k = kernel_of(
      {{"float*", "global_buffer", 8}, {"int*", "dynamic_shared_pointer", 4}, {"S", "by_value", 12}});
  auto check = [&](std::initializer_list<const char*> texts) -> std::string {
    runtime::Launch launch;
    launch.kernel = &k;
    for (const char* t : texts)
      if (auto ok = add_argument(launch, t); !ok) return ok.error().to_string();
    auto ok = check_launch(launch);
    return ok ? "ok" : ok.error().where + ": " + ok.error().what;
  };
  EXPECT_EQ(check({"out:f32[4]", "local:64", "{1,2,3}"}), "ok");
  EXPECT_EQ(check({"null", "local:64", "{1,2,3}"}), "ok");
  EXPECT_EQ(check({"out:f32[4]", "local:64"}), "kernel k: 2 arguments given, 3 wanted");
  EXPECT_EQ(check({"out:u32[4]", "local:64", "{1,2,3}"}),
            "kernel k, argument 0 'out:u32[4]': the kernel wants float*, the buffer holds u32");
  EXPECT_EQ(check({"7", "local:64", "{1,2,3}"}), "kernel k, argument 0 '7': the kernel wants a buffer here");
  EXPECT_EQ(check({"out:f32[4]", "4", "{1,2,3}"}),
            "kernel k, argument 1 '4': the kernel wants local memory here, as local:BYTES");
  EXPECT_EQ(check({"out:f32[4]", "local:64", "{1,2}"}),
            "kernel k, argument 2 '{1,2}': the kernel wants 12 bytes here, not 8");
  EXPECT_EQ(runtime::describe_arguments(k), "kernel k wants 3 arguments\n"
                                            "   0  -                float*               buffer\n"
                                            "   1  -                int*                 local memory\n"
                                            "   2  -                S                    value of 12 bytes");
}

TEST(Arguments, Generated) {
  const container::Kernel k = kernel_of({{"float4*", "global_buffer", 8},
                                         {"S*", "global_buffer", 8},
                                         {"int*", "dynamic_shared_pointer", 4},
                                         {"uint", "by_value", 4},
                                         {"float4", "by_value", 16}});
  runtime::Launch launch;
  launch.kernel = &k;
  for (const std::string& text : make_up_arguments(k, {.name = "a hundred", .elements = 100}, 1))
    ASSERT_TRUE(add_argument(launch, text)) << text;
  EXPECT_TRUE(check_launch(launch));
  EXPECT_EQ(launch.buffers.at(0).type, runtime::ElementType::f32);
  EXPECT_EQ(launch.buffers.at(1).contents.size(), 400u);
}

TEST(Extents, Forms) {
  EXPECT_EQ(parse_extent("4096", "--grid")->size, (std::array<uint32_t, 3>{4096, 1, 1}));
  EXPECT_EQ(parse_extent("64x32", "--grid")->size, (std::array<uint32_t, 3>{64, 32, 1}));
  EXPECT_EQ(parse_extent("1,2,3", "--grid")->dimensions, 3u);
  for (const char* text : {"", "0", "1,0", "1,2,3,4", "-1", "a", "99999999999"})
    EXPECT_FALSE(parse_extent(text, "--grid")) << text;
}

TEST(Slices, Forms) {
  runtime::Launch launch;
  launch.buffers.push_back({"out", runtime::ElementType::f32, std::vector<uint8_t>(40)});
  struct {
    const char* text;
    size_t begin, end;
  } const good[]{
      {"out", 0, 10}, {"out[3]", 3, 4}, {"out[2:5]", 2, 5}, {"out[7:]", 7, 10}, {"out[10:10]", 10, 10}};
  for (const auto& row : good) {
    auto s = parse_slice(launch, row.text);
    ASSERT_TRUE(s) << row.text;
    EXPECT_EQ(s->begin, row.begin);
    EXPECT_EQ(s->end, row.end);
  }
  for (const char* text : {"", "in", "out[10]", "out[5:2]", "out[0:11]", "out[", "out[99999999999999999999]"})
    EXPECT_FALSE(parse_slice(launch, text)) << text;
}

TEST(Pictures, FormatsAndErrors) {
  const std::string path = testing::TempDir() + "lanewise_picture.png";
  const runtime::Buffer rgba{"p", runtime::ElementType::u32, std::vector<uint8_t>(2 * 3 * 4, 0x80)};
  const runtime::Buffer unit{"p", runtime::ElementType::f32, std::vector<uint8_t>(2 * 3 * 4)};
  for (const auto& [buffer, target, good] :
       std::initializer_list<std::tuple<const runtime::Buffer*, std::string, bool>>{
           {&rgba, path + ":2x3", true},
           {&rgba, path + ":2x3:rgba8", true},
           {&rgba, path + ":2x3:gray", true},
           {&unit, path + ":2x3", true},
           {&rgba, path + ":2x4", false},
           {&rgba, path + ":2x3:cmyk", false},
           {&rgba, path + ":0x3", false},
           {&rgba, path, false},
           {&rgba, "/nonexistent/p.png:2x3", false}}) {
    auto ok = save_png(*buffer, target);
    EXPECT_EQ(ok.has_value(), good) << target << (ok ? "" : ok.error().to_string());
    if (!good) continue;
    std::ifstream in(path, std::ios::binary);
    char magic[4] = {};
    in.read(magic, 4);
    EXPECT_EQ(std::memcmp(magic, "\x89PNG", 4), 0);
  }
}

} // namespace
} // namespace lanewise::cli
