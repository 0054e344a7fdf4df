#include "translate/translate.hpp"

#include "translate/translator.hpp"

#include <fmt/format.h>

namespace lanewise::translate {

Expected<ir::Function> translate(const container::ShaderBinary& binary, const container::Kernel& kernel,
                                 const TranslateOptions& options) {
  if (kernel.stage != container::Stage::compute)
    return fail(ErrorKind::unsupported, "only compute programs are translated", "kernel " + kernel.name);
  if (kernel.entry > UINT32_MAX)
    return fail(ErrorKind::input, "entry address is absurd", "kernel " + kernel.name);
  if (kernel.descriptor.fp16_overflow)
    return fail(ErrorKind::unsupported, "FP16_OVFL mode", "kernel " + kernel.name);
  const auto wave = kernel.descriptor.wave32 ? rdna2::WaveSize::wave32 : rdna2::WaveSize::wave64;
  const auto in_kernel = [&](Error error) {
    error.where = fmt::format("kernel {}, {}", kernel.name, error.where);
    return std::unexpected(std::move(error));
  };
  const auto graph = build_graph(binary, static_cast<uint32_t>(kernel.entry), wave);
  if (!graph) return in_kernel(graph.error());
  const Flow flow(*graph);
  ir::Function function(kernel.descriptor.wave32 ? 32 : 64);
  function.name = kernel.name;
  function.lds_bytes = kernel.descriptor.group_segment_fixed_size;
  function.scratch_bytes = kernel.descriptor.private_segment_fixed_size;
  Translator translator(*graph, flow, kernel, options, function);
  if (auto done = translator.run(); !done) return in_kernel(done.error());
  return function;
}

} // namespace lanewise::translate
