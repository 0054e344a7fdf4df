// What `run` shows of the buffers afterwards: --print, --save, --png.
#pragma once

#include "cli/arguments.hpp"

namespace lanewise::cli {

/// "out[0:3] = 1 2 3"
[[nodiscard]] std::string slice_text(const runtime::Launch& launch, const Slice& slice,
                                     const std::string& label);
/// Writes a buffer as it is. `-` is standard output. Error: system.
[[nodiscard]] Expected<void> save_buffer(const runtime::Buffer& buffer, const std::string& path);
/// `target` is FILE:WxH[:FORMAT], FORMAT one of rgba8 (u32, or four u8), gray8 (u8), gray (any number, the
/// least black and the greatest white), unit (floats, 0 black and 1 white), rgbaf (four floats); the default
/// follows from the buffer's type. Errors: call, system.
[[nodiscard]] Expected<void> save_png(const runtime::Buffer& buffer, const std::string& target);

} // namespace lanewise::cli
