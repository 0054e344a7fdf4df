// A shader's life before its dispatches are known: prepared once, free of invocation data, immutable.
#pragma once

#include "container/shader_binary.hpp"
#include "ir/program.hpp"
#include "runtime/guest_memory.hpp"
#include "runtime/provenance.hpp"
#include "translate/unlinked.hpp"

#include <memory>
#include <string>
#include <vector>

namespace lanewise::runtime {

/// What SPIR-V of a linked shader needs of its kernel.
struct PreparedShader {
  container::Kernel kernel; ///< descriptor, name and workgroup sizes
  translate::Unlinked program;
  /// Functions that the program's calls lead to; it has no slots then.
  std::vector<ir::CalleeFunction> callees;
  bool full_waves = false;       ///< every workgroup fills its waves
  std::vector<uint32_t> targets; ///< by slot: addresses that it may lead to in a dispatch
  std::vector<bool> compared;    ///< by slot: the address is compared at run time
  std::string key;               ///< all that the preparation depended on; see keys.hpp
};

/// What a pointer leads to, independent of where that lies.
struct PreparedCallee {
  translate::CalleeAbi abi;
  translate::Unlinked program;
  /// Code that was read, as offsets from the callee's entry and the bytes there.
  struct Piece {
    int64_t offset = 0;
    std::vector<uint8_t> bytes;
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  std::vector<Piece> code;
  /// Registers that differ from what the caller passed at some return.
  std::vector<uint16_t> changed;
  std::string key;
  /// Callees that were put into `program` in the place of its own calls through pointers.
  std::vector<std::shared_ptr<const PreparedCallee>> nested;
  std::shared_ptr<const PreparedCallee> outer; ///< the callee that they were put into
  [[nodiscard]] size_t code_bytes() const;     ///< with those of nested callees
};

/// Virtual address that every callee is translated for.
inline constexpr uint32_t callee_entry = 0x4000'0000;

struct PrepareOptions {
  bool full_waves = false; ///< promised: every dispatch fills its waves
};

/// Decodes, translates, and runs the passes that need no callee. Errors as translate_unlinked().
[[nodiscard]] Expected<std::shared_ptr<const PreparedShader>> prepare(const container::ShaderBinary& binary,
                                                                      const container::Kernel& kernel,
                                                                      const PrepareOptions& options = {});

/// Reads and prepares the function at a guest address. Errors, with address and reason: input (null,
/// unmapped, misaligned, truncated, never returns), limit (max_callee_bytes), unsupported.
[[nodiscard]] Expected<std::shared_ptr<const PreparedCallee>>
prepare_callee(const GuestMemory& memory, uint64_t address, const translate::CalleeAbi& abi);

/// A callee with the callees of its own slots inside, one for each. Call check_callees' rules first.
[[nodiscard]] std::shared_ptr<const PreparedCallee>
compose(std::shared_ptr<const PreparedCallee> callee,
        std::vector<std::shared_ptr<const PreparedCallee>> nested);

/// About the bytes that a callee takes in memory, those it refers to apart.
[[nodiscard]] uint64_t memory_of(const PreparedCallee& callee);

/// Whether the code that a callee was made of is at this address now. Compares every byte.
[[nodiscard]] bool is_at(const PreparedCallee& callee, const GuestMemory& memory, uint64_t address);

} // namespace lanewise::runtime
