// Samples and exports: what they may depend on is collected here, what they mean is the caller's.
#include "ir/interpreter_wave.hpp"

#include <algorithm>

namespace lanewise::ir::interpreter {
namespace {

constexpr unsigned kQuad = 4; ///< lanes

} // namespace

ImageSample Wave::image_sample(const Code& c, unsigned lane) const {
  ImageSample s{.access = ImageAccess::unpack(c.imm)};
  for (unsigned i = 0; i < kImageActive; ++i) s.descriptors[i] = static_cast<uint32_t>(read(c, i, lane));
  s.address_words = c.operand_count - kImageAddress;
  s.place_in_quad = lane % kQuad;
  for (unsigned place = 0; place < kQuad; ++place) {
    const unsigned from = c.op == Op::image_sample ? lane : lane - s.place_in_quad + place;
    for (unsigned i = 0; i < s.address_words; ++i)
      s.address[place][i] = static_cast<uint32_t>(read(c, kImageAddress + i, from));
  }
  return s;
}

Expected<void> Wave::sample(const Code& c) {
  if (!group_.dispatch.graphics)
    return fail(ErrorKind::unsupported, "a sample, and the dispatch brings no images", where(c));
  if (c.op == Op::image_sample_implicit && p_.lanes % kQuad)
    return fail(ErrorKind::unsupported, "a quad does not fit the invocations of a wave", where(c));
  // All lanes read before any result is written: the slots may be the same.
  std::vector<std::array<uint32_t, 4>> results(count(c));
  for (unsigned lane = 0; lane < count(c); ++lane)
    if ((c.uniform || is_active(lane)) && read(c, kImageActive, lane))
      results[lane] = group_.dispatch.graphics->sample(image_sample(c, lane));
  for (unsigned lane = 0; lane < count(c); ++lane) {
    if (!c.uniform && !is_active(lane)) continue;
    for (unsigned i = 0; i < c.components; ++i)
      values_[c.slot + (c.uniform ? i : i * p_.lanes + lane)] = results[lane][i];
  }
  return {};
}

Expected<void> Wave::export_words(const Code& c) {
  if (!group_.dispatch.graphics)
    return fail(ErrorKind::unsupported, "an export, and the dispatch does not take any", where(c));
  for (unsigned lane = 0; lane < p_.lanes; ++lane) {
    if (!is_active(lane) || !read(c, 0, lane)) continue;
    LaneExport e{.target = ExportTarget::unpack(c.imm), .workgroup = group_.id, .item = flat_id(lane)};
    for (unsigned i = 1; i < c.operand_count; ++i) e.words[i - 1] = static_cast<uint32_t>(read(c, i, lane));
    group_.dispatch.graphics->take(e);
  }
  return {};
}

} // namespace lanewise::ir::interpreter
