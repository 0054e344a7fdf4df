#include "v3d/data_file.hpp"

#include "support/limits.hpp"

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include <zstd.h>

namespace lanewise::v3d {

namespace {

Expected<std::string> decompress(const std::string& data, const std::string& path) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (!context) {
    return fail(ErrorKind::system, "zstd has no memory", path);
  }
  std::string result;
  std::string chunk(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer in{data.data(), data.size(), 0};
  std::size_t left = 1;
  while (in.pos < in.size) {
    ZSTD_outBuffer out{chunk.data(), chunk.size(), 0};
    left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left) != 0) {
      return fail(ErrorKind::input, std::string("damaged zstd data: ") + ZSTD_getErrorName(left), path);
    }
    result.append(chunk.data(), out.pos);
    if (result.size() > limits::max_file_bytes) {
      return fail(ErrorKind::limit, "decompressed text is larger than max_file_bytes", path);
    }
  }
  if (left != 0) {
    return fail(ErrorKind::input, "zstd data is truncated", path);
  }
  return result;
}

} // namespace

Expected<std::string> read_text_file(const std::string& path) {
  std::string data;
  if (path == "-") {
    data.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream in(path, std::ios::binary);
    if (!in) {
      return fail(ErrorKind::system, "cannot open the file", path);
    }
    data.assign(std::istreambuf_iterator<char>(in), {});
    if (in.bad()) {
      return fail(ErrorKind::system, "cannot read the file", path);
    }
  }
  if (data.size() > limits::max_file_bytes) {
    return fail(ErrorKind::limit, "the file is larger than max_file_bytes", path);
  }
  return data.starts_with("\x28\xb5\x2f\xfd") ? decompress(data, path)
                                              : Expected<std::string>(std::move(data));
}

} // namespace lanewise::v3d
