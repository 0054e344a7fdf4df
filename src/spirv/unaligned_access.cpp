#include "spirv/unaligned_access.hpp"

namespace lanewise::spirv {
namespace {

using ir::Space;
using ir::Type;

/// Where an access starts: the bits of its first word that lie before it, at most 24.
struct Skew {
  Expr bits;
  Expr rest; ///< 31 - bits
  explicit Skew(const AccessSite& s)
      : bits((resize(s.address, Type::i32) & 3) << 3), rest(same(bits, 31) - bits) {}

  /// The dword that starts in `low` and goes on in `high`.
  [[nodiscard]] Expr gather(Expr low, Expr high) const { return low >> bits | (high << 1) << rest; }
  /// What of a dword goes into the word where it starts, and into the one behind.
  [[nodiscard]] Expr low(Expr dword) const { return dword << bits; }
  [[nodiscard]] Expr high(Expr dword) const { return (dword >> 1) >> rest; }
};

/// The word that holds the last of `bytes` bytes.
Expr last_word(const AccessSite& s, unsigned bytes) { return (s.address + (bytes - 1)) >> 2; }

/// One byte of global memory after the other: nothing around them is touched.
void store_bytes(const AccessSite& s, std::span<const Expr> data, unsigned bytes) {
  constexpr uint64_t of_its_own = uint64_t{1} << 55; // no variant of write_access_call
  const unsigned each = std::min(bytes, 4u);
  const auto body = [&](Code& c, std::span<const Expr> x) {
    s.e.module.capability(spv::Capability::StorageBuffer8BitAccess);
    for (unsigned k = 0; k < each; ++k) {
      const Id pointer = global_pointer(s.e, c, k == 0 ? x[0] : x[0] + k, c.types[Type::i8]);
      const Expr byte = resize(k == 0 ? x[1] : x[1] >> (8 * k), Type::i8);
      c.effect(spv::Op::OpStore, {pointer, byte.id, memory_operands(s), 1});
    }
    return Expr{};
  };
  const Id function = s.e.helpers.get(
      {static_cast<uint8_t>(Helper::memory), of_its_own | uint64_t{s.access.coherent} << 8 | each},
      "store_bytes", s.c.types[Type::none], std::array{Type::i64, Type::i32}, body);
  for (unsigned k = 0; k < data.size(); ++k)
    (void)call(s.c, function, Type::none, {k == 0 ? s.address : s.address + 4 * k, data[k]});
}

} // namespace

std::vector<Expr> load_anywhere(const AccessSite& s, unsigned bytes) {
  const Skew skew(s);
  const Expr first = s.address >> 2;
  const unsigned dwords = (bytes + 3) / 4;
  std::vector<Expr> out;
  Expr low = load_word(s, first, 0);
  for (unsigned k = 1; k <= dwords; ++k) {
    const Expr high = k < dwords ? load_word(s, first, k) : load_word(s, last_word(s, bytes), 0);
    out.push_back(skew.gather(low, high));
    low = high;
  }
  return out;
}

void store_anywhere(const AccessSite& s, std::span<const Expr> data, unsigned bytes) {
  if (s.space == Space::global) return store_bytes(s, data, bytes);
  const Skew skew(s);
  const Expr first = s.address >> 2, written = same(data[0], bytes == 2 ? 0xffff : 0xffff'ffff);
  const auto kept = [&](Expr dword) { return bytes == 2 ? dword & written : dword; };
  replace_bits(s, first, skew.low(kept(data[0])), skew.low(written));
  for (unsigned k = 1; k < data.size(); ++k)
    store_word(s, first, k, skew.high(data[k - 1]) | skew.low(data[k]));
  replace_bits(s, last_word(s, bytes), skew.high(kept(data.back())), skew.high(written));
}

} // namespace lanewise::spirv
