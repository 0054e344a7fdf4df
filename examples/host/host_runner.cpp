#include "host_runner.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ucontext.h>

namespace host {

namespace {

constexpr size_t stack_bytes = 64 * 1024;

/// Members wait here for each other, again and again.
struct Meeting {
  size_t members = 0, arrived = 0, round = 0;
};

struct Wave {
  Meeting meeting;
  std::vector<uint64_t> slot; ///< what each lane brings to a wave operation
};

struct Item {
  ucontext_t context{};
  std::vector<char> stack;
  std::array<size_t, 3> local{};
  size_t flat = 0;
  bool done = false;
};

struct State {
  Grid grid;
  std::array<size_t, 3> group{};
  std::array<size_t, 3> extent{}; ///< of this workgroup; smaller at the border
  std::vector<Item> items;
  std::vector<Wave> waves;
  Meeting all;
  Item* current = nullptr;
  ucontext_t scheduler{};
  const std::function<void()>* kernel = nullptr;
} state;

void enter() {
  (*state.kernel)();
  state.current->done = true;
  swapcontext(&state.current->context, &state.scheduler);
}

void wait(Meeting& m) {
  const size_t round = m.round;
  if (++m.arrived == m.members) {
    m.arrived = 0;
    ++m.round;
    return;
  }
  while (m.round == round) swapcontext(&state.current->context, &state.scheduler);
}

void run_group() {
  const auto& e = state.extent;
  const size_t count = e[0] * e[1] * e[2], wave = state.grid.wave;
  if (state.items.size() < count) state.items.resize(count);
  state.all = {count};
  state.waves.assign((count + wave - 1) / wave, {});
  for (size_t w = 0; w < state.waves.size(); ++w) {
    const size_t lanes = std::min(wave, count - w * wave);
    state.waves[w] = {{lanes}, std::vector<uint64_t>(lanes)};
  }
  for (size_t i = 0; i < count; ++i) {
    Item& item = state.items[i];
    item.flat = i;
    item.local = {i % e[0], i / e[0] % e[1], i / (e[0] * e[1])};
    item.done = false;
    item.stack.resize(stack_bytes);
    getcontext(&item.context);
    item.context.uc_stack.ss_sp = item.stack.data();
    item.context.uc_stack.ss_size = stack_bytes;
    item.context.uc_link = nullptr;
    makecontext(&item.context, enter, 0);
  }
  for (size_t left = count; left > 0;)
    for (size_t i = 0; i < count; ++i) {
      if (state.items[i].done) continue;
      state.current = &state.items[i];
      swapcontext(&state.scheduler, &state.items[i].context);
      if (state.items[i].done) --left;
    }
}

uint64_t splitmix(uint64_t& s) {
  uint64_t z = (s += 0x9e3779b97f4a7c15ull);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

/// All lanes bring a value; `combine` sees them in lane order, with the caller's own lane.
template <class F>
uint32_t wave_operation(uint32_t value, F combine) {
  Wave& wave = state.waves[state.current->flat / state.grid.wave];
  const size_t lane = state.current->flat % state.grid.wave;
  wave.slot[lane] = value;
  wait(wave.meeting);
  const uint32_t result = combine(wave.slot, lane);
  wait(wave.meeting);
  return result;
}

} // namespace

void run(const Grid& grid, const std::function<void()>& kernel) {
  state.grid = grid;
  state.kernel = &kernel;
  std::array<size_t, 3> groups{};
  for (int d = 0; d < 3; ++d) groups[d] = (grid.size[d] + grid.block[d] - 1) / grid.block[d];
  for (size_t z = 0; z < groups[2]; ++z)
    for (size_t y = 0; y < groups[1]; ++y)
      for (size_t x = 0; x < groups[0]; ++x) {
        state.group = {x, y, z};
        for (int d = 0; d < 3; ++d)
          state.extent[d] = std::min(grid.block[d], grid.size[d] - state.group[d] * grid.block[d]);
        run_group();
      }
}

std::vector<uint32_t> random_u32(size_t count, uint64_t seed) {
  std::vector<uint32_t> v(count);
  for (auto& x : v) x = static_cast<uint32_t>(splitmix(seed) >> 32);
  return v;
}

std::vector<float> random_f32(size_t count, uint64_t seed) {
  std::vector<float> v(count);
  for (auto& x : v) x = static_cast<float>(splitmix(seed) >> 40) * 0x1p-24f;
  return v;
}

void save(const std::string& folder, const std::string& name, const void* data, size_t bytes) {
  const std::string path = folder + "/" + name;
  FILE* f = std::fopen(path.c_str(), "wb");
  if (!f || std::fwrite(data, 1, bytes, f) != bytes || std::fclose(f) != 0) {
    std::fprintf(stderr, "cannot write %s\n", path.c_str());
    std::exit(1);
  }
}

} // namespace host

// --- the OpenCL built-in functions that the examples use, under the names that clang gives them ---
using host::state;

size_t get_global_id(unsigned d) { return state.group[d] * state.grid.block[d] + state.current->local[d]; }
size_t get_local_id(unsigned d) { return state.current->local[d]; }
size_t get_group_id(unsigned d) { return state.group[d]; }
size_t get_global_size(unsigned d) { return state.grid.size[d]; }
size_t get_local_size(unsigned d) { return state.extent[d]; }
unsigned get_sub_group_id() { return static_cast<unsigned>(state.current->flat / state.grid.wave); }
unsigned get_sub_group_local_id() { return static_cast<unsigned>(state.current->flat % state.grid.wave); }
void barrier(unsigned) { wait(state.all); }
float sqrt(float x) { return std::sqrt(x); }
// Its parameter is a pointer to __global, which C++ cannot spell.
unsigned atomic_inc(volatile unsigned* p) __asm__("_Z10atomic_incPU8CLglobalVj");
unsigned atomic_inc(volatile unsigned* p) {
  const unsigned old = *p;
  *p = old + 1;
  return old;
}

unsigned sub_group_reduce_add(unsigned value) {
  return host::wave_operation(value, [](const std::vector<uint64_t>& slots, size_t) {
    uint32_t sum = 0;
    for (uint64_t s : slots) sum += static_cast<uint32_t>(s);
    return sum;
  });
}

unsigned sub_group_scan_exclusive_add(unsigned value) {
  return host::wave_operation(value, [](const std::vector<uint64_t>& slots, size_t lane) {
    uint32_t sum = 0;
    for (size_t i = 0; i < lane; ++i) sum += static_cast<uint32_t>(slots[i]);
    return sum;
  });
}
