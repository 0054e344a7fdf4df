// One dispatch of one kernel, independent of what executes it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "container/shader_binary.hpp"
#include "runtime/element_type.hpp"

namespace lanewise::runtime {

/// Global memory that the kernel gets a pointer to. Executors overwrite `contents` with what the kernel left.
struct Buffer {
  /// An 8-byte word of the buffer that holds a guest address: of byte `addend` of another buffer, or of the
  /// code object's image at virtual address `addend`. Filled in when it is known where things lie.
  struct Pointer {
    static constexpr size_t image = SIZE_MAX;
    size_t offset = 0; ///< of the word
    size_t buffer = image;
    uint64_t addend = 0;
  };
  std::string name; ///< for messages
  ElementType type = ElementType::u8;
  std::vector<uint8_t> contents;
  std::vector<Pointer> pointers{};
  [[nodiscard]] size_t count() const { return contents.size() / bytes(type); }
};

/// One explicit argument.
struct Argument {
  enum class Kind : uint8_t { buffer, null, value, local, code } kind = Kind::value;
  size_t buffer = 0;          ///< Kind::buffer: index into Launch::buffers
  std::vector<uint8_t> value; ///< Kind::value: exactly the argument's bytes
  uint32_t local_bytes = 0;   ///< Kind::local: dynamic LDS
  std::string text;           ///< as the user wrote it, for messages
  /// Kind::code: virtual address in the image; the argument is where that lies. Kind::buffer: byte in the
  /// buffer.
  uint64_t address = 0;
  [[nodiscard]] static Argument of_buffer(size_t index, uint64_t byte = 0) {
    return {Kind::buffer, index, {}, 0, {}, byte};
  }
  [[nodiscard]] static Argument of_code(uint64_t address) { return {Kind::code, 0, {}, 0, {}, address}; }
  [[nodiscard]] static Argument of_bytes(std::vector<uint8_t> bytes) {
    return {Kind::value, 0, std::move(bytes), 0, {}};
  }
  [[nodiscard]] static Argument of_local(uint32_t bytes) { return {Kind::local, 0, {}, bytes, {}}; }
};

struct Launch {
  const container::ShaderBinary* binary = nullptr; ///< outlives the launch
  const container::Kernel* kernel = nullptr;       ///< one of binary->kernels
  std::array<uint32_t, 3> grid{1, 1, 1};           ///< work-items
  std::array<uint32_t, 3> block{1, 1, 1};          ///< work-items of a workgroup
  std::vector<Buffer> buffers;
  std::vector<Argument> arguments; ///< explicit ones, in the kernel's order

  [[nodiscard]] std::array<uint32_t, 3> groups() const;
};

/// Explicit arguments of a kernel, in order; what Launch::arguments pairs with.
[[nodiscard]] std::vector<const container::KernelArgument*>
explicit_arguments(const container::Kernel& kernel);
/// A table of what the kernel wants: number, name, type, kind and size of each explicit argument.
[[nodiscard]] std::string describe_arguments(const container::Kernel& kernel);
/// The required workgroup size, or a good one for this grid.
[[nodiscard]] std::array<uint32_t, 3> default_block(const container::Kernel& kernel,
                                                    const std::array<uint32_t, 3>& grid, unsigned dimensions);
/// Checks sizes, and arguments against the metadata where there is some. Errors are of kind `call`, and those
/// about arguments carry describe_arguments() as their hint.
[[nodiscard]] Expected<void> check_launch(const Launch& launch);

/// What the memories that pointer arguments lead to have in common. Buffers never overlap and start at
/// multiples of 16 bytes.
struct BufferFacts {
  bool separate = false; ///< no two arguments lead to one buffer
  bool aligned = false;  ///< all pointers are multiples of 8
};
[[nodiscard]] BufferFacts buffer_facts(const Launch& launch);

/// LDS bytes of a workgroup: static, then the dynamic arguments, each aligned to 16.
[[nodiscard]] uint32_t lds_bytes(const Launch& launch);

} // namespace lanewise::runtime
