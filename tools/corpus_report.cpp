// corpus_report FILE...: sends every kernel of many code objects through the whole recompilation and counts
// how far each one gets. Each file has a process of its own, so that a crash or an endless loop costs one
// kernel and is counted as such. scripts/corpus-report is the comfortable way to call it.
#include "container/load.hpp"
#include "rdna2/decoder.hpp"
#include "runtime/compile.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <deque>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace lanewise;

/// How far a kernel got: the last stage that it passed.
enum class Stage : uint8_t { none, loaded, decoded, translated, optimised, emitted, valid };
constexpr std::array stage_names{"none", "loaded", "decoded", "translated", "optimised", "emitted", "valid"};

struct Row {
  std::string file, kernel;
  Stage stage = Stage::none;
  bool has_images = false;
  uint64_t instructions = 0, spirv_words = 0;
  double microseconds = 0; ///< of the recompilation, without validation
  std::string refusal;     ///< empty when valid
};

struct Options {
  std::vector<std::string> files;
  unsigned jobs = 2, seconds = 60, megabytes = 4096;
  std::string json;
  unsigned subgroup = 0; ///< of the device; 0: as wide as the wave
  bool verify = false;   ///< the IR after every pass
};

/// On one line: a validator adds the instruction on lines of their own.
std::string message(const Error& error) {
  const std::string text = error.where.empty() ? error.what : fmt::format("{}: {}", error.where, error.what);
  return text.substr(0, text.find('\n'));
}

// --- one kernel ---

/// A device that has all: what a device lacks costs more words, but no kernel.
runtime::HostTraits able_host(unsigned subgroup_size) {
  const spirv::FloatTraits floats{.denorm_preserve = {true, true, true},
                                  .round_nearest_even = {true, true, true},
                                  .signed_zero_inf_nan_preserve = {true, true, true}};
  const spirv::DeviceTraits device{.floats = floats,
                                   .fused_fma = {true, true, true},
                                   .int64_lds_atomics = true,
                                   .int64_atomics = true,
                                   .shader_clock = true};
  return {.subgroup_size = subgroup_size, .subgroup_operations = true, .device = device};
}

/// Passes the kernel through the stages and stops at the first refusal.
void survey_kernel(const container::ShaderBinary& binary, const container::Kernel& kernel,
                   const Options& options, Row& row) {
  const auto wave = kernel.descriptor.wave32 ? rdna2::WaveSize::wave32 : rdna2::WaveSize::wave64;
  const auto refused = [&](const Error& error) { row.refusal = message(error); };
  const auto program = rdna2::decode_program(binary.code_of(kernel), wave);
  if (!program) return refused(program.error());
  row.stage = Stage::decoded;
  row.instructions = program->size();
  row.has_images =
      std::ranges::any_of(*program, [](const auto& i) { return i.encoding == rdna2::Encoding::mimg; });
  runtime::CompileOptions compile;
  compile.host = able_host(options.subgroup ? options.subgroup : unsigned(wave));
  compile.verify = options.verify;
  compile.observe = [&](std::string_view, const ir::Function&, unsigned host_lanes) -> Expected<void> {
    row.stage = host_lanes ? Stage::optimised : Stage::translated;
    return {};
  };
  const auto compiled = runtime::compile(binary, kernel, compile);
  if (!compiled) return refused(compiled.error());
  row.stage = Stage::emitted;
  row.spirv_words = compiled->module.words.size();
  row.microseconds = compiled->times.total_us();
  if (const auto valid = runtime::validate_spirv(compiled->module.words); !valid)
    return refused(valid.error());
  row.stage = Stage::valid;
}

// --- one file, in a child process ---

void write_row(int pipe, const Row& row) {
  const nlohmann::json json = {row.file,         row.kernel,      int(row.stage),   row.has_images,
                               row.instructions, row.spirv_words, row.microseconds, row.refusal};
  const std::string line = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t written = write(pipe, line.data() + at, line.size() - at);
    if (written <= 0) return;
    at += std::size_t(written);
  }
}

/// Announces each kernel before it starts, so that the parent can tell which one did not come back.
void survey_file(const std::string& file, unsigned first, int pipe, const Options& options) {
  const auto binary = container::load_file(file);
  if (!binary) {
    write_row(pipe, {.file = file, .kernel = "", .stage = Stage::none, .refusal = message(binary.error())});
    return;
  }
  for (std::size_t i = first; i < binary->kernels.size(); ++i) {
    const container::Kernel& kernel = binary->kernels[i];
    Row row{.file = file, .kernel = kernel.name, .stage = Stage::loaded, .refusal = {}};
    write_row(pipe, row);
    alarm(options.seconds);
    survey_kernel(*binary, kernel, options, row);
    alarm(0);
    write_row(pipe, row);
  }
}

struct Child {
  std::string file, text;
  unsigned first = 0; ///< kernel to start with
  pid_t process = 0;
  int pipe = -1;
};

Child start(const std::string& file, unsigned first, const Options& options) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    const rlimit memory{rlim_t{options.megabytes} << 20, rlim_t{options.megabytes} << 20};
    setrlimit(RLIMIT_AS, &memory);
    survey_file(file, first, ends[1], options);
    _exit(0);
  }
  close(ends[1]);
  return {.file = file, .text = {}, .first = first, .process = process, .pipe = ends[0]};
}

Row parse_row(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_array() || json.size() != 8) return {};
  return {json[0], json[1], Stage(json[2].get<int>()), json[3], json[4], json[5], json[6], json[7]};
}

/// What a finished child said: pairs of announcement and result. A lone announcement is a kernel that killed
/// it; returns the number of the kernel after that one, 0 when the file is done.
unsigned collect(const Child& child, int status, std::vector<Row>& rows) {
  std::vector<Row> said;
  for (std::size_t at = 0; at < child.text.size();) {
    const auto end = child.text.find('\n', at);
    if (end == std::string::npos) break;
    said.push_back(parse_row(std::string_view(child.text).substr(at, end - at)));
    at = end + 1;
  }
  if (!said.empty() && said.front().stage == Stage::none) {
    rows.push_back(said.front());
    return 0;
  }
  for (std::size_t i = 1; i < said.size(); i += 2) rows.push_back(said[i]);
  if (said.size() % 2 == 0) return 0;
  Row row = said.back();
  const int killer = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  row.refusal =
      killer == SIGALRM ? "TIME: the recompilation does not end" : fmt::format("CRASH: signal {}", killer);
  rows.push_back(row);
  return child.first + unsigned(said.size() / 2) + 1;
}

std::vector<Row> survey(const Options& options) {
  std::vector<Row> rows;
  std::deque<std::pair<std::string, unsigned>> waiting;
  for (const std::string& file : options.files) waiting.emplace_back(file, 0);
  std::vector<Child> running;
  while (!waiting.empty() || !running.empty()) {
    while (!waiting.empty() && running.size() < options.jobs) {
      running.push_back(start(waiting.front().first, waiting.front().second, options));
      waiting.pop_front();
    }
    fd_set ready;
    FD_ZERO(&ready);
    int highest = 0;
    for (const Child& child : running) FD_SET(child.pipe, &ready), highest = std::max(highest, child.pipe);
    if (select(highest + 1, &ready, nullptr, nullptr, nullptr) < 0) continue;
    for (auto child = running.begin(); child != running.end();) {
      char buffer[65536];
      const ssize_t got = FD_ISSET(child->pipe, &ready) ? read(child->pipe, buffer, sizeof buffer) : -1;
      if (got > 0) child->text.append(buffer, std::size_t(got));
      if (got != 0) {
        ++child;
        continue;
      }
      int status = 0;
      close(child->pipe);
      waitpid(child->process, &status, 0);
      if (const unsigned next = collect(*child, status, rows)) waiting.emplace_front(child->file, next);
      child = running.erase(child);
    }
    if (isatty(STDERR_FILENO))
      fmt::print(stderr, "\r{} files to go, {} kernels done ", waiting.size() + running.size(), rows.size());
  }
  if (isatty(STDERR_FILENO)) fmt::print(stderr, "\n");
  return rows;
}

// --- the table ---

std::string collection(const Row& row) {
  const std::string name = std::filesystem::path(row.file).filename().string();
  return name.substr(0, name.find('_'));
}

/// A refusal without what differs from kernel to kernel: places and numbers.
std::string reason(const Row& row) {
  std::string text = row.refusal;
  if (const auto where = text.find("pc 0x"); where != std::string::npos) {
    // "pc 0x40: mnemonic operands: what" keeps the mnemonic.
    if (const auto colon = text.find(": ", where); colon != std::string::npos) text = text.substr(colon + 2);
    if (const auto colon = text.find(": "), blank = text.find(' ');
        colon != std::string::npos && blank < colon)
      text.erase(blank, colon - blank);
  }
  // A number is a word that starts with a digit; digits inside a mnemonic stay.
  std::string out;
  bool inside_number = false;
  for (const char c : text.substr(0, 160)) {
    const bool word_starts =
        out.empty() || !(std::isalnum(uint8_t(out.back())) || out.back() == '_' || out.back() == '#');
    if (word_starts) inside_number = std::isdigit(uint8_t(c)) != 0;
    if (!inside_number || !std::isalnum(uint8_t(c)))
      out += c;
    else if (word_starts)
      out += '#';
  }
  return out;
}

bool uses_images(const Row& row) { return row.has_images || row.refusal.find("image_") != std::string::npos; }

struct Totals {
  std::array<std::size_t, stage_names.size()> reached{}; ///< kernels that passed each stage
  std::size_t kernels = 0, without_images = 0, done_without_images = 0;
  uint64_t instructions = 0, words = 0;
  double microseconds = 0;

  void add(const Row& row) {
    ++kernels;
    for (std::size_t stage = 0; stage <= std::size_t(row.stage); ++stage) ++reached[stage];
    without_images += !uses_images(row);
    if (row.stage < Stage::valid) return;
    done_without_images += !uses_images(row);
    instructions += row.instructions;
    words += row.spirv_words;
    microseconds += row.microseconds;
  }
};

void print_table(const std::vector<Row>& rows) {
  std::map<std::string, Totals> groups;
  Totals all;
  for (const Row& row : rows) groups[collection(row)].add(row), all.add(row);
  fmt::print("{:<12}{:>9}{:>9}{:>12}{:>11}{:>9}{:>9}{:>22}{:>13}{:>12}\n", "collection", "kernels", "decoded",
             "translated", "optimised", "emitted", "valid", "without images, done", "us per 1000",
             "words/instr");
  const auto print = [](const std::string& name, const Totals& t) {
    const auto at = [&](Stage stage) { return t.reached[std::size_t(stage)]; };
    const double instructions = double(std::max<uint64_t>(t.instructions, 1));
    fmt::print("{:<12}{:>9}{:>9}{:>12}{:>11}{:>9}{:>9}{:>11} {:>6.2f} %  {:>13.0f}{:>12.2f}\n", name,
               t.kernels, at(Stage::decoded), at(Stage::translated), at(Stage::optimised), at(Stage::emitted),
               at(Stage::valid), t.without_images,
               100.0 * double(t.done_without_images) / double(std::max<std::size_t>(t.without_images, 1)),
               1000 * t.microseconds / instructions, double(t.words) / instructions);
  };
  for (const auto& [name, totals] : groups) print(name, totals);
  print("all", all);
}

void print_reasons(const std::vector<Row>& rows) {
  struct Reason {
    std::size_t kernels = 0;
    std::string example;
  };
  std::map<std::string, Reason> reasons;
  for (const Row& row : rows) {
    if (row.refusal.empty()) continue;
    Reason& entry = reasons[fmt::format("[{}] {}", stage_names[std::size_t(row.stage)], reason(row))];
    if (entry.kernels++ == 0)
      entry.example = fmt::format("{} {}: {}", std::filesystem::path(row.file).filename().string(),
                                  row.kernel, row.refusal);
  }
  std::vector<std::pair<std::string, Reason>> sorted(reasons.begin(), reasons.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second.kernels > b.second.kernels; });
  if (!sorted.empty()) fmt::print("\nrefused, after the stage in brackets:\n");
  for (const auto& [text, entry] : sorted)
    fmt::print("{:>6}  {}\n        e.g. {}\n", entry.kernels, text, entry.example);
}

void write_json(const std::vector<Row>& rows, const std::string& file) {
  auto list = nlohmann::json::array();
  for (const Row& row : rows)
    list.push_back({{"file", row.file},
                    {"kernel", row.kernel},
                    {"stage", stage_names[std::size_t(row.stage)]},
                    {"images", uses_images(row)},
                    {"instructions", row.instructions},
                    {"spirv_words", row.spirv_words},
                    {"microseconds", row.microseconds},
                    {"refusal", row.refusal}});
  const std::string text = list.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (std::FILE* out = std::fopen(file.c_str(), "wb")) {
    std::fwrite(text.data(), 1, text.size(), out);
    std::fclose(out);
  }
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Counts how far every kernel of many code objects gets", "corpus_report"};
  app.add_option("FILES", options.files, "code objects")->required();
  app.add_option("--jobs", options.jobs, "processes at a time");
  app.add_option("--seconds", options.seconds, "longest time for a kernel");
  app.add_option("--megabytes", options.megabytes, "most memory for a file");
  app.add_option("--subgroup", options.subgroup, "subgroup size of the device (as wide as the wave)");
  app.add_flag("--verify", options.verify, "run the IR verifier after every pass");
  app.add_option("--json", options.json, "also write every kernel's result to this file");
  CLI11_PARSE(app, argc, argv);
  std::vector<Row> rows = survey(options);
  std::ranges::stable_sort(rows, {}, &Row::file);
  print_table(rows);
  print_reasons(rows);
  if (!options.json.empty()) write_json(rows, options.json);
  const bool crashed = std::ranges::any_of(rows, [](const Row& row) {
    return row.refusal.starts_with("CRASH") || row.refusal.starts_with("TIME");
  });
  return crashed ? 3 : 0;
}
