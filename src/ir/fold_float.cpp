#include "ir/fold_rules.hpp"

namespace lanewise::ir::rules {

void add_float_rules(RuleTable&) {}

} // namespace lanewise::ir::rules
