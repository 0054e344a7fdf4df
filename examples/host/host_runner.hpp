// Runs an OpenCL kernel that was compiled for the host (clang -x cl), so that its results can be held against
// those of the recompiled one: workgroup after workgroup, each work-item of it a fiber, since barriers and
// wave operations need all of them alive.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace host {

struct Grid {
  std::array<size_t, 3> size{1, 1, 1}; ///< work-items
  std::array<size_t, 3> block{1, 1, 1};
  size_t wave = 32; ///< lanes of a sub-group
};

/// Calls `kernel` once for each work-item; the OpenCL work-item functions answer accordingly.
void run(const Grid& grid, const std::function<void()>& kernel);

/// The contents of `lanewise run --arg NAME:TYPE[N]=rand:SEED`.
std::vector<uint32_t> random_u32(size_t count, uint64_t seed);
std::vector<float> random_f32(size_t count, uint64_t seed);

/// Writes the bytes of a vector to FOLDER/NAME; exits on failure.
void save(const std::string& folder, const std::string& name, const void* data, size_t bytes);
template <class T>
void save(const std::string& folder, const std::string& name, const std::vector<T>& v) {
  save(folder, name, v.data(), v.size() * sizeof(T));
}

} // namespace host
