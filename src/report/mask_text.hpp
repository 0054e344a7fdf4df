// Masks in words: "launched & local_id_x < 64 & load@0x48 != 0".
#pragma once

#include "analysis/mask_algebra.hpp"

#include <string>
#include <unordered_map>

namespace lanewise::report {

/// Spells formulas of a mask algebra. The outcomes of one compare, which are several atoms, become one
/// relation again, lane bits become ranges of lanes. A name with `@` is what the guest instruction there
/// made. Spelling is cut where it gets longer than a person reads.
class MaskText {
 public:
  /// Both have to outlive it.
  MaskText(const ir::Function& function, analysis::MaskAlgebra& masks) : f_(function), masks_(masks) {}

  [[nodiscard]] std::string operator()(analysis::Formula formula);
  /// From now on the formula has this name wherever it is a part of another one.
  void call(analysis::Formula formula, std::string name) {
    names_.try_emplace(formula.bits, std::move(name));
  }
  /// A value as an expression over what it was made of.
  [[nodiscard]] std::string value(ir::Value v, unsigned depth = 3) const;

 private:
  enum class Strength : uint8_t { choice, either, both, one }; ///< how tightly the text holds together
  struct Text {
    std::string text;
    Strength strength = Strength::one;
  };
  /// A condition with more than two outcomes: the formula under each of them, and how sets of them are said.
  struct Cases {
    std::vector<analysis::Formula> under;
    ir::Value a, b;
    enum class Kind : uint8_t { atom, signed_order, unsigned_order, floats } kind{};
    std::string atom; ///< Kind::atom: outcome 1 is that it holds
  };

  Text spell(analysis::Formula f, unsigned depth);
  Text spell_cases_or_lanes(analysis::Formula f, unsigned depth);
  Text spell_cases(const Cases& cases, unsigned depth);
  [[nodiscard]] Cases cases_of(analysis::Formula f);
  [[nodiscard]] std::string relation(const Cases& cases, unsigned set) const;
  [[nodiscard]] std::string lanes(analysis::Formula f) const;
  [[nodiscard]] analysis::Formula under(analysis::Formula f, uint32_t level, bool value);
  [[nodiscard]] static std::string inside(const Text& t, Strength around);

  const ir::Function& f_;
  analysis::MaskAlgebra& masks_;
  [[nodiscard]] std::string made(ir::Value v) const;
  [[nodiscard]] std::string phi_name(const char* what, ir::Value phi) const;

  std::unordered_map<uint32_t, Text> memo_; ///< by Formula::bits
  std::unordered_map<uint32_t, std::string> names_;
};

} // namespace lanewise::report
