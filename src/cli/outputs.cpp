#include "cli/outputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <regex>

#include <fmt/format.h>
#include <png.h>

namespace lanewise::cli {

namespace {

using runtime::Buffer;
using runtime::ElementType;

constexpr uint64_t max_side = 32768;

struct Picture {
  uint32_t width = 0, height = 0;
  bool colour = true; ///< RGBA, else one gray byte a pixel
  std::vector<uint8_t> pixels;
};

uint8_t to_byte(double unit) {
  return static_cast<uint8_t>(std::lround(std::clamp(std::isnan(unit) ? 0 : unit, 0.0, 1.0) * 255));
}

/// Elements [0, count) as bytes, `low` black and `high` white.
std::vector<uint8_t> scaled(const Buffer& b, size_t count, double low, double high) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = to_byte((runtime::element_value(b.type, b.contents, i) - low) / (high > low ? high - low : 1));
  return bytes;
}

std::pair<double, double> range(const Buffer& b, size_t count) {
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < count; ++i) {
    const double v = runtime::element_value(b.type, b.contents, i);
    if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  }
  return {low, high};
}

std::string default_format(const Buffer& b, size_t pixels) {
  if (b.type == ElementType::u32 || b.type == ElementType::i32) return "rgba8";
  if (b.type == ElementType::u8) return b.contents.size() >= pixels * 4 ? "rgba8" : "gray8";
  if (runtime::is_float(b.type)) return b.count() >= pixels * 4 ? "rgbaf" : "unit";
  return "gray";
}

Expected<Picture> make_picture(const Buffer& b, uint32_t width, uint32_t height, std::string format) {
  const size_t pixels = size_t{width} * height;
  if (format.empty()) format = default_format(b, pixels);
  Picture p{width, height, format.starts_with("rgba"), {}};
  const size_t needed = format == "rgba8" || format == "gray8"
                            ? pixels * (p.colour ? 4 : 1)
                            : pixels * (p.colour ? 4 : 1) * runtime::bytes(b.type);
  if (b.contents.size() < needed)
    return fail(ErrorKind::call,
                fmt::format("the buffer has {} bytes, {}x{} {} needs {}", b.contents.size(), width, height,
                            format, needed),
                b.name);
  if (format == "rgba8" || format == "gray8")
    p.pixels.assign(b.contents.begin(), b.contents.begin() + static_cast<std::ptrdiff_t>(needed));
  else if (format == "unit")
    p.pixels = scaled(b, pixels, 0, 1);
  else if (format == "rgbaf")
    p.pixels = scaled(b, pixels * 4, 0, 1);
  else if (format == "gray") {
    const auto [low, high] = range(b, pixels);
    p.pixels = scaled(b, pixels, low, high);
  } else
    return fail(ErrorKind::call, fmt::format("'{}' is no picture format", format), {},
                "rgba8, gray8, gray, unit, rgbaf");
  return p;
}

} // namespace

std::string slice_text(const runtime::Launch& launch, const Slice& slice, const std::string& label) {
  const Buffer& b = launch.buffers[slice.buffer];
  std::string line = label + " =";
  for (size_t i = slice.begin; i < slice.end; ++i) line += " " + runtime::element_text(b.type, b.contents, i);
  return line;
}

Expected<void> save_buffer(const Buffer& buffer, const std::string& path) {
  std::ofstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::ostream& out = path == "-" ? std::cout : file;
  out.write(reinterpret_cast<const char*>(buffer.contents.data()),
            static_cast<std::streamsize>(buffer.contents.size()));
  out.flush();
  if (!out) return fail(ErrorKind::system, "cannot write the file", path);
  return {};
}

Expected<void> save_png(const Buffer& buffer, const std::string& target) {
  static const std::regex form(R"((.+):([0-9]{1,5})x([0-9]{1,5})(?::([a-z0-9]+))?)");
  std::smatch m;
  if (!std::regex_match(target, m, form))
    return fail(ErrorKind::call, fmt::format("--png '{}' is not NAME=FILE:WxH[:FORMAT]", target));
  const uint64_t width = std::stoul(m[2].str()), height = std::stoul(m[3].str());
  if (width == 0 || height == 0 || width > max_side || height > max_side)
    return fail(ErrorKind::call, fmt::format("a picture of {}x{} cannot be written", width, height));
  auto picture =
      make_picture(buffer, static_cast<uint32_t>(width), static_cast<uint32_t>(height), m[4].str());
  if (!picture) return std::unexpected(picture.error());
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = picture->width;
  image.height = picture->height;
  image.format = picture->colour ? PNG_FORMAT_RGBA : PNG_FORMAT_GRAY;
  if (!png_image_write_to_file(&image, m[1].str().c_str(), 0, picture->pixels.data(), 0, nullptr))
    return fail(ErrorKind::system, fmt::format("cannot write the picture: {}", image.message), m[1].str());
  return {};
}

} // namespace lanewise::cli
