// lanewise stats: what every kernel of some files costs, a record each.
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "cli/target_options.hpp"
#include "report/measure.hpp"
#include "support/thread_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <unistd.h>

namespace lanewise::cli {
namespace {

struct StatsCommand {
  std::vector<std::string> files, kernels;
  std::string bundle_target, output = "-", relative_to;
  TargetOptions target;
  bool json = false, text = false, no_bounds = false;
  uint32_t threads = 1;
};

/// What came of one file.
struct FileOutcome {
  std::vector<report::ShaderRecord> records;
  std::vector<Error> errors;
};

/// How the file is called in its records.
std::string shown_name(const StatsCommand& command, const std::string& file) {
  if (file == "-") return "standard input";
  if (command.relative_to.empty()) return file;
  const std::filesystem::path path = std::filesystem::path(file).lexically_normal().lexically_relative(
      std::filesystem::path(command.relative_to).lexically_normal());
  return path.empty() ? file : path.string();
}

FileOutcome measure_file(const StatsCommand& command, const report::MeasureOptions& options,
                         const std::string& file) {
  FileOutcome outcome;
  const std::string shown = shown_name(command, file);
  const auto add_error = [&](Error e) {
    if (e.where.find(file) == std::string::npos)
      e.where = fmt::format("{}{}{}", shown, e.where.empty() ? "" : ": ", e.where);
    outcome.errors.push_back(std::move(e));
  };
  auto binary = load_input({file, command.bundle_target});
  if (!binary) {
    add_error(binary.error());
    return outcome;
  }
  for (const container::Kernel& kernel : binary->kernels) {
    const auto& wanted = command.kernels;
    if (!wanted.empty() && std::ranges::find(wanted, kernel.name) == wanted.end()) continue;
    auto record = report::measure(*binary, kernel, options);
    if (!record) {
      add_error(record.error());
      continue;
    }
    record->name = fmt::format("{}:{}", shown, kernel.name);
    record->application = shown; // kernels of one file move together
    record->stage = "compute";
    record->target = command.target.to;
    outcome.records.push_back(std::move(*record));
  }
  return outcome;
}

/// One line that stays in place, on a terminal.
class Progress {
 public:
  explicit Progress(size_t files) : files_(files), shown_(files > 1 && isatty(STDERR_FILENO)) {}
  ~Progress() { clear(); }
  void next(const std::string& file) {
    if (shown_) fmt::print(stderr, "\r\x1b[K[{}/{}] {}", ++done_, files_, printable(file));
  }
  void clear() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }

 private:
  size_t files_, done_ = 0;
  bool shown_;
};

/// Measures the files on several threads and hands their outcomes over in their order.
template <class Take>
void measure_all(const StatsCommand& command, const report::MeasureOptions& options, Take take) {
  std::vector<std::unique_ptr<FileOutcome>> outcomes(command.files.size());
  std::mutex lock;
  std::condition_variable ready;
  ThreadPool pool(command.threads);
  for (size_t i = 0; i < command.files.size(); ++i)
    pool.run([&, i] {
      auto outcome = std::make_unique<FileOutcome>(measure_file(command, options, command.files[i]));
      const std::lock_guard guard(lock);
      outcomes[i] = std::move(outcome);
      ready.notify_one();
    });
  for (size_t i = 0; i < outcomes.size(); ++i) {
    std::unique_lock guard(lock);
    ready.wait(guard, [&] { return outcomes[i] != nullptr; });
    guard.unlock();
    take(command.files[i], *std::exchange(outcomes[i], nullptr));
  }
}

int run(const StatsCommand& command) {
  auto compile = compile_options(command.target);
  if (!compile) return report(compile.error());
  const report::MeasureOptions options{std::move(*compile), !command.no_bounds};
  const bool to_terminal = command.output == "-" && isatty(STDOUT_FILENO);
  const bool text = command.text || (to_terminal && !command.json);
  int status = exit_done;
  size_t kernels = 0;
  std::string whole; // of a file that is written at the end
  Progress progress(command.files.size());
  measure_all(command, options, [&](const std::string& file, FileOutcome outcome) {
    progress.clear();
    for (const Error& e : outcome.errors) {
      const int failed = report(e);
      if (status == exit_done) status = failed;
    }
    for (const report::ShaderRecord& r : outcome.records) {
      std::string line = text ? report::to_text(r) : report::to_json(r) + "\n";
      if (command.output != "-")
        whole += line;
      else
        fmt::print("{}", line);
    }
    kernels += outcome.records.size();
    progress.next(file);
  });
  progress.clear();
  if (command.output != "-")
    if (auto written = write_output(command.output, whole); !written) return report(written.error());
  if (kernels == 0 && status == exit_done)
    return report(Error{ErrorKind::call, "no kernel to measure", {}, {}});
  return status;
}

} // namespace

void add_stats(Command& root, int& status) {
  auto options = std::make_shared<StatsCommand>();
  Command command = root.add("stats", "Print what every kernel costs: a record each");
  command.footer(
      "Prints text on a terminal, and elsewhere one JSON object a line, which `lanewise compare` "
      "reads. A kernel that is refused is reported on standard error; the others go on, and the exit "
      "status is that of the first error.\n\n"
      "  lanewise stats build/*.co -o new.json && lanewise compare old.json new.json");
  command
      .list("FILE", options->files, "code objects, offload bundles or raw descriptions; - is standard input")
      .required();
  command.text("--target", options->bundle_target,
               "entry of offload bundles: a processor (gfx1031) or a whole ID");
  command.list("--kernel", options->kernels, "only kernels of this name; may be repeated");
  command.text("-o,--output", options->output, "file to write").show_default();
  const Option text = command.flag("--text", options->text, "print text");
  command.flag("--json", options->json, "print JSON").excludes(text);
  command.text("--relative-to", options->relative_to,
               "name files from this folder on, so that two builds in two folders can be compared");
  command.flag("--no-bounds", options->no_bounds,
               "leave out the live values without exec_select and with no select: a third of the time");
  command.number("--threads", options->threads, "files at a time; more than one makes times less certain")
      .range(1, 256)
      .show_default();
  add_target_options(command, options->target);
  command.run(status, [options] { return run(*options); });
}

} // namespace lanewise::cli
