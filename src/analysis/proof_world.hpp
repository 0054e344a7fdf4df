// The Z3 model that demand is proved over.
#pragma once

#include "analysis/mask_algebra.hpp"

#include <fmt/format.h>
#include <string>
#include <unordered_map>
#include <z3++.h>

namespace lanewise::analysis {

/// The function's values as Z3 expressions for one symbolic lane, at one moment. Values that a loop makes
/// anew in another iteration get other unknowns: a World is one choice of iteration.
class World {
 public:
  /// What it says of operations that make no masks: nothing (their results are unknown), or that equal
  /// operands give equal results, which way into a join was taken, and that a load is 0 where it is off.
  enum class Model : uint8_t { masks, values };

  World(z3::context& context, const ir::Function& function, const MaskAlgebra& masks, std::string suffix,
        Model model, const char* lane = "lane")
      : z3_(context), f_(function), masks_(masks), suffix_(std::move(suffix)),
        lane_(context.bv_const(lane, 64)), model_(model) {}

  /// Values of `loop` differ from those of `base`, all others are the same.
  void derive_from(World& base, uint32_t loop) {
    base_ = &base;
    loop_ = loop;
  }
  /// Values of these blocks differ too.
  void differ_in(std::vector<bool> blocks) { differs_ = std::move(blocks); }
  /// Says what a value is in this world (a loop phi seen from its incoming edge).
  void define(ir::Value v, const z3::expr& e) { known_.insert_or_assign(v.index, e); }

  z3::expr bits(ir::Value v) {
    if (f_.is_constant(v))
      return z3_.bv_val(static_cast<uint64_t>(f_[v].imm), std::max(1u, ir::bit_width(f_[v].type)));
    const z3::expr e = of(v);
    return e.is_bool() ? z3::ite(e, z3_.bv_val(1, 1), z3_.bv_val(0, 1)) : e;
  }
  z3::expr mask(ir::Value v) {
    if (f_.is_constant(v)) return z3_.bool_val(f_[v].imm != 0);
    return of(v);
  }
  z3::expr formula(Formula f);
  /// Edge by which `block` was entered.
  z3::expr way(uint32_t block) {
    if (base_ && !in_loop(block)) return base_->way(block);
    return z3_.int_const(fmt::format("way{}{}", block, suffix_).c_str());
  }
  [[nodiscard]] const z3::expr& lane() const { return lane_; }

 private:
  [[nodiscard]] bool in_loop(uint32_t block) const {
    return block != cfg::none &&
           (masks_.loops().contains(loop_, block) || (block < differs_.size() && differs_[block]));
  }
  z3::expr of(ir::Value v);
  [[nodiscard]] bool is_modelled(ir::Value v) const;
  z3::expr unknown(ir::Value v);
  z3::expr model(ir::Value v);
  z3::expr model_mask(ir::Value v);
  z3::expr model_bits(ir::Value v);
  z3::expr outcome(ir::Value v);
  z3::expr function_of_operands(ir::Value v);
  z3::expr join(ir::Value v);

  z3::context& z3_;
  const ir::Function& f_;
  const MaskAlgebra& masks_;
  std::string suffix_;
  z3::expr lane_;
  World* base_ = nullptr;
  uint32_t loop_ = 0;
  std::vector<bool> differs_;
  Model model_;
  std::unordered_map<uint32_t, z3::expr> known_;
};

} // namespace lanewise::analysis
