// Inside of the checker: evaluates a block of steps into expressions.
#pragma once

#include "v3d/liveness.hpp"
#include "v3d/qpu.hpp"
#include "v3d/symbolic.hpp"

#include <deque>
#include <map>
#include <vector>

namespace lanewise::v3d::checking {

/// One word, or one instruction of VIR.
struct Step {
  std::array<Alu, 2> alu;
  std::uint32_t sigs = 0;
  Reg sig_dst;
  std::uint32_t uniform = no_index;
  bool is_branch = false;
  Branch branch;
};

struct Side {
  const std::vector<Uniform>* uniforms = nullptr;
  std::vector<std::vector<Step>> blocks;
  bool delayed = false; ///< words: thread switches and coefficients take effect later
};

/// Everything that can hold a value between blocks.
struct State {
  std::vector<Node> temps;
  std::array<Node, 64> rf{};
  std::array<Node, 6> acc{};
  std::map<std::uint32_t, Node> slots; ///< by byte offset
  Node flags_a = 0, flags_b = 0, rtop = 0;
};

struct Outcome {
  State state;
  std::vector<Node> tmu_stores, tlb, branches; ///< effects in order, by unit
  std::vector<Node> lookups, vpm; ///< effects in any order; lookups know how many stores are in front of them
  std::string fault;
};

class Evaluator {
 public:
  Evaluator(Expressions& x, Gpu gpu, const Side& side) : x_(x), gpu_(gpu), side_(side) {}

  /// Evaluates block b from the state.
  [[nodiscard]] Outcome run(std::uint32_t b, State entry);
  /// The address of slot 0 in this thread's lanes: 4 or, where slots lie in rows of four, 16 bytes a lane.
  [[nodiscard]] Node spill_base();
  void set_rows(bool rows) { rows_ = rows; }

 private:
  struct Write {
    const Alu* alu = nullptr;
    Node value = 0, flags = 0;
    bool is_conditional = false, when_set = true;
    Node uniform = 0;
  };

  void step(const Step& s);
  [[nodiscard]] Write compute(const Alu& a, Node uniform);
  void apply(const Write& w);
  void apply_flags(const Write& w);
  void tmu_write(const Write& w, std::uint8_t address);
  void general(const Write& w, Node address_flags);
  void spill_access(const Write& w, std::uint32_t slot);
  void lose();
  [[nodiscard]] Node read(const Reg& r);
  void assign(const Reg& r, Node n);
  [[nodiscard]] Node uniform(std::uint32_t u);
  [[nodiscard]] Node operation(std::uint64_t kind, std::uint64_t detail, std::vector<Node> operands,
                               bool pure = false);

  Expressions& x_;
  Gpu gpu_;
  const Side& side_;
  State s_;
  Outcome out_;
  std::uint32_t block_ = 0, varyings_ = 0, stores_ = 0;
  std::map<Node, std::size_t> stored_at_;
  std::vector<std::pair<std::uint8_t, Node>> parameters_;
  std::vector<Node> configs_;
  std::vector<std::pair<Node, Write>> data_;
  std::deque<Node> fifo_;
  std::uint32_t returned_ = 0;
  int switch_in_ = -1;
  Node coefficient_ = 0;
  std::uint32_t config_value_ = ~0u;
  bool has_coefficient_ = false, rows_ = false;
};

} // namespace lanewise::v3d::checking
