// Where two runs of one launch left other memory, element by element.
#pragma once

#include "runtime/launch.hpp"

#include <span>
#include <string>
#include <vector>

namespace lanewise::runtime {

/// The first difference of two buffers, as "out[17]: 3 and 4 (0x3 and 0x4), 5 of 64 elements differ"; empty
/// if there is none. Without `exact_nan` any two NaNs of a float buffer are equal.
[[nodiscard]] std::string first_difference(const Buffer& a, const Buffer& b, bool exact_nan);

/// Elements of a launch's buffers, as a set.
class Differences {
 public:
  /// Those in which the buffers differ. Both lists are of one launch.
  Differences(std::span<const Buffer> a, std::span<const Buffer> b, bool exact_nan);

  [[nodiscard]] bool any() const;
  [[nodiscard]] bool within(const Differences& other) const;
  void add(const Differences& other);

 private:
  std::vector<std::vector<bool>> elements_; ///< by buffer; empty: none of it
};

/// How far apart two results are where arithmetic may differ in its last bits.
struct Distance {
  size_t floats = 0, others = 0; ///< elements of float buffers that differ, and of other buffers
  double ulps = 0;               ///< the largest of a float; infinite where one of the two is no number
};
/// Floats of 16 and 32 bits that differ by no more than `slack` count, but not their ulps.
[[nodiscard]] Distance distance(std::span<const Buffer> a, std::span<const Buffer> b, double slack = 0);

} // namespace lanewise::runtime
