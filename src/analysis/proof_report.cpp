#include "analysis/proof_report.hpp"

namespace lanewise::analysis {

ProofReport& ProofReport::operator+=(const ProofReport& other) {
  facts += other.facts;
  flow += other.flow;
  selects += other.selects;
  masks += other.masks;
  regions += other.regions;
  proved += other.proved;
  seconds += other.seconds;
  failures.insert(failures.end(), other.failures.begin(), other.failures.end());
  return *this;
}

} // namespace lanewise::analysis
