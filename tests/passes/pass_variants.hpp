// Which passes run: all, none, all but one, one alone.
#pragma once

#include "passes/pipeline.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace lanewise::tests {

struct PassVariant {
  std::string name;
  std::vector<std::string> without; ///< as in passes::PipelineOptions
  [[nodiscard]] bool leaves_out(std::string_view pass) const {
    return std::ranges::find(without, pass) != without.end();
  }
};

/// Every pass that can be left out, `diverge` among them, on and off. The rest runs in all variants.
inline const std::vector<PassVariant>& pass_variants() {
  static const auto table = [] {
    std::vector<std::string> all;
    for (const std::string_view name : passes::optional_pass_names()) all.emplace_back(name);
    std::vector<PassVariant> variants{{"all passes", {}}, {"no pass", all}};
    for (const std::string& name : all) {
      variants.push_back({"all but " + name, {name}});
      variants.push_back({name + " alone", all});
      std::erase(variants.back().without, name);
    }
    return variants;
  }();
  return table;
}

/// LANEWISE_RANDOM_PROGRAMS=N runs more random programs; LANEWISE_RANDOM_SEED starts elsewhere.
inline uint64_t number_from(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}
inline uint64_t random_programs(uint64_t otherwise) {
  return number_from("LANEWISE_RANDOM_PROGRAMS", otherwise);
}
inline uint64_t first_random_seed(uint64_t otherwise = 1) {
  return number_from("LANEWISE_RANDOM_SEED", otherwise);
}

} // namespace lanewise::tests
