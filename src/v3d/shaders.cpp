#include "v3d/shaders.hpp"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace lanewise::v3d {

namespace {

using Json = nlohmann::json;

unsigned number(const Json& j, const char* key) {
  const auto it = j.find(key);
  return it != j.end() && it->is_number_unsigned() ? it->get<unsigned>() : 0;
}

std::string string(const Json& j, const char* key) {
  const auto it = j.find(key);
  return it != j.end() && it->is_string() ? it->get<std::string>() : std::string();
}

Figures figures(const Json& j) {
  Figures f;
  f.instructions = number(j, "instructions");
  f.threads = number(j, "threads");
  f.loops = number(j, "loops");
  f.uniforms = number(j, "uniforms");
  f.max_temps = number(j, "max_temps");
  f.spills = number(j, "spills");
  f.fills = number(j, "fills");
  f.sfu_stalls = number(j, "sfu_stalls");
  f.inst_and_stalls = number(j, "inst_and_stalls");
  f.nops = number(j, "nops");
  return f;
}

Expected<Shader> parse_shader(std::string_view line, std::size_t line_number) {
  const auto bad = [&](std::string_view what) {
    return fail(ErrorKind::input, std::string(what), fmt::format("line {}", line_number));
  };
  const Json j = Json::parse(line, nullptr, false);
  if (!j.is_object()) {
    return bad("not a JSON object");
  }
  Shader s;
  s.program = string(j, "program");
  const auto stage = find_stage(string(j, "stage"));
  const std::string gpu = string(j, "gpu");
  if (!stage || (gpu != "v3d-42" && gpu != "v3d-71")) {
    return bad("stage or gpu is unknown");
  }
  s.stage = *stage;
  s.gpu = gpu == "v3d-42" ? Gpu::v42 : Gpu::v71;
  s.count = std::max(1u, number(j, "count"));
  if (const auto it = j.find("mesa"); it != j.end() && it->is_object()) {
    s.mesa = figures(*it);
  }
  const auto it = j.find("listings");
  if (it == j.end() || !it->is_array()) {
    return bad("no listings");
  }
  for (const Json& l : *it) {
    if (!l.is_object()) {
      return bad("a listing is not an object");
    }
    s.listings.push_back({string(l, "strategy"), number(l, "threads") == 2 ? 2u : 4u, string(l, "vir")});
  }
  return s;
}

} // namespace

Expected<std::vector<Shader>> parse_shaders(std::string_view text, const std::string& name, Gpu gpu) {
  std::vector<Shader> shaders;
  if (!text.starts_with('{')) {
    Shader& s = shaders.emplace_back();
    s.program = name;
    s.gpu = gpu;
    s.stage = guess_stage(text);
    s.listings.push_back({"given", 4, std::string(text)});
    return shaders;
  }
  std::size_t line_number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++line_number;
    if (line.empty()) {
      continue;
    }
    auto s = parse_shader(line, line_number);
    if (!s) {
      return std::unexpected(s.error());
    }
    shaders.push_back(std::move(*s));
  }
  return shaders;
}

} // namespace lanewise::v3d
