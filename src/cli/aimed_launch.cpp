#include "cli/aimed_launch.hpp"

#include "rdna2/emulator.hpp"
#include "runtime/differences.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include <fmt/format.h>

namespace lanewise::cli {

namespace {

/// Smaller numbers are counters and sizes; they stand in many places.
constexpr uint64_t least_telling = 1 << 16;
constexpr unsigned most_runs = 48;

struct Trial {
  bool wrote = false;
  uint64_t instructions = 0;
  std::vector<rdna2::SeenCompare> compares;
};

class Aim {
 public:
  Aim(const container::ShaderBinary& binary, const container::Kernel& kernel, MadeUpLaunch launch,
      const runtime::ExecuteOptions& execute)
      : binary_(binary), kernel_(kernel), best_(std::move(launch)), execute_(execute) {}

  std::optional<MadeUpLaunch> run() {
    randomise();
    auto trial = try_launch(best_);
    for (unsigned runs = 0; trial && !trial->wrote && runs < most_runs; ++runs) {
      auto next = next_launch(*trial);
      if (!next) return std::nullopt;
      auto result = try_launch(*next);
      if (!result) continue; // that number was more than a guess
      best_ = std::move(*next);
      trial = std::move(result);
    }
    return trial && trial->wrote ? std::optional(best_) : std::nullopt;
  }

 private:
  std::optional<Trial> try_launch(const MadeUpLaunch& made_up) {
    auto launch = launch_of(binary_, kernel_, made_up);
    if (!launch) return std::nullopt;
    Trial trial;
    runtime::ExecuteOptions execute = execute_;
    execute.compares = &trial.compares;
    before_ = launch->buffers;
    const auto ran = runtime::run_on_emulator(*launch, execute);
    if (!ran) return std::nullopt;
    trial.instructions = ran->instructions;
    trial.wrote = runtime::Differences(before_, launch->buffers, true).any();
    return trial;
  }

  /// Gives each buffer random numbers, small ones first, if the kernel still runs and does not end much
  /// earlier. Last arguments first: parameters stand there, and what they say decides what the rest is good
  /// for.
  void randomise() {
    auto now = try_launch(best_);
    for (const auto& below : {":64", ""})
      for (size_t i = best_.arguments.size(); now && i-- > 0;) {
        const std::string& text = best_.arguments[i];
        const size_t init = text.find("]=");
        if (init == std::string::npos) continue;
        MadeUpLaunch other = best_;
        other.arguments[i] = fmt::format("{}]=rand:{}{}", text.substr(0, init), 100 + i, below);
        auto trial = try_launch(other);
        if (!trial || trial->instructions < now->instructions / 2) continue;
        best_ = std::move(other);
        now = std::move(trial);
        if (now->wrote) return;
      }
  }

  /// Fulfils the latest compare that has not been tried.
  std::optional<MadeUpLaunch> next_launch(const Trial& trial) {
    for (auto c = trial.compares.rbegin(); c != trial.compares.rend(); ++c) {
      if (c->a == c->b || !tried_.insert(c->pc).second) continue;
      for (const auto& [there, wanted] : {std::pair(c->b, c->a), {c->a, c->b}})
        if (auto launch = with(there, wanted)) return launch;
    }
    return std::nullopt;
  }

  /// The launch with another number in the one place of the buffers where `there` stands.
  std::optional<MadeUpLaunch> with(uint64_t there, uint64_t wanted) const {
    if (there < least_telling) return std::nullopt;
    std::optional<std::pair<size_t, size_t>> place;
    for (size_t b = 0; b < before_.size(); ++b) {
      const size_t size = runtime::bytes(before_[b].type);
      if (size < sizeof(uint32_t) || runtime::is_float(before_[b].type)) continue;
      const uint8_t* element = before_[b].contents.data();
      for (size_t i = 0; i < before_[b].count(); ++i, element += size) {
        if (std::memcmp(element, &there, size) != 0) continue;
        if (place) return std::nullopt;
        place = {b, i};
      }
    }
    if (!place) return std::nullopt;
    MadeUpLaunch launch = best_;
    const std::string name = before_[place->first].name + ":";
    const auto argument =
        std::ranges::find_if(launch.arguments, [&](auto& a) { return a.starts_with(name); });
    if (argument == launch.arguments.end()) return std::nullopt;
    const bool wide = runtime::bytes(before_[place->first].type) == sizeof(uint64_t);
    *argument += fmt::format(";{}={:#x}", place->second, wide ? wanted : wanted & UINT32_MAX);
    return launch;
  }

  const container::ShaderBinary& binary_;
  const container::Kernel& kernel_;
  MadeUpLaunch best_;
  const runtime::ExecuteOptions& execute_;
  std::vector<runtime::Buffer> before_; ///< of the launch tried last
  std::set<uint64_t> tried_;            ///< compares
};

} // namespace

std::optional<MadeUpLaunch> aim(const container::ShaderBinary& binary, const container::Kernel& kernel,
                                MadeUpLaunch launch, const runtime::ExecuteOptions& execute) {
  return Aim(binary, kernel, std::move(launch), execute).run();
}

} // namespace lanewise::cli
