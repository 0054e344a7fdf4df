#include "translate/call_survey.hpp"

#include "translate/graph.hpp"

#include <algorithm>

namespace lanewise::translate {
namespace {

class Survey {
 public:
  Survey(const container::ShaderBinary& binary, const container::Kernel& kernel)
      : binary_(binary), wave_(kernel.descriptor.wave32 ? rdna2::WaveSize::wave32 : rdna2::WaveSize::wave64),
        vgprs_(std::clamp(kernel.descriptor.vgpr_count, 3u, 256u)) {}

  /// `code`: in which the kernel has been explored. It comes back.
  Expected<std::vector<SurveyedFunction>> run(const container::Kernel& kernel, Code& code) {
    const auto entry = entry_sgprs(kernel, static_cast<unsigned>(wave_));
    if (!entry) return std::unexpected(entry.error());
    number(static_cast<uint32_t>(kernel.entry));
    auto main = build_graph(binary_, found_[0].entry, wave_,
                            {.entry = &*entry, .vgprs = vgprs_, .all_functions = true, .explored = &code});
    if (!main) return std::unexpected(std::move(main.error()));
    add(0, *main);
    code = std::move(main->code);
    for (uint32_t k = 1; k < found_.size(); ++k) {
      // What has no graph of its own, for it lives on what its callers know, is inlined.
      if (auto graph = build_graph(binary_, found_[k].entry, wave_,
                                   {.entry = nullptr, .vgprs = vgprs_, .all_functions = true}))
        add(k, *graph);
    }
    return found_.size() == 1 ? std::vector<SurveyedFunction>{} : std::move(found_);
  }

 private:
  uint32_t number(uint32_t entry) {
    const auto at = std::ranges::find(found_, entry, &SurveyedFunction::entry);
    if (at != found_.end()) return static_cast<uint32_t>(at - found_.begin());
    found_.push_back({.entry = entry});
    return static_cast<uint32_t>(found_.size() - 1);
  }

  void add(uint32_t k, const Graph& graph) {
    uint32_t instructions = 0;
    uint32_t scratch = 0;
    bool returns = true;
    for (const Node& n : graph.nodes) {
      const CodeBlock& block = graph.block(n);
      instructions += block.count;
      const bool ends = block.exit == Exit::end || block.exit == Exit::trap;
      returns = returns && !ends && !n.checked;
      // Compilers use buffer instructions for private memory only.
      scratch += static_cast<uint32_t>(
          std::ranges::count_if(graph.code.instructions(block), [](const rdna2::Instruction& i) {
            return i.encoding == rdna2::Encoding::mubuf || i.encoding == rdna2::Encoding::scratch;
          }));
    }
    std::vector<uint32_t> calls;
    for (const CallSlot& s : graph.slots) {
      found_[k].pointers = found_[k].pointers || !s.function;
      if (s.function) calls.push_back(number(*s.function));
    }
    found_[k].instructions = instructions;
    found_[k].calls = std::move(calls);
    found_[k].returns = returns && !found_[k].pointers && k != 0;
    found_[k].scratch = scratch;
  }

  const container::ShaderBinary& binary_;
  rdna2::WaveSize wave_;
  unsigned vgprs_;
  std::vector<SurveyedFunction> found_;
};

bool has_calls(const Code& code) {
  return std::ranges::any_of(code.blocks(), [](const CodeBlock& b) { return b.exit == Exit::call; });
}

} // namespace

Expected<std::vector<SurveyedFunction>> survey_calls(const container::ShaderBinary& binary,
                                                     const container::Kernel& kernel,
                                                     std::optional<Code>* explored) {
  Code code(binary, kernel.descriptor.wave32 ? rdna2::WaveSize::wave32 : rdna2::WaveSize::wave64);
  if (auto ok = code.explore(static_cast<uint32_t>(kernel.entry)); !ok)
    return std::unexpected(std::move(ok.error()));
  if (!has_calls(code)) {
    if (explored) *explored = std::move(code);
    return std::vector<SurveyedFunction>{};
  }
  auto found = Survey(binary, kernel).run(kernel, code);
  if (found && explored) *explored = std::move(code);
  return found;
}

} // namespace lanewise::translate
