// Statistics of shaders: one record per (file, entry point, stage, target), and how they are read.
#pragma once

#include "support/error.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lanewise::report {

/// Figures of one shader. Metric names are as printed: "instructions", "spills", "time_us.translate", ...
struct ShaderRecord {
  std::string name;        ///< identifies the shader in both files of a comparison
  std::string application; ///< shaders of one application move together; see docs/statistics.md
  std::string stage;       ///< "compute", "vertex", ...; may be empty
  std::string target;      ///< "spirv", "v3d71", ...; may be empty
  std::map<std::string, double> metrics;

  [[nodiscard]] std::string key() const {
    return name + (stage.empty() ? "" : " - " + stage) + (target.empty() ? "" : " @" + target);
  }
};

/// Reads records, one a line, each line in one of three forms:
///
///   {"name": "a.co:saxpy", "stage": "compute", "target": "spirv", "metrics": {"instructions": 41}} `lanewise
///   stats` NAME - STAGE shader: 41 inst, 2 threads, ... Mesa's shader-db
///   {"program": ..., "stage": ..., "gpu": ..., "count": N, "mesa": {...}}                            V3D
///   data files
///
/// Other lines of a log are passed over. Errors name the line; a file without any record is one.
[[nodiscard]] Expected<std::vector<ShaderRecord>> read_records(std::string_view text,
                                                               std::string_view file_name);

/// One line of JSON, without the newline.
[[nodiscard]] std::string to_json(const ShaderRecord& record);

/// True for metrics of which more is better (threads, waves).
[[nodiscard]] bool more_is_better(std::string_view metric);

} // namespace lanewise::report
