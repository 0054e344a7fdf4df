// What atomic instructions compute, for LDS, global, flat and buffer memory alike (RDNA2 ISA, 12.13
// to 12.19). Floating-point atomics round to nearest even and follow MODE's denormal setting.
#include "rdna2/emu_access.hpp"
#include "rdna2/emu_float.hpp"

#include <string_view>

namespace lanewise::rdna2::emu {
namespace {

template <class T>
using Signed = std::make_signed_t<T>;

template <class T>
struct Named {
  std::string_view name; ///< between "atomic_" or "ds_" and the width suffixes
  AtomicFunction<T> f;
};

template <class T>
T float_min(T old, T data, T, const Wave&) {
  return float_less<T>(data, old) ? data : old;
}
template <class T>
T float_max(T old, T data, T, const Wave&) {
  return float_less<T>(old, data) ? data : old;
}
template <class T>
T float_compare_swap(T old, T data, T compare, const Wave&) {
  return float_equal<T>(old, compare) ? data : old;
}
uint32_t float_add(uint32_t old, uint32_t data, uint32_t, const Wave& w) {
  FloatRules rules = FloatRules::single(w.mode);
  rules.round = Round::nearest;
  return add_f32(old, data, rules);
}

template <class T>
constexpr Named<T> integer_functions[] = {
    {"swap", [](T, T data, T, const Wave&) { return data; }},
    {"cmpswap", [](T old, T data, T compare, const Wave&) { return old == compare ? data : old; }},
    {"add", [](T old, T data, T, const Wave&) { return static_cast<T>(old + data); }},
    {"sub", [](T old, T data, T, const Wave&) { return static_cast<T>(old - data); }},
    {"rsub", [](T old, T data, T, const Wave&) { return static_cast<T>(data - old); }},
    {"csub", [](T old, T data, T, const Wave&) { return old < data ? T{0} : static_cast<T>(old - data); }},
    {"smin", [](T old, T data, T, const Wave&) { return Signed<T>(data) < Signed<T>(old) ? data : old; }},
    {"umin", [](T old, T data, T, const Wave&) { return data < old ? data : old; }},
    {"smax", [](T old, T data, T, const Wave&) { return Signed<T>(data) > Signed<T>(old) ? data : old; }},
    {"umax", [](T old, T data, T, const Wave&) { return data > old ? data : old; }},
    {"and", [](T old, T data, T, const Wave&) { return old & data; }},
    {"or", [](T old, T data, T, const Wave&) { return old | data; }},
    {"xor", [](T old, T data, T, const Wave&) { return old ^ data; }},
    {"inc", [](T old, T data, T, const Wave&) { return old >= data ? T{0} : static_cast<T>(old + 1); }},
    {"dec",
     [](T old, T data, T, const Wave&) { return old == 0 || old > data ? data : static_cast<T>(old - 1); }},
    // LDS only: the mask comes first, then the bits; the amount to take away comes first, then the one to add
    {"mskor", [](T old, T mask, T bits, const Wave&) { return static_cast<T>((old & ~mask) | bits); }},
    {"wrap", [](T old, T limit, T more,
                const Wave&) { return static_cast<T>(old >= limit ? old - limit : old + more); }},
    {"fcmpswap", float_compare_swap<T>},
    {"fmin", float_min<T>},
    {"fmax", float_max<T>},
};

// LDS names say the type where the others say it in front: ds_min_i32 is smin.
std::string_view lds_operation(std::string_view stem, char type) {
  if (type == 'i') return stem == "min" ? "smin" : stem == "max" ? "smax" : stem;
  if (type == 'f')
    return stem == "min" ? "fmin" : stem == "max" ? "fmax" : stem == "cmpst" ? "fcmpswap" : stem;
  if (stem == "min") return "umin";
  if (stem == "max") return "umax";
  if (stem == "cmpst") return "cmpswap";
  return stem == "wrxchg" ? "swap" : stem;
}

struct Operation {
  std::string_view stem;
  unsigned bits = 0;
  bool is_float = false;
};

// "global_atomic_smin_x2" -> {smin, 64}; "ds_min_rtn_i64" -> {smin, 64}.
Operation parse(Opcode opcode) {
  std::string_view name = rdna2::name(opcode);
  if (name.starts_with("ds_")) {
    const char type = name[name.size() - 3];
    const unsigned bits = name.ends_with("64") ? 64 : 32;
    name = name.substr(3, name.size() - 7);
    if (name.ends_with("_rtn")) name.remove_suffix(4);
    return {lds_operation(name, type), bits, type == 'f'};
  }
  const std::size_t at = name.find("atomic_");
  if (at == std::string_view::npos) return {};
  name = name.substr(at + 7);
  const bool wide = name.ends_with("_x2");
  if (wide) name.remove_suffix(3);
  return {name, wide ? 64u : 32u, false};
}

template <class T>
AtomicFunction<T> find(Opcode opcode) {
  const Operation op = parse(opcode);
  if (op.bits != 8 * sizeof(T)) return nullptr;
  if constexpr (sizeof(T) == 4)
    if (op.is_float && op.stem == "add") return float_add;
  if (op.is_float && op.stem == "add") return nullptr;
  for (const Named<T>& f : integer_functions<T>)
    if (f.name == op.stem) return f.f;
  return nullptr;
}

template <class T>
auto table() {
  std::array<AtomicFunction<T>, opcode_count> out{};
  for (unsigned i = 0; i < opcode_count; ++i) out[i] = find<T>(static_cast<Opcode>(i));
  return out;
}

} // namespace

AtomicFunction<uint32_t> atomic32(Opcode opcode) {
  static const auto functions = table<uint32_t>();
  return functions[static_cast<unsigned>(opcode)];
}

AtomicFunction<uint64_t> atomic64(Opcode opcode) {
  static const auto functions = table<uint64_t>();
  return functions[static_cast<unsigned>(opcode)];
}

} // namespace lanewise::rdna2::emu
