// The --arg, --grid, --block, --print, --save and --png options of `run` and `check` (docs/command-line.md).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "runtime/launch.hpp"

namespace lanewise::cli {

/// "64", "64,64" or "64,64,1" (or with x between) and how many dimensions were given. Error: call.
struct Extent {
  std::array<uint32_t, 3> size{1, 1, 1};
  unsigned dimensions = 1;
};
[[nodiscard]] Expected<Extent> parse_extent(const std::string& text, const char* option);

/// Adds one explicit argument to the launch, and the buffer it makes. The kernel's metadata settles what the
/// text leaves open: the width of `7`, the type of `{1,2}`. Forms:
///   [NAME:]TYPE[COUNT][=INIT]   buffer; INIT is a number, a list 1,2,3, @FILE, iota, rand:SEED
///                               or rand:SEED:BELOW; then ;INDEX=NUMBER for single elements
///   &NAME                       a buffer of an earlier argument once more
///   null                        null pointer
///   local:BYTES                 dynamic LDS
///   7 7u -3 0x1f 2.0f 2.0 2.0h  scalar; TYPE:VALUE says its type
///   {1.0f,2.0f}                 vector or struct, member by member without padding
///   hex:00ff...  @FILE          bytes as they are
/// Error: call, or system for files.
[[nodiscard]] Expected<void> add_argument(runtime::Launch& launch, const std::string& text);

/// Elements of a buffer: "out[0:8]", "out[3]" or "out".
struct Slice {
  size_t buffer = 0, begin = 0, end = 0;
};
[[nodiscard]] Expected<Slice> parse_slice(const runtime::Launch& launch, const std::string& text);

/// "NAME=REST" with NAME a buffer of the launch.
struct BufferOption {
  size_t buffer = 0;
  std::string rest;
};
[[nodiscard]] Expected<BufferOption> parse_buffer_option(const runtime::Launch& launch,
                                                         const std::string& text, const char* option);

} // namespace lanewise::cli
