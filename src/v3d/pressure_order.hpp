// Orders the bundles of a block so that few values are live at once.
#pragma once

#include "v3d/bundle.hpp"

namespace lanewise::v3d {

enum class Preference : std::uint8_t {
  late,  ///< among bundles that free as much: the one that stood last
  keep,  ///< likewise, but only what frees values is preferred to what stood later
  depth, ///< the one whose result was wanted last, so that one expression is finished before the next begins
};

/// From the block's end: at each step the ready bundle in front of which the fewest values more are live.
/// `free` marks temporaries that do not count. Growth: n log n in the instructions, but linear in those ready
/// at a time.
class PressureOrder {
 public:
  PressureOrder(const Program& p, const Names& names, const std::vector<char>& free);
  [[nodiscard]] std::vector<std::uint32_t> run(const std::vector<Inst>& insts,
                                               const std::vector<std::uint32_t>& live_out,
                                               const Bundles& bundles, Preference preference);

 private:
  struct Touch {
    std::uint32_t name;
    std::uint8_t what; ///< 0: full definition, 1: use, 2: definition and use in one (partial)
  };
  struct Cached {
    int growth = 0, peak = 0;
    bool is_valid = false;
  };

  void prepare(const std::vector<Inst>& insts, const Bundles& bundles);
  void measure(std::uint32_t bundle);
  void take(std::uint32_t bundle, std::uint32_t step);
  void set_live(std::uint32_t name, bool live);
  [[nodiscard]] bool counts(std::uint32_t name) const { return !names_.is_temp(name) || free_[name] == 0; }

  const Program& p_;
  const Names& names_;
  const std::vector<char>& free_;
  std::vector<char> live_;
  std::vector<std::uint32_t> wanted_at_, overlay_, stamp_;
  std::uint32_t now_ = 0;
  Groups<Touch> touches_;          ///< per bundle, backwards
  Groups<std::uint32_t> touching_; ///< per number of a touched name, bundles
  std::vector<std::uint32_t> number_, touched_names_;
  std::vector<Cached> cached_;
};

} // namespace lanewise::v3d
