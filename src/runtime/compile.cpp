#include "runtime/compile.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include <fmt/format.h>

#include "ir/verifier.hpp"
#include "link/inline_calls.hpp"
#include "link/narrow_interfaces.hpp"
#include "passes/passes.hpp"
#include "passes/pipeline.hpp"
#include "rdna2/decoder.hpp"
#include "runtime/functions.hpp"
#include "spirv/bounds.hpp"
#include "spirv/independence.hpp"
#include "spirv/scratch_in_frame.hpp"
#include "spirv/wave_lowering.hpp"

namespace lanewise::runtime {

namespace {

class Stopwatch {
 public:
  /// Microseconds since the last lap.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double us = std::chrono::duration<double, std::micro>(now - last_).count();
    last_ = now;
    return us;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

uint32_t count_values(const ir::Function& f) {
  return std::accumulate(f.blocks.begin(), f.blocks.end(), 0u, [](uint32_t n, const ir::BasicBlock& b) {
    return n + static_cast<uint32_t>(b.instructions.size());
  });
}

uint32_t count_values(const ir::Program& p) {
  uint32_t n = count_values(p.main);
  for (const ir::CalleeFunction& c : p.callees) n += count_values(c.function);
  return n;
}

template <class F>
void for_each_function(ir::Program& p, F visit) {
  visit(p.main);
  for (ir::CalleeFunction& c : p.callees) visit(c.function);
}

/// The seat that is possible for every program; for independent lanes that of their own, which may turn out
/// not to be.
Expected<spirv::Seating> seat(const container::Kernel& kernel, const CompileOptions& options) {
  spirv::Seating s;
  s.wave_size = kernel.descriptor.wave32 ? 32 : 64;
  s.workgroup = workgroup_of(kernel, options.block);
  const HostTraits& host = options.host;
  switch (options.seating) {
  case WaveSeating::automatic:
    s.host_lanes = spirv::choose_host_lanes(s.wave_size, host.subgroup_size, host.subgroup_operations);
    break;
  case WaveSeating::native:
    if (host.subgroup_size != s.wave_size)
      return fail(ErrorKind::unsupported,
                  fmt::format("a wave of {} lanes has no native seat on subgroups of {}", s.wave_size,
                              host.subgroup_size),
                  "kernel " + kernel.name, "--wave auto takes a seat that there is");
    s.host_lanes = s.wave_size;
    break;
  case WaveSeating::folded:
    s.host_lanes = spirv::choose_host_lanes(s.wave_size, std::min(host.subgroup_size, s.wave_size / 2),
                                            host.subgroup_operations);
    break;
  case WaveSeating::independent:
    s.host_lanes = s.wave_size;
    s.independent = true;
    break;
  }
  if (auto ok = spirv::check(s); !ok) return std::unexpected(ok.error());
  return s;
}

/// A stage's result shown to the verifier and to the observer.
Expected<void> show(const CompileOptions& options, std::string_view point, const ir::Function& f,
                    unsigned host_lanes = 0) {
  if (options.verify)
    if (auto ok = ir::verify(f); !ok) {
      Error e = ok.error();
      e.where = fmt::format("{}{}{}", point, e.where.empty() ? "" : ": ", e.where);
      return std::unexpected(std::move(e));
    }
  return options.observe ? options.observe(point, f, host_lanes) : Expected<void>{};
}

/// Callees in the place of their calls: the references run programs of one function.
Expected<void> show(const CompileOptions& options, std::string_view point, const ir::Program& p,
                    unsigned host_lanes = 0) {
  if (p.callees.empty()) return show(options, point, p.main, host_lanes);
  return options.verify || options.observe ? show(options, point, link::composed(p), host_lanes)
                                           : Expected<void>{};
}

/// Runs the passes on one function of the program; `report` is the kernel's own.
Expected<void> run_passes(ir::Program& p, ir::Function& f, const CompileOptions& options,
                          CompiledKernel& result) {
  passes::PipelineOptions pipeline;
  pipeline.verify = options.verify;
  pipeline.without = options.without;
  pipeline.exec_select.explain = options.explain;
  std::optional<Error> stopped;
  if (options.observe)
    pipeline.after = [&](std::string_view pass, size_t index, const ir::Function&) {
      if (stopped) return;
      if (auto ok = show(options, fmt::format("after pass {} ({})", index + 1, pass), p); !ok)
        stopped = ok.error();
    };
  auto report = passes::run(f, pipeline);
  if (stopped) return std::unexpected(*stopped);
  if (!report) return std::unexpected(report.error());
  if (&f == &p.main)
    result.passes = std::move(*report);
  else
    result.callee_passes.push_back(std::move(*report));
  return {};
}

Expected<void> run_passes(ir::Program& p, const CompileOptions& options, CompiledKernel& result) {
  for (ir::CalleeFunction& c : p.callees)
    if (auto ok = run_passes(p, c.function, options, result); !ok) return ok;
  if (auto ok = run_passes(p, p.main, options, result); !ok) return ok;
  link::narrow_interfaces(p);
  return {};
}

Error in_kernel(Error e, const container::Kernel& kernel) {
  if (e.where.find(kernel.name) == std::string::npos)
    e.where = fmt::format("kernel {}{}{}", kernel.name, e.where.empty() ? "" : ", ", e.where);
  return e;
}

bool full_waves(const spirv::Seating& seating, const CompileOptions& options) {
  return options.partial_workgroups == std::array{false, false, false} &&
         seating.items() % seating.wave_size == 0;
}

bool leaves_out(const CompileOptions& options, std::string_view pass) {
  return std::ranges::find(options.without, pass) != options.without.end();
}

/// Offsets in the kernarg segment of pointers to buffers, ascending.
std::vector<uint32_t> buffer_pointers(const container::Kernel& kernel) {
  std::vector<uint32_t> offsets;
  for (const container::KernelArgument& a : kernel.arguments)
    if (a.value_kind == "global_buffer") offsets.push_back(a.offset);
  std::ranges::sort(offsets);
  return offsets;
}

/// What fences may rely on: where lanes and buffers lie.
passes::FenceFacts fence_facts(const ir::Function& f, const container::Kernel& kernel,
                               const CompileOptions& options, const spirv::Seating& seating) {
  passes::FenceFacts facts;
  facts.most = spirv::known_bounds(f, seating);
  facts.least = spirv::known_least(f, facts.most);
  facts.lanes = seating.host_lanes;
  facts.waves = seating.waves();
  if (options.separate_buffers) facts.separate_pointers = buffer_pointers(kernel);
  return facts;
}

void tidy(ir::Function& f) {
  passes::simplify(f);
  passes::cfg_cleanup(f);
  passes::dead_code(f);
}

/// Wave-level program -> invocation-level program for the seating in `result`.
Expected<ir::Program> lower_to_seat(const ir::Program& program, const container::Kernel& kernel,
                                    const CompileOptions& options, CompiledKernel& result) {
  Stopwatch clock;
  auto lowered = spirv::lower_waves(program, {result.seating, options.partial_workgroups});
  if (!lowered) return lowered;
  for_each_function(*lowered, [&](ir::Function& f) {
    passes::simplify(f);
    passes::dead_code(f);
    if (!leaves_out(options, "wave_fences") && passes::has_fences(f))
      passes::wave_fences(f, fence_facts(f, kernel, options, result.seating));
  });
  link::narrow_interfaces(*lowered);
  result.times.lower_us = clock.lap();
  result.lowered_values = count_values(*lowered);
  if (auto ok = show(options, "after wave lowering", *lowered, result.seating.host_lanes); !ok)
    return std::unexpected(ok.error());
  const bool diverges = !leaves_out(options, passes::kDiverge),
             threads = !leaves_out(options, passes::kJumpThreading);
  if (!diverges && !threads) return lowered;
  clock.lap();
  for_each_function(*lowered, [&](ir::Function& f) {
    const bool reconverges = options.host.device.reconverges || result.seating.independent; // nobody to meet
    if (diverges) {
      Stopwatch alone;
      const auto diverged = passes::diverge(f, {.reconverges = reconverges});
      result.times.diverge_us += alone.lap();
      result.diverged.regions += diverged.regions;
      result.diverged.loops += diverged.loops;
      result.diverged.known += diverged.known;
      if (diverged.changed()) tidy(f);
    }
    if (threads && passes::jump_threading(f)) tidy(f);
  });
  result.times.lower_us += clock.lap();
  result.lowered_values = count_values(*lowered);
  if (auto ok = show(options, "after diverge", *lowered, result.seating.host_lanes); !ok)
    return std::unexpected(ok.error());
  return lowered;
}

/// The cut of a workgroup at the grid's end changes how its lanes are numbered: a division for each
/// work-item.
bool cuts_renumber(const CompileOptions& options, const spirv::Seating& seating) {
  for (unsigned d = 0; d < 2; ++d)
    for (unsigned later = d + 1; later < 3; ++later)
      if (options.partial_workgroups[d] && seating.workgroup[d] > 1 && seating.workgroup[later] > 1)
        return true;
  return false;
}

/// Where the wave has no subgroup of its own width, or its lanes are costly to number, each lane on an
/// invocation of its own if none has to do with another; else the seat that `result` has. An error if
/// independent lanes were asked for and are not.
Expected<ir::Program> lower(const ir::Program& program, const container::Kernel& kernel,
                            const CompileOptions& options, CompiledKernel& result) {
  const bool wanted = options.seating == WaveSeating::independent;
  const bool worth = result.seating.copies() != 1 || cuts_renumber(options, result.seating);
  if (!wanted && (options.seating != WaveSeating::automatic || !worth))
    return lower_to_seat(program, kernel, options, result);
  auto reason = spirv::lanes_meet(program, spirv::Level::waves);
  if (!reason) {
    CompileOptions quiet = options;
    quiet.observe = nullptr;
    CompiledKernel tried;
    tried.seating = result.seating;
    tried.seating.host_lanes = tried.seating.wave_size;
    tried.seating.independent = true;
    auto lowered = lower_to_seat(program, kernel, quiet, tried);
    if (!lowered) return lowered;
    reason = spirv::lanes_meet(*lowered, spirv::Level::invocations);
    if (!reason) {
      result.seating = tried.seating;
      if (options.observe) return lower_to_seat(program, kernel, options, result);
      result.times.lower_us = tried.times.lower_us;
      result.times.diverge_us = tried.times.diverge_us;
      result.diverged = tried.diverged;
      result.lowered_values = tried.lowered_values;
      return lowered;
    }
  }
  if (wanted)
    return fail(ErrorKind::unsupported, "lanes of a wave have to do with each other: " + *reason, {},
                "--wave auto takes a seat that keeps the wave together");
  return lower_to_seat(program, kernel, options, result);
}

/// Everything behind translation.
Expected<void> finish(ir::Program& program, const container::Kernel& kernel, const CompileOptions& options,
                      CompiledKernel& result) {
  result.translated_values = count_values(program);
  if (auto ok = show(options, "after translation", program); !ok) return std::unexpected(ok.error());
  if (options.look) options.look(Stage::translated, program);
  Stopwatch clock;
  if (auto ok = run_passes(program, options, result); !ok) return std::unexpected(ok.error());
  result.times.passes_us = clock.lap();
  if (options.look) options.look(Stage::optimised, program);
  result.optimised_values = count_values(program);
  auto lowered = lower(program, kernel, options, result);
  if (!lowered) return std::unexpected(lowered.error());
  if (options.look) options.look(Stage::lowered, *lowered);

  clock.lap();
  spirv::EmitOptions emit;
  emit.seating = result.seating;
  emit.device = options.host.device;
  emit.dynamic_lds_bytes = options.dynamic_lds_bytes;
  if (options.aligned_buffers) emit.aligned_pointers = buffer_pointers(kernel);
  emit.cut_waves = spirv::may_lack_waves(result.seating, options.partial_workgroups) &&
                   spirv::has_barrier(lowered->main, lowered->callees);
  if (options.host.device.coroutines) spirv::keep_scratch_in_frame(*lowered);
  emit.debug_names = options.debug_names;
  emit.trace = options.trace;
  auto module = spirv::emit(*lowered, emit);
  if (!module) return std::unexpected(module.error());
  result.module = std::move(*module);
  result.times.emit_us = clock.lap();

  if (options.validate) {
    if (auto ok = validate_spirv(result.module.words); !ok) return std::unexpected(ok.error());
    result.times.validate_us = clock.lap();
  }
  return {};
}

using CodeRanges = std::vector<std::pair<uint32_t, uint32_t>>; ///< address, bytes

std::optional<link::CallCosts> call_costs(Calls calls) {
  if (calls == Calls::inlined) return {};
  return link::CallCosts{.always = calls == Calls::functions};
}

Expected<ir::Program> translated(const container::ShaderBinary& binary, const container::Kernel& kernel,
                                 const CompileOptions& options, const spirv::Seating& seating,
                                 InactiveLanes inactive, CodeRanges* decoded = nullptr) {
  return translate_program(binary, kernel,
                           {.full_waves = full_waves(seating, options),
                            .overwrite_inactive = inactive == InactiveLanes::overwritten,
                            .decoded = decoded},
                           call_costs(options.calls));
}

/// Instructions in ranges that may overlap.
uint32_t count_instructions(const container::ShaderBinary& binary, CodeRanges ranges, rdna2::WaveSize wave) {
  std::ranges::sort(ranges);
  std::vector<rdna2::Instruction> instructions;
  uint64_t done = 0;
  for (auto [address, bytes] : ranges) {
    const uint64_t begin = std::max<uint64_t>(address, done), end = uint64_t{address} + bytes;
    for (const auto& s : binary.segments)
      if (s.executable && begin >= s.address && begin < end && end - s.address <= s.bytes.size())
        rdna2::decode_append(std::span(s.bytes).subspan(begin - s.address, end - begin), wave, instructions);
    done = std::max(done, end);
  }
  return static_cast<uint32_t>(instructions.size());
}

Expected<CompiledKernel> compile_stages(const container::ShaderBinary& binary,
                                        const container::Kernel& kernel, const CompileOptions& options,
                                        CodeRanges& decoded) {
  auto seating = seat(kernel, options);
  if (!seating) return std::unexpected(seating.error());
  CompiledKernel result;
  result.seating = *seating;
  Stopwatch clock;
  auto program = translated(binary, kernel, options, *seating, InactiveLanes::kept, &decoded);
  if (!program) return std::unexpected(program.error());
  result.times.translate_us = clock.lap();
  if (auto ok = finish(*program, kernel, options, result); !ok) return std::unexpected(ok.error());
  return result;
}

} // namespace

std::array<uint32_t, 3> workgroup_of(const container::Kernel& kernel, const std::array<uint32_t, 3>& wanted) {
  if (wanted != std::array<uint32_t, 3>{}) return wanted;
  return kernel.required_workgroup_size.value_or(std::array<uint32_t, 3>{64, 1, 1});
}

Expected<CompiledKernel> compile(const container::ShaderBinary& binary, const container::Kernel& kernel,
                                 const CompileOptions& options) {
  CodeRanges decoded;
  auto result = compile_stages(binary, kernel, options, decoded);
  if (!result) return std::unexpected(in_kernel(result.error(), kernel));
  const auto wave = kernel.descriptor.wave32 ? rdna2::WaveSize::wave32 : rdna2::WaveSize::wave64;
  const auto code = binary.code_of(kernel);
  std::vector<rdna2::Instruction> instructions;
  rdna2::decode_append(code, wave, instructions);
  result->guest_bytes = static_cast<uint32_t>(code.size());
  result->guest_instructions = static_cast<uint32_t>(instructions.size());
  result->reached_instructions = count_instructions(binary, std::move(decoded), wave);
  return result;
}

Expected<ir::Program> optimised_program(const container::ShaderBinary& binary,
                                        const container::Kernel& kernel, const CompileOptions& options,
                                        InactiveLanes inactive) {
  auto seating = seat(kernel, options);
  if (!seating) return std::unexpected(in_kernel(seating.error(), kernel));
  auto program = translated(binary, kernel, options, *seating, inactive);
  if (!program) return std::unexpected(in_kernel(program.error(), kernel));
  CompiledKernel unused;
  if (auto ok = run_passes(*program, options, unused); !ok)
    return std::unexpected(in_kernel(ok.error(), kernel));
  return program;
}

Expected<ir::Program> lowered_program(const container::ShaderBinary& binary, const container::Kernel& kernel,
                                      const CompileOptions& options) {
  auto seating = seat(kernel, options);
  if (!seating) return std::unexpected(in_kernel(seating.error(), kernel));
  auto program = optimised_program(binary, kernel, options);
  if (!program) return program;
  CompiledKernel unused;
  unused.seating = *seating;
  auto lowered = lower(*program, kernel, options, unused);
  if (!lowered) return std::unexpected(in_kernel(lowered.error(), kernel));
  return lowered;
}

Expected<CompiledKernel> compile_program(ir::Program program, const container::Kernel& kernel,
                                         const CompileOptions& options) {
  auto seating = seat(kernel, options);
  if (!seating) return std::unexpected(in_kernel(seating.error(), kernel));
  CompiledKernel result;
  result.seating = *seating;
  if (auto ok = finish(program, kernel, options, result); !ok)
    return std::unexpected(in_kernel(ok.error(), kernel));
  return result;
}

} // namespace lanewise::runtime
