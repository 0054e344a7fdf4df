// A dispatch of a host program as a capsule that can be run: what it reads and writes is found by running it.
#pragma once

#include "runtime/capsule.hpp"
#include "runtime/linked.hpp"

namespace lanewise::runtime {

/// Work and memory that recording may take before it gives up.
struct RecordLimits {
  uint64_t max_instructions = uint64_t{1} << 32; ///< IR instructions of all waves together
  uint64_t max_bytes = uint64_t{1} << 30;        ///< memory that the dispatch touches
};

/// The capsule of a dispatch with its grid (work-items) and all memory that it touches, page by page, as it
/// is now. The dispatch runs on the interpreter in a copy of that memory; the guest's own is only read.
/// `registration` is capsule_of() the shader and its options.
///
/// A dispatch that cannot be linked, or fails while it runs, is recorded up to there, with the error as the
/// note. Errors: call (a size of 0, or a cut workgroup where none was promised), limit (`limits`).
[[nodiscard]] Expected<Capsule> record_dispatch(const Capsule& registration, const PreparedShader& shader,
                                                const GuestMemory& memory, const Invocation& invocation,
                                                std::array<uint32_t, 3> grid,
                                                const RecordLimits& limits = {});

} // namespace lanewise::runtime
