// IR operations that together are one SPIR-V instruction or helper call:
//
//   fadd(a, fneg(b))                         OpFSub a b
//   pack64(extract.0(t), extract.1(t))       OpBitcast ulong t          t: two dwords that were loaded
//   lo32(lshr(pack64(lo, hi), c))            a call, of 32-bit shifts: v_alignbit_b32, rotations
//   together load/store/atomic at pack64(lo, hi)      the helper takes the halves
//   load/store at add(base, constant) in LDS          the helper takes the base and the words behind it
//   fldexp(fmul(ffrexp_mant(n), frcp(ffrexp_mant(d))), sub(ffrexp_exp(n), ffrexp_exp(d)))     a call: n *
//   (1/d)
//                                                     where that is as exact; OpenCL's division of f32
//
// An operation whose every user takes it in like that is not written at all.
#pragma once

#include <optional>
#include <vector>

#include "spirv/address_facts.hpp"

namespace lanewise::spirv {

class Patterns {
 public:
  /// Growth: linear in values and operands.
  Patterns(const ir::Function& f, const AddressFacts& addresses);

  /// Written inside its users only.
  [[nodiscard]] bool absorbed(ir::Value v) const { return absorbed_[v.index]; }
  /// Operand of an fadd that is the negation of what is subtracted.
  [[nodiscard]] std::optional<unsigned> negated_operand(ir::Value fadd) const;
  /// The two dwords that a pack64 is all of, or the null value.
  [[nodiscard]] ir::Value loaded_pair(ir::Value pack64) const;
  /// 32 bits out of two dwords, from a bit in 1..31 on; bit 0 if the value is none of that. Not of a loaded
  /// pair, whose dwords may be absorbed themselves.
  struct Funnel {
    ir::Value low, high;
    unsigned from = 0;
  };
  [[nodiscard]] Funnel funnel(ir::Value lo32) const;
  /// A quotient by the reciprocal, scaled around it; no denominator if the value is none.
  struct Quotient {
    ir::Value numerator, denominator;
  };
  [[nodiscard]] Quotient quotient(ir::Value fldexp) const;
  /// The address of a memory operation goes into its helper as two halves.
  [[nodiscard]] bool address_in_halves(ir::Value memory_operation) const;
  [[nodiscard]] bool in_one_block(ir::Value a, ir::Value b) const { return home_[a.index] == home_[b.index]; }

 private:
  const ir::Function& f_;
  /// Operand of the only kind of operation that may read it, in one block.
  [[nodiscard]] bool is_only(ir::Value user, ir::Value v) const {
    return uses_[v.index] == 1 && in_one_block(user, v);
  }

  std::vector<uint32_t> home_; ///< block of each value
  std::vector<uint32_t> uses_;
  std::vector<bool> absorbed_;
};

} // namespace lanewise::spirv
