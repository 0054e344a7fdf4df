// Images whose every texel differs and a list of what lanes exported, for programs that run in the
// interpreter.
#pragma once

#include "ir/interpreter.hpp"

#include <map>

namespace lanewise::tests {

/// A sample is a hash of all that it may depend on, so that none can be wrong unseen.
class GraphicsRecorder final : public ir::InterpreterGraphics {
 public:
  std::array<uint32_t, 4> sample(const ir::ImageSample& s) override {
    uint64_t h = s.access.pack() * 8 + s.place_in_quad * s.access.implicit();
    const auto mix = [&](uint64_t x) { h = (h ^ x) * 0x9e3779b97f4a7c15u, h ^= h >> 29; };
    for (const uint32_t word : s.descriptors) mix(word);
    for (unsigned place = 0; place < (s.access.implicit() ? 4u : 1u); ++place)
      for (unsigned i = 0; i < s.address_words; ++i) mix(s.address[place][i]);
    return {static_cast<uint32_t>(h), static_cast<uint32_t>(h >> 16), static_cast<uint32_t>(h >> 32),
            static_cast<uint32_t>(h >> 40)};
  }
  void take(const ir::LaneExport& e) override {
    auto& list = exports[{e.workgroup, e.item}];
    list.push_back(static_cast<uint32_t>(e.target.pack()));
    list.insert(list.end(), e.words.begin(), e.words.begin() + e.target.words());
  }

  /// By workgroup and item: target and words, one export behind the other.
  std::map<std::pair<std::array<uint32_t, 3>, uint64_t>, std::vector<uint32_t>> exports;
};

} // namespace lanewise::tests
