#include "cli/command.hpp"

#include "cli/commands.hpp"
#include "cli/input.hpp"

#include <CLI/CLI.hpp>

namespace lanewise::cli {

Option& Option::required() {
  option_->required();
  return *this;
}
Option& Option::one_of(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}
Option& Option::range(double low, double high) {
  option_->check(CLI::Range(low, high));
  return *this;
}
Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}
Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}
Option& Option::commas() {
  option_->delimiter(',');
  return *this;
}

Command Command::add(const std::string& name, const std::string& help) {
  return Command(*app_->add_subcommand(name, help));
}
Command& Command::footer(const std::string& text) {
  app_->footer(text);
  return *this;
}
Command& Command::require_subcommand() {
  app_->require_subcommand(1);
  return *this;
}

Option Command::text(const std::string& names, std::string& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
Option Command::list(const std::string& names, std::vector<std::string>& values, const std::string& help) {
  CLI::Option* option = app_->add_option(names, values, help);
  if (!option->get_positional()) option->expected(1)->allow_extra_args(false)->take_all();
  return Option(option);
}
Option Command::number(const std::string& names, uint32_t& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
Option Command::number(const std::string& names, uint64_t& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
Option Command::number(const std::string& names, int& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
Option Command::number(const std::string& names, double& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
Option Command::flag(const std::string& names, bool& value, const std::string& help) {
  return Option(app_->add_flag(names, value, help));
}

void Command::run(int& status, std::function<int()> body) {
  app_->callback([&status, body = std::move(body)] { status = body(); });
}

int run_command_line(int argc, char** argv) {
  CLI::App app{"lanewise: lane-aware shader recompiler, RDNA2 machine code to SPIR-V", "lanewise"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "lanewise 0.1.0");
  int status = exit_done;
  Command root(app);
  for (auto add : commands) add(root, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? exit_done : exit_call_at_fault;
  }
  return status;
}

} // namespace lanewise::cli
