// lanewise check --try-selects
#include <iostream>

#include <nlohmann/json.hpp>

#include "cli/check.hpp"
#include "cli/made_up_launch.hpp"
#include "cli/select_trial.hpp"

namespace lanewise::cli {

Expected<bool> try_one(const CheckCommand& command, const container::ShaderBinary& binary,
                       const container::Kernel& kernel) {
  constexpr unsigned most = 200; // selects of a kernel
  // Waves that are cut, and groups in a second dimension.
  static constexpr std::array shapes{Shape::row, Shape::cut_row, Shape::row, Shape::cut_plane};
  const auto make = [&](unsigned i) {
    const Recipe recipe{
        .name = "varied", .elements = command.elements, .number = {}, .shape = shapes[i % shapes.size()]};
    return launch_of(binary, kernel, make_up(kernel, recipe, command.seed + 1000 * i));
  };
  const auto t = try_selects(binary, kernel, make, command.try_selects, most);
  if (!t && t.error().kind == ErrorKind::unsupported) { // the others may run
    report(t.error());
    return true;
  }
  if (!t) return std::unexpected(t.error());
  auto left = nlohmann::ordered_json::array();
  for (const auto& l : t->left)
    left.push_back({{"pc", l.pc}, {"observer", ir::info(l.observer).name}, {"observer_pc", l.observer_pc}});
  std::cout << nlohmann::ordered_json{{"kernel", kernel.name},  {"launches", t->launches},
                                      {"selects", t->selects},  {"on_data", t->on_data},
                                      {"tried", t->tried},      {"droppable", t->droppable},
                                      {"dropped", t->dropped},  {"wrong", t->wrong},
                                      {"left", std::move(left)}}
                   .dump()
            << '\n';
  return t->wrong == 0;
}

} // namespace lanewise::cli
