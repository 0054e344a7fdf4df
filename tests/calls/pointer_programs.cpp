#include "pointer_programs.hpp"

namespace lanewise::calls {

const std::vector<PointerProgram>& pointer_programs() {
  static const auto table = [] {
    std::vector<PointerProgram> all;
    for (const auto part :
         {copied_pointers, loaded_pointers, pointer_callees, unproven_pointers, refused_callees})
      for (PointerProgram& p : part()) all.push_back(std::move(p));
    return all;
  }();
  return table;
}

} // namespace lanewise::calls
