#include "analysis/lane_spacing.hpp"

#include "ir/dominators.hpp"

namespace lanewise::analysis {

using namespace ir;

namespace {

class Rules {
 public:
  Rules(const Function& f, std::span<const uint64_t> most, const std::vector<LaneSpacing>& known)
      : f_(f), most_(most), known_(known) {}

  [[nodiscard]] LaneSpacing operator()(Value v) const {
    const Inst& inst = f_[v];
    if (inst.uniform || inst.components != 1) return {};
    switch (inst.op) {
    case Op::lane_id:
    case Op::host_lane: return {1, f_.wave_size - 1};
    case Op::add:
    case Op::sub: return shifted(v);
    case Op::or_: return adds_up(v) ? shifted(v) : LaneSpacing{};
    case Op::shl: return scaled(v, shift_of(v) < 63 ? uint64_t{1} << shift_of(v) : 0);
    case Op::mul: return scaled(v, factor_of(v));
    case Op::zext:
    case Op::sext: return widened(operand(v, 0), width(v, 0));
    case Op::pack64: return f_[f_.operand(v, 1)].uniform ? widened(operand(v, 0), 32) : LaneSpacing{};
    case Op::bitcast: return operand(v, 0);
    case Op::trunc:
    case Op::lo32: return fitting(operand(v, 0), bit_width(inst.type));
    default: return {};
    }
  }

 private:
  [[nodiscard]] LaneSpacing operand(Value v, unsigned i) const { return known_[f_.operand(v, i).index]; }
  [[nodiscard]] unsigned width(Value v, unsigned i) const { return bit_width(f_[f_.operand(v, i)].type); }

  /// Nothing if two lanes could come around to each other in so many bits.
  static LaneSpacing fitting(LaneSpacing s, unsigned bits) {
    return s.within >> (bits - 1) == 0 ? s : LaneSpacing{};
  }
  /// Numbers that wrapped around the narrow type come apart by its whole range in a wide one, never closer
  /// than they were.
  static LaneSpacing widened(LaneSpacing s, unsigned from) {
    return s.apart == 0 || from >= 63 ? LaneSpacing{}
                                      : LaneSpacing{s.apart, (uint64_t{1} << from) + s.within};
  }
  /// x + u, u + x, x - u, u - x with a uniform u.
  [[nodiscard]] LaneSpacing shifted(Value v) const {
    const bool first = f_[f_.operand(v, 0)].uniform, second = f_[f_.operand(v, 1)].uniform;
    return first == second ? LaneSpacing{} : operand(v, first ? 1 : 0);
  }
  [[nodiscard]] LaneSpacing scaled(Value v, uint64_t factor) const {
    const LaneSpacing s = operand(v, f_.is_constant(f_.operand(v, 0)) ? 1 : 0);
    if (s.apart == 0 || factor == 0 || s.within > (uint64_t{1} << 62) / factor) return {};
    return fitting({s.apart * factor, s.within * factor}, bit_width(f_[v].type));
  }
  [[nodiscard]] unsigned shift_of(Value v) const {
    const Value count = f_.operand(v, 1);
    return f_.is_constant(count) ? static_cast<unsigned>(f_[count].imm % bit_width(f_[v].type)) : 63;
  }
  /// The other factor, a positive constant; else 0.
  [[nodiscard]] uint64_t factor_of(Value v) const {
    for (const Value o : f_.operands(v))
      if (f_.is_constant(o)) return f_[o].imm;
    return 0;
  }
  /// x | c where x never reaches the lowest one of c.
  [[nodiscard]] bool adds_up(Value v) const {
    const Value a = f_.operand(v, 0), b = f_.operand(v, 1);
    const Value constant = f_.is_constant(a) ? a : b, other = f_.is_constant(a) ? b : a;
    if (!f_.is_constant(constant) || most_.empty()) return false;
    const uint64_t bits = f_[constant].imm;
    return most_[other.index] < (bits & (~bits + 1));
  }

  const Function& f_;
  std::span<const uint64_t> most_;
  const std::vector<LaneSpacing>& known_;
};

} // namespace

std::vector<LaneSpacing> lane_spacing(const Function& f, std::span<const uint64_t> most) {
  std::vector<LaneSpacing> known(f.value_count());
  const Rules rules(f, most, known);
  const Dominators dominators(f);
  for (const Block b : dominators.reverse_postorder())
    for (const Value v : f[b].instructions) known[v.index] = rules(v);
  return known;
}

} // namespace lanewise::analysis
