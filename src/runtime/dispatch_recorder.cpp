#include "runtime/dispatch_recorder.hpp"

#include "runtime/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace lanewise::runtime {
namespace {

constexpr uint64_t page_bytes = 4096;
constexpr uint64_t own_step = uint64_t{1} << 20;
constexpr unsigned max_tries = 4096; ///< mappings that may lie in the way of bytes of our own

/// A copy of the guest's memory, made where it is first touched: pieces that end at borders of pages and
/// mappings.
class TouchedMemory final : public DispatchMemory {
 public:
  TouchedMemory(const GuestMemory& guest, uint64_t max_bytes) : guest_(guest), max_bytes_(max_bytes) {}

  /// 0 if no room was found: see crowded().
  uint64_t add(std::vector<uint8_t> bytes) override {
    for (unsigned tries = 0; tries < max_tries; ++tries) {
      const uint64_t address = next_own_;
      auto taken = guest_.extent(address);
      if (!taken) taken = guest_.extent(address + bytes.size());
      if (!taken) {
        next_own_ += (bytes.size() / own_step + 2) * own_step;
        pieces_[address] = std::move(bytes);
        return address;
      }
      const uint64_t behind = (taken->address + taken->size + own_step - 1) / own_step * own_step;
      if (behind <= next_own_) break; // it reaches to the end of the address space
      next_own_ = behind;
    }
    crowded_ = true;
    return 0;
  }
  bool load(uint64_t address, unsigned bytes, uint64_t& value) override {
    value = 0;
    return each_part(address, bytes, [&](uint8_t* p, unsigned at, unsigned count) {
      for (unsigned k = 0; k < count; ++k) value |= uint64_t{p[k]} << (8 * (at + k));
    });
  }
  bool store(uint64_t address, unsigned bytes, uint64_t value) override {
    const auto nothing = [](uint8_t*, unsigned, unsigned) {};
    // All of it is there, or nothing is written.
    return each_part(address, bytes, nothing) &&
           each_part(address, bytes, [&](uint8_t* p, unsigned at, unsigned count) {
             for (unsigned k = 0; k < count; ++k) p[k] = static_cast<uint8_t>(value >> (8 * (at + k)));
           });
  }
  /// Whether an access failed because there was too much to keep.
  [[nodiscard]] bool full() const { return full_; }
  /// Whether the guest's mappings left no room for bytes of our own.
  [[nodiscard]] bool crowded() const { return crowded_; }

 private:
  template <class Part>
  bool each_part(uint64_t address, unsigned bytes, Part part) {
    for (unsigned at = 0; at < bytes;) {
      const std::span<uint8_t> here = from(address + at);
      if (here.empty()) return false;
      const auto count = static_cast<unsigned>(std::min<size_t>(bytes - at, here.size()));
      part(here.data(), at, count);
      at += count;
    }
    return true;
  }
  /// What is kept from an address on; empty if nothing is mapped there.
  std::span<uint8_t> from(uint64_t address) {
    if (auto after = pieces_.upper_bound(address); after != pieces_.begin()) {
      auto& [first, bytes] = *std::prev(after);
      if (address - first < bytes.size()) return std::span(bytes).subspan(address - first);
    }
    const auto extent = guest_.extent(address);
    if (!extent) return {};
    const uint64_t page = address / page_bytes * page_bytes;
    const uint64_t first = std::max(page, extent->address);
    const uint64_t size = std::min(page + page_bytes - first, extent->address + extent->size - first);
    if (full_ || bytes_ + size > max_bytes_) return full_ = true, std::span<uint8_t>{};
    std::vector<uint8_t> bytes(size);
    if (!guest_.read(first, bytes)) return {};
    bytes_ += size;
    return std::span(pieces_[first] = std::move(bytes)).subspan(address - first);
  }

  const GuestMemory& guest_;
  uint64_t max_bytes_, bytes_ = 0, next_own_ = uint64_t{1} << 46;
  bool full_ = false, crowded_ = false;
  std::map<uint64_t, std::vector<uint8_t>> pieces_; ///< by address
};

/// Sets `gave_up` where the error is that of a limit of recording.
Expected<void> run(const Capsule& c, const PreparedShader& shader, const GuestMemory& memory,
                   const RecordLimits& limits, bool& gave_up) {
  auto targets = resolve(shader, c.invocation(), memory);
  if (!targets) return std::unexpected(std::move(targets.error()));
  const CalleeSets sets = sets_of(*targets);
  auto linked = link_function(shader, sets);
  if (!linked) return std::unexpected(std::move(linked.error()));
  std::vector<uint8_t> table;
  if (!shader.program.slots.empty()) {
    auto made = callee_table(shader, sets, *targets);
    if (!made) return std::unexpected(std::move(made.error()));
    table = std::move(*made);
  }
  TouchedMemory touched(memory, limits.max_bytes);
  ir::InterpreterDispatch d = interpreter_dispatch(c, touched, table);
  gave_up = touched.crowded();
  if (gave_up) return fail(ErrorKind::limit, "the guest's mappings leave no room for the dispatch packet");
  d.max_instructions = limits.max_instructions;
  auto done = ir::interpret(*linked, d, touched);
  gave_up = touched.full() || (!done && done.error().kind == ErrorKind::limit);
  if (touched.full())
    return fail(ErrorKind::limit,
                fmt::format("the dispatch touches more than {} bytes of memory", limits.max_bytes), {},
                "record one with a smaller grid");
  if (!done) return std::unexpected(std::move(done.error()));
  return {};
}

} // namespace

Expected<Capsule> record_dispatch(const Capsule& registration, const PreparedShader& shader,
                                  const GuestMemory& memory, const Invocation& invocation,
                                  std::array<uint32_t, 3> grid, const RecordLimits& limits) {
  for (unsigned i = 0; i < 3; ++i) {
    if (grid[i] == 0) return fail(ErrorKind::call, "the grid has no work-item");
    if (grid[i] % registration.block[i] != 0 && !registration.partial_workgroups[i])
      return fail(
          ErrorKind::call,
          fmt::format("grid of {} work-items is no multiple of the workgroup of {}, which was promised",
                      grid[i], registration.block[i]));
  }
  Capsule c = registration;
  c.bound = true;
  c.grid = grid;
  c.kernarg.assign(invocation.kernarg.begin(), invocation.kernarg.end());
  c.kernarg_address = invocation.kernarg_address;
  c.image_base = invocation.image_base;
  const RecordingMemory recording(memory);
  bool gave_up = false;
  if (auto done = run(c, shader, recording, limits, gave_up); !done) {
    if (gave_up) return std::unexpected(std::move(done.error()));
    c.note = done.error().to_string();
  }
  c.memory = recording.regions();
  for (Capsule::Region& r : c.memory) r.writable = true;
  return c;
}

} // namespace lanewise::runtime
