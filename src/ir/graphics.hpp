// What samples and exports say besides their operands (docs/ir.md, "Images and exports").
#pragma once

#include <array>
#include <cstdint>

namespace lanewise::ir {

/// imm of image_sample and image_sample_implicit (RDNA2 ISA, "Image Sample" and "Image Addressing").
struct ImageAccess {
  /// In the order of MIMG's DIM field. The last two cannot be sampled.
  enum class Dimension : uint8_t { d1, d2, d3, cube, d1_array, d2_array, d2_msaa, d2_msaa_array };
  /// Where the level of detail comes from. The first two ask the quad: image_sample_implicit.
  enum class Level : uint8_t {
    computed,    ///< from the differences of the coordinates in the quad
    biased,      ///< the same and a bias
    zero,        ///< _lz
    given,       ///< _l
    derivatives, ///< _d: the instruction brings them
  };
  Dimension dimension = Dimension::d2;
  Level level = Level::computed;
  uint8_t dmask = 15;   ///< components that come back; of a gather the one that is gathered
  bool compare = false; ///< _c: with a reference value
  bool offset = false;  ///< _o: texel offsets
  bool clamp = false;   ///< _cl: the level has a lower bound
  bool gather = false;  ///< gather4: one component of four texels

  [[nodiscard]] constexpr bool implicit() const { return level <= Level::biased; }
  /// Dwords of address: offset, bias, reference, derivatives, coordinates, level or its bound, in this order.
  [[nodiscard]] constexpr unsigned address_words() const {
    constexpr std::array<uint8_t, 8> coordinates{1, 2, 3, 3, 2, 3, 3, 4}, derived{2, 4, 6, 4, 2, 4, 4, 4};
    const auto d = static_cast<unsigned>(dimension);
    return unsigned{offset} + (level == Level::biased) + compare +
           (level == Level::derivatives ? derived[d] : 0u) + coordinates[d] +
           (level == Level::given || clamp);
  }
  [[nodiscard]] constexpr unsigned components() const {
    unsigned n = 0;
    for (unsigned i = 0; i < 4; ++i) n += dmask >> i & 1;
    return gather ? 4 : n;
  }
  [[nodiscard]] constexpr uint64_t pack() const {
    return uint64_t{static_cast<uint8_t>(dimension)} | uint64_t{static_cast<uint8_t>(level)} << 3 |
           uint64_t{dmask} << 8 | uint64_t{compare} << 12 | uint64_t{offset} << 13 | uint64_t{clamp} << 14 |
           uint64_t{gather} << 15;
  }
  [[nodiscard]] static constexpr ImageAccess unpack(uint64_t i) {
    return {static_cast<Dimension>(i & 7),
            static_cast<Level>(i >> 3 & 7),
            static_cast<uint8_t>(i >> 8 & 15),
            (i >> 12 & 1) != 0,
            (i >> 13 & 1) != 0,
            (i >> 14 & 1) != 0,
            (i >> 15 & 1) != 0};
  }
};

/// Operands of an image operation before its address: the image's descriptor, the sampler's, the active mask.
inline constexpr unsigned kImageWords = 8, kSamplerWords = 4, kImageActive = kImageWords + kSamplerWords,
                          kImageAddress = kImageActive + 1, kMaxImageAddressWords = 13;

/// imm of export (RDNA2 ISA, EXP).
struct ExportTarget {
  static constexpr uint8_t mrt0 = 0, mrtz = 8, null = 9, pos0 = 12, prim = 20, param0 = 32;
  uint8_t target = null;
  uint8_t enabled = 15;    ///< which of the four words count
  bool compressed = false; ///< two words of two 16-bit values
  bool done = false;       ///< the wave's last export of this kind
  bool valid_mask = false; ///< the active lanes are the pixels that are covered
  [[nodiscard]] constexpr unsigned words() const { return compressed ? 2 : 4; }
  [[nodiscard]] constexpr uint64_t pack() const {
    return uint64_t{target} | uint64_t{enabled} << 8 | uint64_t{compressed} << 12 | uint64_t{done} << 13 |
           uint64_t{valid_mask} << 14;
  }
  [[nodiscard]] static constexpr ExportTarget unpack(uint64_t i) {
    return {static_cast<uint8_t>(i & 63), static_cast<uint8_t>(i >> 8 & 15), (i >> 12 & 1) != 0,
            (i >> 13 & 1) != 0, (i >> 14 & 1) != 0};
  }
};

} // namespace lanewise::ir
