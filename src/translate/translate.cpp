#include "translate/translate.hpp"

#include "translate/translator.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::translate {
namespace {

/// Ranges of the code that was decoded.
std::vector<Unlinked::Range> ranges_of(const Code& code) {
  std::vector<Unlinked::Range> all, joined;
  const auto add = [](std::vector<Unlinked::Range>& list, Unlinked::Range r) {
    if (!list.empty() && list.back().address + list.back().bytes == r.address)
      list.back().bytes += r.bytes;
    else
      list.push_back(r);
  };
  // Code is decoded in stretches, so little is left to sort.
  for (const rdna2::Instruction& i : code.instructions())
    if (i.size != 0) add(all, {i.pc, i.size});
  std::ranges::sort(all, {}, &Unlinked::Range::address);
  for (const Unlinked::Range& r : all) add(joined, r);
  return joined;
}

Expected<Unlinked> translate_graph(Graph graph, const container::Kernel& kernel,
                                   const TranslateOptions& options) {
  const Flow flow(graph);
  Unlinked result{.function = ir::Function(kernel.descriptor.wave32 ? 32 : 64)};
  ir::Function& function = result.function;
  function.name = kernel.name;
  function.lds_bytes = kernel.descriptor.group_segment_fixed_size;
  function.scratch_bytes = kernel.descriptor.private_segment_fixed_size;
  Translator translator(graph, flow, kernel, options, function);
  if (auto done = translator.run(); !done) return std::unexpected(done.error());
  result.modes = translator.slot_modes();
  if (std::ranges::any_of(graph.slots, [](const CallSlot& s) { return !s.function; }))
    for_each_interface(graph.vgprs,
                       [&](unsigned r) { result.interface.push_back(static_cast<uint16_t>(r)); });
  if (graph.callee) result.results = translator.results();
  for (const Node& n : graph.nodes)
    if (n.leaves) result.links.push_back(n.link);
  std::ranges::sort(result.links);
  result.links.erase(std::unique(result.links.begin(), result.links.end()), result.links.end());
  result.code = ranges_of(graph.code);
  if (options.decoded)
    for (const Unlinked::Range& r : result.code) options.decoded->emplace_back(r.address, r.bytes);
  result.slots = std::move(graph.slots);
  result.preserved = std::move(graph.preserved);
  result.origins = std::move(*graph.origins);
  return result;
}

} // namespace

Expected<Unlinked> translate_unlinked(const container::ShaderBinary& binary, const container::Kernel& kernel,
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
  const auto entry = entry_sgprs(kernel, static_cast<unsigned>(wave));
  if (!entry) return std::unexpected(entry.error());
  auto graph = build_graph(binary, static_cast<uint32_t>(kernel.entry), wave,
                           {.entry = &*entry,
                            .vgprs = std::clamp(kernel.descriptor.vgpr_count, 3u, 256u),
                            .functions = options.functions,
                            .explored = options.explored});
  if (!graph) return in_kernel(graph.error());
  auto result = translate_graph(std::move(*graph), kernel, options);
  if (!result) return in_kernel(result.error());
  return result;
}

Expected<ir::Function> translate(const container::ShaderBinary& binary, const container::Kernel& kernel,
                                 const TranslateOptions& options) {
  auto result = translate_unlinked(binary, kernel, options);
  if (!result) return std::unexpected(std::move(result.error()));
  if (!result->slots.empty()) {
    const CallSlot& s = result->slots.front();
    return fail(ErrorKind::unsupported,
                fmt::format("the target of this call is {}, which a dispatch has to supply",
                            result->origins.text(s.target[0])),
                fmt::format("kernel {}, pc 0x{:x}", kernel.name, s.pc),
                "prepare the kernel, then link its callees");
  }
  return std::move(result->function);
}

Expected<Unlinked> translate_callee(const container::ShaderBinary& binary, uint32_t entry,
                                    const CalleeAbi& abi, const TranslateOptions& options) {
  const auto wave = abi.wave_size == 32 ? rdna2::WaveSize::wave32 : rdna2::WaveSize::wave64;
  auto graph = build_graph(binary, entry, wave,
                           {.entry = nullptr, .vgprs = abi.vgprs, .functions = options.functions});
  if (!graph) return std::unexpected(graph.error());
  for (const rdna2::Instruction& i : graph->code.instructions()) {
    const auto past = [&](const rdna2::Operand& o) {
      return o.is_vgpr() && o.reg + unsigned{o.dwords} > abi.vgprs;
    };
    if (std::ranges::any_of(i.dst, past) || std::ranges::any_of(i.src, past))
      return fail(ErrorKind::limit, fmt::format("a callee uses more than the caller's {} VGPRs", abi.vgprs),
                  where(i, wave));
  }
  container::Kernel kernel{.name = "callee", .entry = entry};
  kernel.descriptor.wave32 = abi.wave_size == 32;
  kernel.descriptor.vgpr_count = abi.vgprs;
  kernel.descriptor.float_mode = {static_cast<uint8_t>(abi.mode & 3), static_cast<uint8_t>(abi.mode >> 2 & 3),
                                  static_cast<uint8_t>(abi.mode >> 4 & 3),
                                  static_cast<uint8_t>(abi.mode >> 6 & 3)};
  kernel.descriptor.dx10_clamp = (abi.mode >> 8 & 1) != 0;
  kernel.descriptor.ieee = (abi.mode >> 9 & 1) != 0;
  return translate_graph(std::move(*graph), kernel, options);
}

} // namespace lanewise::translate
