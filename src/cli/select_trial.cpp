#include "cli/select_trial.hpp"

#include "analysis/users.hpp"
#include "passes/pipeline.hpp"
#include "rdna2/decoder.hpp"
#include "rdna2/opcode_info.hpp"
#include "runtime/execute.hpp"
#include "translate/translate.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::cli {
namespace {

using ir::Value;

/// Instructions that a launch may take, as a multiple of what the whole program takes: without one of its
/// selects a loop may not end.
constexpr uint64_t kSlack = 4;
/// Launches that take longer are no input.
constexpr uint64_t kMostInstructions = 500'000;

using Memory = std::vector<std::vector<uint8_t>>;

struct Run {
  Memory memory;
  uint64_t instructions = 0;
};

Expected<Run> run(const runtime::Launch& launch, const ir::Function& f, uint64_t limit) {
  runtime::Launch copy = launch;
  runtime::ExecuteOptions options;
  options.max_instructions = limit;
  const auto report = runtime::run_on_interpreter(copy, f, options);
  if (!report) return std::unexpected(report.error());
  Run r{.instructions = report->instructions};
  for (auto& b : copy.buffers) r.memory.push_back(std::move(b.contents));
  return r;
}

/// The program that exec_select gets.
Expected<ir::Function> before_exec_select(const container::ShaderBinary& binary,
                                          const container::Kernel& kernel) {
  auto f = translate::translate(binary, kernel);
  if (!f) return f;
  passes::PipelineOptions until;
  until.before = "exec_select";
  if (auto ok = passes::run(*f, until); !ok) return std::unexpected(ok.error());
  return f;
}

/// Whether the guest instruction at `pc` may choose between its operands itself.
bool chooses(const container::ShaderBinary& binary, rdna2::WaveSize wave, uint32_t pc) {
  for (const container::Segment& s : binary.segments) {
    if (pc < s.address || pc >= s.address + s.bytes.size()) continue;
    const auto instruction = rdna2::decode(s.bytes, pc - static_cast<uint32_t>(s.address), wave);
    if (!instruction) return false;
    const std::string_view name = rdna2::name(instruction->opcode);
    return name.starts_with("v_cndmask") || name.starts_with("v_movrel") || name.starts_with("v_writelane");
  }
  return false;
}

/// Per-lane selects that write a register under EXEC. The last select of a guest instruction is that one;
/// selects in front of it are part of what the instruction computes, as is one on a mask that came from other
/// lanes.
std::vector<Value> exec_selects(const ir::Function& f, const container::ShaderBinary& binary,
                                SelectTrial& trial) {
  const analysis::Users users(f);
  const auto wave = f.wave_size == 32 ? rdna2::WaveSize::wave32 : rdna2::WaveSize::wave64;
  const auto computes = [&](Value v) {
    const auto of_same_instruction = [&](Value x) { return f[x].pc == f[v].pc && f[x].op != ir::Op::pack64; };
    const auto list = users.of(v);
    if (f[v].pc != 0 && std::any_of(list.begin(), list.end(), of_same_instruction)) return true;
    const ir::Op mask = f[f.operand(v, 0)].op;
    if (mask == ir::Op::dpp || mask == ir::Op::permute) return true;
    return !of_same_instruction(f.operand(v, 1)) && chooses(binary, wave, f[v].pc);
  };
  std::vector<Value> list;
  for (const auto& b : f.blocks)
    for (const Value v : b.instructions) {
      if (f[v].op != ir::Op::select || f[v].uniform) continue;
      if (computes(v))
        ++trial.on_data;
      else
        list.push_back(v);
    }
  return list;
}

ir::Function without(const ir::Function& f, Value select) {
  ir::Function g = f;
  const Value by = f.operand(select, 1);
  for (auto& b : g.blocks)
    for (const Value v : b.instructions)
      for (Value& o : g.operands(v))
        if (o == select) o = by;
  return g;
}

} // namespace

Expected<SelectTrial> try_selects(const container::ShaderBinary& binary, const container::Kernel& kernel,
                                  const MakeLaunch& make, unsigned launches, unsigned most) {
  auto f = before_exec_select(binary, kernel);
  if (!f) return std::unexpected(f.error());
  std::vector<runtime::Launch> inputs;
  std::vector<Run> expected;
  for (unsigned i = 0; i < 4 * launches && inputs.size() < launches; ++i) {
    auto launch = make(i);
    if (!launch) return std::unexpected(launch.error());
    auto result = run(*launch, *f, kMostInstructions);
    if (!result) continue; // an access outside its buffers, say, or too long: no input for this kernel
    inputs.push_back(std::move(*launch));
    expected.push_back(std::move(*result));
  }
  if (inputs.empty()) return fail(ErrorKind::unsupported, "no generated launch runs", kernel.name);

  ir::Function optimised = *f;
  const auto decided = passes::exec_select(optimised, {.explain = true});
  std::vector<const passes::ExecSelectResult::Kept*> kept(f->value_count());
  for (const auto& k : decided.kept) kept[k.select.index] = &k;

  SelectTrial trial;
  trial.launches = static_cast<unsigned>(inputs.size());
  const auto selects = exec_selects(*f, binary, trial);
  trial.selects = static_cast<unsigned>(selects.size());
  const size_t step = std::max<size_t>(1, (selects.size() + most - 1) / most);
  for (size_t i = 0; i < selects.size(); i += step) {
    ++trial.tried;
    const ir::Function variant = without(*f, selects[i]);
    bool same = true;
    for (size_t l = 0; l < inputs.size() && same; ++l) {
      const auto got = run(inputs[l], variant, kSlack * expected[l].instructions + 100000);
      same = got && got->memory == expected[l].memory;
    }
    const auto* stays = kept[selects[i].index];
    trial.droppable += same;
    trial.dropped += same && !stays;
    if (same && stays) trial.left.push_back({stays->pc, stays->observer_pc, stays->observer_op});
  }
  for (size_t l = 0; l < inputs.size(); ++l) {
    const auto got = run(inputs[l], optimised, kSlack * expected[l].instructions + 100000);
    trial.wrong += !got || got->memory != expected[l].memory;
  }
  return trial;
}

} // namespace lanewise::cli
