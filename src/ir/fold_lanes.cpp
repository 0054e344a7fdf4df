#include "ir/fold_rules.hpp"

namespace lanewise::ir::rules {

void add_lane_rules(RuleTable&) {}

} // namespace lanewise::ir::rules
