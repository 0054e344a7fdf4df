// Bounds that a comparison and a branch set: behind
//   s_cmp_lt_u32 s8, 4 ; s_cbranch_scc0 elsewhere
// s8 is an index below 4, whatever it is.
#include "rdna2/opcode_info.hpp"
#include "translate/constants.hpp"

#include <algorithm>
#include <array>

namespace lanewise::translate {

using rdna2::Instruction;
using rdna2::Opcode;
using Kind = Known::Kind;

namespace {

/// `src0 < src1`, with the sides changed and the outcome negated as the opcode says. Signed comparisons set
/// no bound: a negative number is a large index.
struct Comparison {
  Opcode opcode;
  bool equality, swapped, negated;
};
using enum rdna2::Opcode;
constexpr std::array comparisons{
    Comparison{s_cmp_lt_u32, false, false, false}, Comparison{s_cmpk_lt_u32, false, false, false},
    Comparison{s_cmp_gt_u32, false, true, false},  Comparison{s_cmpk_gt_u32, false, true, false},
    Comparison{s_cmp_ge_u32, false, false, true},  Comparison{s_cmpk_ge_u32, false, false, true},
    Comparison{s_cmp_le_u32, false, true, true},   Comparison{s_cmpk_le_u32, false, true, true},
    Comparison{s_cmp_eq_u32, true, false, false},  Comparison{s_cmpk_eq_u32, true, false, false},
    Comparison{s_cmp_eq_i32, true, false, false},  Comparison{s_cmpk_eq_i32, true, false, false},
    Comparison{s_cmp_lg_u32, true, false, true},   Comparison{s_cmpk_lg_u32, true, false, true},
    Comparison{s_cmp_lg_i32, true, false, true},   Comparison{s_cmpk_lg_i32, true, false, true},
};

} // namespace

/// What SCC says behind an instruction that writes it.
KnownState::Test KnownState::test_of(const Instruction& i) const {
  const auto row = std::ranges::find(comparisons, i.opcode, &Comparison::opcode);
  if (row == comparisons.end()) return {};
  const Known a = read(i.src[0]), b = read(i.src[1]);
  const bool register_first = b.kind == Kind::number;
  if (register_first == (a.kind == Kind::number)) return {};
  const auto& tested = i.src[register_first ? 0 : 1];
  if (!tested.is_sgpr() || tested.reg >= register_count) return {};
  const uint64_t number = register_first ? b.payload : a.payload;
  Test t{.pc = i.pc, .reg = static_cast<uint8_t>(tested.reg)};
  if (row->equality) {
    t.equals = true;
    t.when = !row->negated;
    t.number = number;
  } else if (register_first != row->swapped) { // register < number
    t.when = !row->negated;
    t.number = number;
  } else { // number < register: what does not hold is that it is at most the number
    t.when = row->negated;
    t.number = number + 1;
  }
  return t;
}

bool KnownState::refines(const Instruction& branch, bool taken) const {
  if (branch.opcode != Opcode::s_cbranch_scc0 && branch.opcode != Opcode::s_cbranch_scc1) return false;
  const bool scc = (branch.opcode == Opcode::s_cbranch_scc1) == taken;
  return test_.pc != 0 && test_.when == scc && (test_.equals || test_.number != 0) &&
         test_.number <= UINT32_MAX && registers_[test_.reg].is_unknown();
}

void KnownState::refine() {
  Known k{.kind = Kind::number, .payload = static_cast<uint32_t>(test_.number)};
  if (!test_.equals)
    k = {.kind = Kind::origin,
         .payload = origins_->make(
             {.kind = Origin::Kind::index, .limit = static_cast<uint32_t>(test_.number), .value = test_.pc})};
  registers_[test_.reg] = k;
}

/// A number is an index too, if it lies below the limit: loops that count start with one.
bool KnownState::is_index_of(const Known& index, const Known& number) const {
  if (index.kind != Kind::origin || number.kind != Kind::number) return false;
  const Origin& o = (*origins_)[index.payload];
  return o.kind == Origin::Kind::index && number.payload < o.limit;
}

} // namespace lanewise::translate
