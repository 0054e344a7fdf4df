// lanewise compare A B
#include "report/compare.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "v3d/data_file.hpp"

#include <fmt/format.h>
#include <memory>

namespace lanewise::cli {
namespace {

struct Options {
  std::string before, after, html, fail_on;
  std::vector<std::string> metrics;
  bool json = false, keep_loop_changes = false;
  uint64_t worst = 20;
};

Expected<std::vector<report::ShaderRecord>> read(const std::string& path) {
  const auto text = v3d::read_text_file(path); // the V3D data files are compressed
  if (!text) return std::unexpected(text.error());
  return report::read_records(*text, path);
}

int run(const Options& o) {
  const auto before = read(o.before), after = read(o.after);
  if (!before) return cli::report(before.error());
  if (!after) return cli::report(after.error());
  const auto comparison =
      report::compare(*before, *after, {.metrics = o.metrics, .keep_loop_changes = o.keep_loop_changes});
  fmt::print("{}", o.json ? report::to_json(comparison)
                          : report::to_text(comparison, {.colour = use_colour(stdout), .worst = o.worst}));
  if (!o.html.empty()) {
    const auto written = write_output(o.html, report::to_html(comparison, o.before + " and " + o.after));
    if (!written) return cli::report(written.error());
  }
  const auto failed = report::failed_conditions(comparison, o.fail_on);
  if (!failed) return cli::report(failed.error());
  for (const std::string& f : *failed) fmt::print(stderr, "lanewise compare: {}\n", f);
  return failed->empty() ? exit_done : exit_check_failed;
}

} // namespace

void add_compare(Command& root, int& status) {
  auto o = std::make_shared<Options>();
  Command c = root.add("compare", "Compare two files of shader statistics");
  c.footer(
      "A and B are outputs of `lanewise stats` or `lanewise v3d alloc --stats`, logs of Mesa's shader-db, or "
      "V3D "
      "data files, plain or zstd; '-' reads standard input.\n"
      "Exit status: 0 done, 1 a file is at fault, 2 the call is at fault, 3 a --fail-on condition holds.\n\n"
      "  lanewise compare old.json new.json --html change.html "
      "--fail-on \"spirv_words:total>0.5%, lost>0\"");
  c.text("A", o->before, "Statistics before").required();
  c.text("B", o->after, "Statistics after").required();
  c.list("--metric", o->metrics, "Only these metrics (default: all that both files have)").commas();
  c.text("--fail-on", o->fail_on,
         "Conditions that make the exit status 3: METRIC:total>N[%], METRIC:hurt>N, lost>N");
  c.text("--html", o->html, "Also write a self-contained page to this file");
  c.number("--worst", o->worst, "How many best and worst shaders to list").show_default();
  c.flag("--json", o->json, "JSON instead of text");
  c.flag("--keep-loop-changes", o->keep_loop_changes,
         "Count shaders whose loop count changed in every metric");
  c.run(status, [o] { return run(*o); });
}

} // namespace lanewise::cli
