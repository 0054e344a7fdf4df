// What a prover says. Apart from the provers, whose solver's header is large.
#pragma once

#include "ir/ir.hpp"

#include <string>
#include <vector>

namespace lanewise::analysis {

struct ProofReport {
  unsigned facts = 0;   ///< loop masks that stay where they were assumed to stay
  unsigned flow = 0;    ///< uses that ask for no more than is claimed to be demanded
  unsigned selects = 0; ///< selects that were dropped
  unsigned masks = 0;   ///< mask operations that were dropped, masks that were said to be true or false
  unsigned regions = 0; ///< what makes a region or loop one that lanes may run by themselves
  unsigned proved = 0;
  double seconds = 0;
  struct Failure {
    ir::Value value;      ///< whose claim or replacement is not proved
    std::string what;     ///< in words
    bool refuted = false; ///< a counterexample exists; else Z3 gave up
  };
  std::vector<Failure> failures;
  [[nodiscard]] unsigned total() const { return facts + flow + selects + masks + regions; }
  ProofReport& operator+=(const ProofReport& other);
};

} // namespace lanewise::analysis
