// What one kernel costs: the figures of `lanewise stats` (docs/statistics.md).
#pragma once

#include "report/statistics.hpp"
#include "runtime/compile.hpp"

namespace lanewise::report {

struct MeasureOptions {
  runtime::CompileOptions compile;
  /// Also the two programs that lane demand is held against: without exec_select, and the least that dropping
  /// selects could leave. Costs two more translations.
  bool bounds = true;
};

/// Compiles the kernel. `name`, `application` and so on of the result are the caller's. Errors as
/// runtime::compile().
[[nodiscard]] Expected<ShaderRecord> measure(const container::ShaderBinary& binary,
                                             const container::Kernel& kernel, const MeasureOptions& options);

/// The two halves of measure(), for programs that are not compiled from a file: what CompileOptions::look
/// sees (CompileOptions::explain has to be set), and what comes out.
[[nodiscard]] runtime::ProgramObserver looking_at(ShaderRecord& record, const container::ShaderBinary& binary,
                                                  const container::Kernel& kernel);
void add_compiled(ShaderRecord& record, const runtime::CompiledKernel& compiled);

/// A record for people, several lines.
[[nodiscard]] std::string to_text(const ShaderRecord& record);

} // namespace lanewise::report
