// Vector compares (RDNA2 ISA, 12.9). v_cmp writes a lane mask, 0 in lanes that are off; v_cmpx writes EXEC.
#include "rdna2/emu_float_lanes.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

namespace lanewise::rdna2::emu {
namespace {

/// Outcomes of comparing two values; a predicate is a set of them.
enum Outcome : uint8_t { less = 1, equal = 2, greater = 4, unordered = 8 };

struct Predicate {
  std::string_view name;
  unsigned outcomes;
};
constexpr Predicate predicates[] = {
    {"f", 0},
    {"lt", less},
    {"eq", equal},
    {"le", less | equal},
    {"gt", greater},
    {"lg", less | greater},
    {"ne", less | greater},
    {"ge", greater | equal},
    {"o", less | equal | greater},
    {"u", unordered},
    {"nge", less | unordered},
    {"nlg", equal | unordered},
    {"ngt", less | equal | unordered},
    {"nle", greater | unordered},
    {"neq", less | greater | unordered},
    {"nlt", greater | equal | unordered},
    {"tru", less | equal | greater | unordered},
    {"t", less | equal | greater | unordered},
};

Flow finish(Vector& x, uint64_t result) {
  if (x.step.info->writes_state(State::exec))
    x.wave.set_mask(reg_exec, result & x.active);
  else
    x.write_mask(result);
  return Flow::next;
}

template <class B, unsigned outcomes>
Flow compare_floats(Wave& w, const Step& s) {
  Vector x(w, s);
  Lanes<B> a, b;
  x.source(0, a);
  x.source(1, b);
  const FloatRules r = FloatRules::of<B>(w.mode);
  uint64_t result = 0;
  for (unsigned l = 0; l < x.lanes(); ++l) {
    bool yes = false;
    if (is_nan(a[l]) || is_nan(b[l])) {
      yes = (outcomes & unordered) != 0;
    } else {
      const auto p = order(flush(a[l], r.keep_in)), q = order(flush(b[l], r.keep_in));
      yes = ((outcomes & less) != 0 && p < q) || ((outcomes & equal) != 0 && p == q) ||
            ((outcomes & greater) != 0 && p > q);
    }
    result |= uint64_t{yes} << l;
  }
  return finish(x, result);
}

void note(const Vector& x, uint64_t a, uint64_t b) {
  auto& seen = *x.wave.launch->compares;
  if (std::ranges::find(seen, x.wave.pc, &SeenCompare::pc) == seen.end()) seen.push_back({x.wave.pc, a, b});
}

template <class T, unsigned outcomes>
Flow compare_integers(Wave& w, const Step& s) {
  using B = std::make_unsigned_t<T>;
  Vector x(w, s);
  Lanes<B> a, b;
  x.source(0, a);
  x.source(1, b);
  uint64_t result = 0;
  for (unsigned l = 0; l < x.lanes(); ++l) {
    const T p = static_cast<T>(a[l]), q = static_cast<T>(b[l]);
    const bool yes = ((outcomes & less) != 0 && p < q) || ((outcomes & equal) != 0 && p == q) ||
                     ((outcomes & greater) != 0 && p > q);
    result |= uint64_t{yes} << l;
  }
  if constexpr (outcomes != 0 && outcomes != (less | equal | greater))
    if (x.wave.launch->compares != nullptr && x.active != 0) {
      unsigned lowest = 0;
      while (lowest + 1 < x.lanes() && (x.active >> lowest & 1) == 0) ++lowest;
      note(x, a[lowest], b[lowest]);
    }
  return finish(x, result);
}

// The class is that of the operand as it stands: denormals are denormals in every mode.
template <class B>
Flow compare_class(Wave& w, const Step& s) {
  Vector x(w, s);
  Lanes<B> a;
  Lanes<uint32_t> buffer;
  x.source(0, a);
  const uint32_t* classes = x.source32(1, buffer);
  uint64_t result = 0;
  for (unsigned l = 0; l < x.lanes(); ++l) result |= uint64_t{(classify(a[l]) & classes[l]) != 0} << l;
  return finish(x, result);
}

template <unsigned outcomes>
Handler for_type(OperandType type) {
  using enum OperandType;
  switch (type) {
  case f16: return compare_floats<uint16_t, outcomes>;
  case f32: return compare_floats<uint32_t, outcomes>;
  case f64: return compare_floats<uint64_t, outcomes>;
  case i16: return compare_integers < int16_t, outcomes & 7 > ;
  case i32: return compare_integers < int32_t, outcomes & 7 > ;
  case i64: return compare_integers < int64_t, outcomes & 7 > ;
  case u16: return compare_integers < uint16_t, outcomes & 7 > ;
  case u32: return compare_integers < uint32_t, outcomes & 7 > ;
  case u64: return compare_integers < uint64_t, outcomes & 7 > ;
  default: return nullptr;
  }
}

using TypeTable = Handler (*)(OperandType);
template <std::size_t... i>
constexpr std::array<TypeTable, 16> all_outcomes(std::index_sequence<i...>) {
  return {for_type<i>...};
}

Handler class_handler(OperandType type) {
  switch (type) {
  case OperandType::f16: return compare_class<uint16_t>;
  case OperandType::f32: return compare_class<uint32_t>;
  case OperandType::f64: return compare_class<uint64_t>;
  default: return nullptr;
  }
}

} // namespace

void add_compare(HandlerTable& t) {
  static constexpr std::array<TypeTable, 16> by_outcomes = all_outcomes(std::make_index_sequence<16>{});
  for (unsigned i = 0; i < opcode_count; ++i) {
    const OpcodeInfo& row = opcode_table[i];
    if (row.encoding != Encoding::vopc) continue;
    // v_cmp_PREDICATE_TYPE, v_cmpx_PREDICATE_TYPE
    std::string_view name = row.name;
    name = name.substr(name.find('_', 2) + 1);
    name = name.substr(0, name.find('_'));
    if (name == "class") t[i] = class_handler(row.src[0]);
    for (const Predicate& p : predicates)
      if (p.name == name) t[i] = by_outcomes[p.outcomes](row.src[0]);
  }
}

} // namespace lanewise::rdna2::emu
