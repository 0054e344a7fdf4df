// Element types of buffers and scalars, as users write them: i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.hpp"

namespace lanewise::runtime {

enum class ElementType : uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, f16, f32, f64 };

[[nodiscard]] std::string_view name(ElementType type);
[[nodiscard]] size_t bytes(ElementType type);
[[nodiscard]] bool is_float(ElementType type);
[[nodiscard]] bool is_signed(ElementType type); ///< true for floats too
[[nodiscard]] std::optional<ElementType> parse_element_type(std::string_view text);
/// OpenCL C spelling ("uint", "float4", "unsigned long", "half*") to its scalar type; nothing for structs,
/// void.
[[nodiscard]] std::optional<ElementType> element_type_of_source(std::string_view type_name);

/// Element `index` of a buffer of `type`, in the fewest digits that read back the same.
[[nodiscard]] std::string element_text(ElementType type, std::span<const uint8_t> buffer, size_t index);
/// The same as a double, for pictures and tolerances; 64-bit integers lose low bits.
[[nodiscard]] double element_value(ElementType type, std::span<const uint8_t> buffer, size_t index);
[[nodiscard]] bool element_is_nan(ElementType type, std::span<const uint8_t> buffer, size_t index);

/// Appends one number, written in decimal, hexadecimal (0x) or as a C floating-point constant, inf or nan.
/// Integers must fit the type (negative numbers only signed types); for floats any number will do.
[[nodiscard]] Expected<void> append_number(ElementType type, std::string_view text,
                                           std::vector<uint8_t>& out);

/// Reproducible contents: the whole range of an integer type, [0, 1) for floats; with `below` not 0 integers
/// from 0 up to it (as far as the type goes), floats in [0, below). The same on every machine.
void append_random(ElementType type, uint64_t seed, size_t count, std::vector<uint8_t>& out,
                   uint32_t below = 0);
/// 0, 1, 2, ..., wrapping as the type does.
void append_iota(ElementType type, size_t count, std::vector<uint8_t>& out);

} // namespace lanewise::runtime
