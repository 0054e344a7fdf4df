// The options of a subcommand. A thin face over CLI11, whose headers cost some twenty seconds in every file
// that includes them; only command.cpp does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace lanewise::cli {

/// An option or positional argument of a Command. Methods return the option itself.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option& required();
  Option& one_of(const std::vector<std::string>& values);
  Option& range(double low, double high);
  Option& excludes(const Option& other);
  /// The help text names the default, the variable's value now.
  Option& show_default();
  /// Several values may stand in one argument, separated by commas.
  Option& commas();

 private:
  CLI::Option* option_;
};

/// The command itself or a subcommand. Names are as CLI11 takes them: "--json", "-o,--output", "FILE".
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  /// A subcommand of this one.
  Command add(const std::string& name, const std::string& help);
  /// Text behind the list of options.
  Command& footer(const std::string& text);
  /// One of its subcommands has to be named.
  Command& require_subcommand();

  Option text(const std::string& names, std::string& value, const std::string& help);
  /// May be repeated, one value each time; a positional argument takes all that follow.
  Option list(const std::string& names, std::vector<std::string>& values, const std::string& help);
  Option number(const std::string& names, uint32_t& value, const std::string& help);
  Option number(const std::string& names, uint64_t& value, const std::string& help);
  Option number(const std::string& names, int& value, const std::string& help);
  Option number(const std::string& names, double& value, const std::string& help);
  Option flag(const std::string& names, bool& value, const std::string& help);

  /// What to do when the subcommand was called; the result goes to `status`.
  void run(int& status, std::function<int()> body);

 private:
  CLI::App* app_;
};

/// Parses the arguments for all `add` functions and runs the subcommand that is named; the exit status.
int run_command_line(int argc, char** argv);

} // namespace lanewise::cli
