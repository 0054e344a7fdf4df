#include "runtime/differences.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace lanewise::runtime {

namespace {

uint64_t bits_of(const Buffer& b, size_t index) {
  uint64_t bits = 0;
  std::memcpy(&bits, &b.contents[index * bytes(b.type)], bytes(b.type));
  return bits;
}

bool same_element(const Buffer& a, const Buffer& b, size_t index, bool exact_nan) {
  if (bits_of(a, index) == bits_of(b, index)) return true;
  return !exact_nan && element_is_nan(a.type, a.contents, index) && element_is_nan(b.type, b.contents, index);
}

/// `each(index)` for every element that differs.
template <class F>
void for_each_difference(const Buffer& a, const Buffer& b, bool exact_nan, F each) {
  if (a.contents == b.contents) return;
  const size_t count = std::min(a.count(), b.count());
  for (size_t i = 0; i < count; ++i)
    if (!same_element(a, b, i, exact_nan)) each(i);
}

/// Floats in their order as integers, -0 and +0 one after the other.
int64_t ordered(const Buffer& b, size_t index) {
  const unsigned width = static_cast<unsigned>(8 * bytes(b.type));
  const uint64_t sign = uint64_t{1} << (width - 1), bits = bits_of(b, index);
  const auto magnitude = static_cast<int64_t>(bits & (sign - 1));
  return bits & sign ? -magnitude - 1 : magnitude;
}

double ulps(const Buffer& a, const Buffer& b, size_t index) {
  const auto number = [index](const Buffer& x) {
    return std::isfinite(element_value(x.type, x.contents, index));
  };
  if (!number(a) || !number(b)) return std::numeric_limits<double>::infinity();
  const auto [low, high] =
      std::minmax({ordered(a, index), ordered(b, index)}); // as integers: f64 needs all bits
  return static_cast<double>(static_cast<uint64_t>(high) - static_cast<uint64_t>(low));
}

} // namespace

std::string first_difference(const Buffer& a, const Buffer& b, bool exact_nan) {
  if (a.contents.size() != b.contents.size())
    return fmt::format("{}: {} and {} bytes", a.name, a.contents.size(), b.contents.size());
  size_t first = 0, different = 0;
  for_each_difference(a, b, exact_nan, [&](size_t i) {
    if (different++ == 0) first = i;
  });
  if (different == 0) return {};
  return fmt::format("{}[{}]: {} and {} ({:#0{}x} and {:#0{}x}), {} of {} elements differ", a.name, first,
                     element_text(a.type, a.contents, first), element_text(b.type, b.contents, first),
                     bits_of(a, first), 2 + 2 * bytes(a.type), bits_of(b, first), 2 + 2 * bytes(b.type),
                     different, a.count());
}

Differences::Differences(std::span<const Buffer> a, std::span<const Buffer> b, bool exact_nan)
    : elements_(a.size()) {
  for (size_t k = 0; k < a.size(); ++k)
    for_each_difference(a[k], b[k], exact_nan, [&](size_t i) {
      elements_[k].resize(a[k].count());
      elements_[k][i] = true;
    });
}

bool Differences::any() const {
  return std::ranges::any_of(elements_, [](const auto& list) { return !list.empty(); });
}

bool Differences::within(const Differences& other) const {
  for (size_t k = 0; k < elements_.size(); ++k)
    for (size_t i = 0; i < elements_[k].size(); ++i)
      if (elements_[k][i] && (other.elements_[k].empty() || !other.elements_[k][i])) return false;
  return true;
}

void Differences::add(const Differences& other) {
  for (size_t k = 0; k < elements_.size(); ++k) {
    if (other.elements_[k].empty()) continue;
    elements_[k].resize(other.elements_[k].size());
    for (size_t i = 0; i < elements_[k].size(); ++i)
      if (other.elements_[k][i]) elements_[k][i] = true;
  }
}

Distance distance(std::span<const Buffer> a, std::span<const Buffer> b, double slack) {
  Distance d;
  for (size_t k = 0; k < a.size(); ++k)
    for_each_difference(a[k], b[k], false, [&](size_t i) {
      if (!is_float(a[k].type)) {
        ++d.others;
        return;
      }
      ++d.floats;
      const auto value = [&](const Buffer& x) { return element_value(x.type, x.contents, i); };
      if (a[k].type != ElementType::f64 && std::abs(value(a[k]) - value(b[k])) <= slack) return;
      d.ulps = std::max(d.ulps, ulps(a[k], b[k], i));
    });
  return d;
}

} // namespace lanewise::runtime
