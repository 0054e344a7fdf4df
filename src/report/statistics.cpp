#include "report/statistics.hpp"

#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lanewise::report {
namespace {

using nlohmann::json;

/// What stands before the first '/', '.' or ':' of a path-like name: shader-db keeps one folder per
/// application.
std::string application_of(std::string_view name) {
  size_t begin = 0;
  for (std::string_view prefix : {"./", "shaders/"})
    if (name.substr(begin).starts_with(prefix)) begin += prefix.size();
  return std::string(name.substr(begin, name.find_first_of("/:", begin) - begin));
}

void add_metrics(ShaderRecord& record, const json& metrics) {
  for (const auto& [key, value] : metrics.items()) {
    if (value.is_number())
      record.metrics[key] = value.get<double>();
    else if (value.is_object())
      for (const auto& [inner, number] : value.items())
        if (number.is_number()) record.metrics[key + "." + inner] = number.get<double>();
  }
}

Expected<ShaderRecord> from_json(std::string_view line, const std::string& where) {
  const json object = json::parse(line, nullptr, false);
  if (object.is_discarded() || !object.is_object())
    return fail(ErrorKind::input, "the line is no JSON object", where);
  ShaderRecord record;
  const auto text = [&](const char* key) {
    return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
  };
  if (object.contains("mesa") && object["mesa"].is_object()) {
    record.name = text("program");
    record.target = text("gpu");
    add_metrics(record, object["mesa"]);
  } else if (object.contains("metrics") && object["metrics"].is_object()) {
    record.name = text("name");
    record.target = text("target");
    add_metrics(record, object["metrics"]);
  } else {
    return fail(ErrorKind::input, "the record has no \"metrics\"", where, "write it with `lanewise stats`");
  }
  record.stage = text("stage");
  record.application = object.contains("application") ? text("application") : application_of(record.name);
  if (record.name.empty()) return fail(ErrorKind::input, "the record has no \"name\"", where);
  return record;
}

/// "NAME - STAGE shader: V stat, V stat, ..."; nothing if the line is something else.
bool from_shader_db(std::string_view line, ShaderRecord& record) {
  const size_t colon = line.find(" shader: ");
  if (colon == std::string_view::npos) return false;
  const std::string_view head = line.substr(0, colon);
  const size_t dash = head.rfind(" - ");
  if (dash == std::string_view::npos) return false;
  record = {.name = std::string(head.substr(0, dash)), .stage = std::string(head.substr(dash + 3))};
  record.application = application_of(record.name);
  std::string_view rest = line.substr(colon + 9);
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const size_t start = item.find_first_not_of(' ');
    if (start == std::string_view::npos) continue;
    double value = 0;
    const auto [end, ec] = std::from_chars(item.data() + start, item.data() + item.size(), value);
    if (ec != std::errc{} || end == item.data() + item.size() || *end != ' ') continue;
    std::string_view stat(end + 1, static_cast<size_t>(item.data() + item.size() - end - 1));
    while (stat.ends_with(' ') || stat.ends_with('\r')) stat.remove_suffix(1);
    record.metrics[std::string(stat)] = value;
  }
  return !record.metrics.empty();
}

} // namespace

Expected<std::vector<ShaderRecord>> read_records(std::string_view text, std::string_view file_name) {
  std::vector<ShaderRecord> records;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) continue;
    if (line[start] == '{') {
      auto record = from_json(line.substr(start), fmt::format("{}:{}", file_name, number));
      if (!record) return std::unexpected(record.error());
      records.push_back(std::move(*record));
    } else if (ShaderRecord record; from_shader_db(line, record)) {
      records.push_back(std::move(record));
    }
  }
  if (records.empty())
    return fail(ErrorKind::input, "no shader record found", std::string(file_name),
                "expected the output of `lanewise stats` or of Mesa's shader-db");
  return records;
}

std::string to_json(const ShaderRecord& record) {
  json object = {{"name", record.name}, {"application", record.application}, {"metrics", record.metrics}};
  if (!record.stage.empty()) object["stage"] = record.stage;
  if (!record.target.empty()) object["target"] = record.target;
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool more_is_better(std::string_view metric) {
  return metric == "threads" || metric == "waves" || metric == "max_waves" || metric == "Max Waves" ||
         metric == "Max-Waves";
}

} // namespace lanewise::report
