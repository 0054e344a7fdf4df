// The programs of examples/ as clang compiled them, with the launches of scripts/demo and what the same
// source computes on the host (examples/host).
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zstd.h>

#include "container/load.hpp"
#include "runtime/launch.hpp"

namespace lanewise::runtime {

struct ExampleArgument {
  const char* buffer = nullptr; ///< name; null: a value
  ElementType type = ElementType::u32;
  size_t count = 0;
  uint64_t seed = 0;           ///< of random contents; 0: zeros
  std::vector<uint32_t> words; ///< contents or value, 32 bits each
};

struct Example {
  const char *file, *kernel;
  std::array<uint32_t, 3> grid, block;
  std::vector<ExampleArgument> arguments;
  std::vector<std::pair<const char*, uint64_t>> results; ///< buffer and the FNV-1a hash of its bytes
};

inline uint32_t float_bits(float f) { return std::bit_cast<uint32_t>(f); }

inline const std::vector<Example>& examples() {
  using enum ElementType;
  static const std::vector<Example> table{
      {"mandelbrot",
       "mandelbrot",
       {480, 360, 1},
       {16, 16, 1},
       {{"picture", u32, 480 * 360, 0, {}},
        {.words = {480}},
        {.words = {360}},
        {.words = {float_bits(-2.2f)}},
        {.words = {float_bits(-1.2f)}},
        {.words = {float_bits(0.0066666f)}},
        {.words = {200}}},
       {{"picture", 0x8ea2a84c3117c5ad}}},
      {"matmul",
       "matmul",
       {128, 128, 1},
       {16, 16, 1},
       {{"c", f32, 128 * 128, 0, {}},
        {"a", f32, 128 * 128, 1, {}},
        {"b", f32, 128 * 128, 2, {}},
        {.words = {128}}},
       {{"c", 0xe5a432313e505f98}}},
      {"sha256",
       "sha256_search",
       {4096, 1, 1},
       {256, 1, 1},
       {{"found", u32, 2, 0, {}},
        {"wanted",
         u32,
         8,
         0,
         {0xa24e4232, 0xb7275b9c, 0xf5f2badb, 0x07103ec4, 0xa29ad896, 0xf061d5ab, 0xfdec4b24, 0x99c8b095}},
        {.words = {4}}},
       {{"found", 0xc9b98cefad3287bd}}},
      {"reduce",
       "reduce",
       {16384, 1, 1},
       {256, 1, 1},
       {{"total", u32, 64, 0, {}}, {"prefix", u32, 16384, 0, {}}, {"in", u32, 16384, 3, {}}},
       {{"total", 0x953f7a1e32a2b6ff}, {"prefix", 0x2ec5709b446f762c}}},
      {"nbody",
       "nbody",
       {1024, 1, 1},
       {128, 1, 1},
       {{"next", f32, 4096, 0, {}},
        {"velocity", f32, 4096, 5, {}},
        {"position", f32, 4096, 4, {}},
        {.words = {float_bits(0.01f)}},
        {.words = {1024}}},
       {{"next", 0x7ad80abae353c083}, {"velocity", 0xc357d34770334a45}}},
      {"bitonic",
       "bitonic",
       {4096, 1, 1},
       {256, 1, 1},
       {{"keys", u32, 8192, 6, {}}},
       {{"keys", 0x5a266b48a034a3d7}}},
      {"collatz",
       "collatz",
       {4096, 1, 1},
       {256, 1, 1},
       {{"out", u32, 4096, 0, {}}, {.words = {1000000, 0}}, {.words = {7}}},
       {{"out", 0xcd2dc7cc4dde4956}}},
  };
  return table;
}

/// A code object of tests/data/examples.
inline std::unique_ptr<container::ShaderBinary> example_binary(const std::string& name) {
  std::ifstream in(std::string(LANEWISE_TEST_DATA) + "/examples/" + name + ".co.zst", std::ios::binary);
  const std::vector<char> packed{std::istreambuf_iterator<char>(in), {}};
  std::vector<uint8_t> bytes(1u << 20);
  const size_t size = ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
  EXPECT_FALSE(ZSTD_isError(size)) << name;
  auto binary = container::load(std::span(bytes).first(ZSTD_isError(size) ? 0 : size));
  EXPECT_TRUE(binary) << name << (binary ? "" : binary.error().to_string());
  return binary ? std::make_unique<container::ShaderBinary>(std::move(*binary)) : nullptr;
}

inline Launch example_launch(const Example& e, const container::ShaderBinary& binary) {
  Launch launch;
  launch.binary = &binary;
  launch.kernel = binary.find_kernel(e.kernel);
  launch.grid = e.grid;
  launch.block = e.block;
  for (const ExampleArgument& a : e.arguments) {
    std::vector<uint8_t> bytes(a.words.size() * 4);
    if (!bytes.empty()) std::memcpy(bytes.data(), a.words.data(), bytes.size());
    if (!a.buffer) {
      launch.arguments.push_back(Argument::of_bytes(std::move(bytes)));
      continue;
    }
    if (a.seed) append_random(a.type, a.seed, a.count, bytes);
    bytes.resize(a.count * runtime::bytes(a.type));
    launch.arguments.push_back(Argument::of_buffer(launch.buffers.size()));
    launch.buffers.push_back({a.buffer, a.type, std::move(bytes)});
  }
  return launch;
}

inline uint64_t fnv1a(std::span<const uint8_t> bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (uint8_t b : bytes) hash = (hash ^ b) * 0x100000001b3;
  return hash;
}

inline void expect_results(const Example& e, const Launch& launch, const std::string& on) {
  for (const auto& [name, hash] : e.results)
    for (const Buffer& b : launch.buffers) {
      if (b.name != name) continue;
      EXPECT_EQ(fnv1a(b.contents), hash) << e.kernel << ": " << name << " on " << on;
    }
}

} // namespace lanewise::runtime
