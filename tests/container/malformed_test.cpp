// Malformed files: an error or a valid result, never a crash (run these with the sanitizers too).
#include "container/load.hpp"

#include "test_data.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace lanewise::container {
namespace {

using Bytes = std::vector<uint8_t>;

/// What must hold of every result: an error says something; a binary is consistent.
void check(const Bytes& bytes) {
  const auto binary = load(bytes);
  if (!binary) {
    ASSERT_FALSE(binary.error().what.empty());
    return;
  }
  for (const Kernel& kernel : binary->kernels) {
    ASSERT_GE(binary->at(kernel.entry).size(), kernel.code_size);
    ASSERT_LE(kernel.descriptor.vgpr_count, 256u);
  }
  for (std::size_t i = 1; i < binary->segments.size(); ++i)
    ASSERT_LE(binary->segments[i - 1].address + binary->segments[i - 1].bytes.size(),
              binary->segments[i].address);
}

class EveryFile : public testing::TestWithParam<const char*> {};

TEST_P(EveryFile, TruncatedAtEveryLength) {
  const Bytes whole = test_file(GetParam());
  for (std::size_t length = 0; length < whole.size(); ++length)
    check({whole.begin(), whole.begin() + length});
}

TEST_P(EveryFile, EveryByteChanged) {
  const Bytes whole = test_file(GetParam());
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const int change : {0x01, 0x80, 0xff}) {
      Bytes bytes = whole;
      bytes[at] ^= uint8_t(change);
      check(bytes);
    }
}

/// Header fields are mostly 8 bytes wide: the largest and some awkward values at every aligned place.
TEST_P(EveryFile, EveryWordReplaced) {
  const Bytes whole = test_file(GetParam());
  const uint64_t values[] = {
      0, ~uint64_t{0}, uint64_t{1} << 63, 0x7fffffffffffffff, 0xffffffff00000000, whole.size()};
  for (std::size_t at = 0; at + 8 <= whole.size(); at += 8)
    for (const uint64_t value : values) {
      Bytes bytes = whole;
      std::memcpy(bytes.data() + at, &value, 8);
      check(bytes);
    }
}

INSTANTIATE_TEST_SUITE_P(, EveryFile, testing::Values("v3_w32.co", "v5_w32.co", "got.co", "bundle.hipfb"));

struct Refusal {
  const char* why;
  Bytes bytes;
  ErrorKind kind;
  const char* what; ///< part of the message
};

Bytes text(std::string_view s) { return {s.begin(), s.end()}; }

Bytes patched(const char* file, std::size_t at, std::initializer_list<uint8_t> with) {
  Bytes bytes = test_file(file);
  std::copy(with.begin(), with.end(), bytes.begin() + at);
  return bytes;
}

TEST(Load, RefusesByName) {
  const Bytes elf = test_file("v4_w32.co");
  const Refusal rows[] = {
      {"nothing", {}, ErrorKind::input, "empty"},
      {"text", text("hello"), ErrorKind::input, "not a container"},
      {"bitcode", text("BC\xC0\xDE...."), ErrorKind::unsupported, "LLVM bitcode"},
      {"SPIR-V", text("\x03\x02\x23\x07"), ErrorKind::unsupported, "SPIR-V"},
      {"compressed bundle", text("CCOB\x02"), ErrorKind::unsupported, "CCOB"},
      {"other processor", test_file("gfx906.co"), ErrorKind::unsupported, "gfx906"},
      {"version 6", test_file("v6.co"), ErrorKind::unsupported, "version 6"},
      {"version 2", patched("v4_w32.co", 8, {0}), ErrorKind::unsupported, "version 2"},
      {"PAL", patched("v4_w32.co", 7, {65}), ErrorKind::unsupported, "PAL"},
      {"Mesa", patched("v4_w32.co", 7, {66}), ErrorKind::unsupported, "mesa3d"},
      {"host program", patched("v4_w32.co", 18, {62, 0}), ErrorKind::unsupported, "machine 62"},
      {"32-bit ELF", patched("v4_w32.co", 4, {1}), ErrorKind::unsupported, "64-bit"},
      {"object file", patched("v4_w32.co", 16, {1, 0}), ErrorKind::unsupported, "not a linked"},
      {"no sections", patched("v4_w32.co", 60, {0, 0}), ErrorKind::input, "no section headers"},
      {"truncated", {elf.begin(), elf.begin() + 40}, ErrorKind::input, "truncated"},
      {"bundle of nothing", text("__CLANG_OFFLOAD_BUNDLE__\0\0\0\0\0\0\0\0"), ErrorKind::input, "truncated"},
  };
  for (const Refusal& row : rows) {
    const auto binary = load(row.bytes);
    ASSERT_FALSE(binary) << row.why;
    EXPECT_EQ(binary.error().kind, row.kind) << row.why << ": " << binary.error().to_string();
    EXPECT_NE(binary.error().to_string().find(row.what), std::string::npos)
        << row.why << ": " << binary.error().to_string();
  }
}

} // namespace
} // namespace lanewise::container
