#include "ir/fold_rules.hpp"

namespace lanewise::ir::rules {

void add_bit_rules(RuleTable&) {}

} // namespace lanewise::ir::rules
