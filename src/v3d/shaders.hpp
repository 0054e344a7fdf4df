// The collection files: one JSON object a line, a shader with the reference compiler's listings and figures.
#pragma once

#include "support/error.hpp"
#include "v3d/vir.hpp"

#include <string>
#include <vector>

namespace lanewise::v3d {

/// The figures by which V3D shaders are compared.
struct Figures {
  unsigned instructions = 0, threads = 0, loops = 0, uniforms = 0, max_temps = 0, spills = 0, fills = 0;
  unsigned sfu_stalls = 0, inst_and_stalls = 0, nops = 0;
  unsigned weighted = 0; ///< spills and fills, each times ten for every loop around it; 0 in reference data
};

struct Listing {
  std::string strategy;
  unsigned threads = 4;
  std::string vir;
};

struct Shader {
  std::string program;
  Stage stage = Stage::fragment;
  Gpu gpu = Gpu::v71;
  unsigned count = 1;
  Figures mesa;
  std::vector<Listing> listings;
};

/// Reads such a file's text; for other text, one shader with that listing. Errors name the line.
[[nodiscard]] Expected<std::vector<Shader>> parse_shaders(std::string_view text, const std::string& name,
                                                          Gpu gpu);

} // namespace lanewise::v3d
