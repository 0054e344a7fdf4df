// The reference emulator: runs a kernel of a code object wave by wave, instruction by instruction, straight
// from the ISA's definition (docs/emulator.md says where that definition leaves a choice and what is chosen).
#pragma once

#include "container/shader_binary.hpp"
#include "support/error.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lanewise::rdna2 {

/// The guest's global address space: named buffers with unmapped room around them. Not for several threads
/// at once, except that a running dispatch reads and writes through it on all cores.
class Memory {
 public:
  Memory();
  ~Memory();
  Memory(Memory&&) noexcept;
  Memory& operator=(Memory&&) noexcept;

  /// A new zeroed buffer at an address that the space chooses, aligned to 4096 bytes; a size of 0 gets an
  /// address but no bytes. At least 4 KiB before and behind it stay unmapped.
  [[nodiscard]] uint64_t allocate(std::size_t bytes, std::string name);

  /// A new zeroed buffer at a given address. Errors (call): it is not a multiple of 16, or overlaps.
  [[nodiscard]] Expected<void> map(uint64_t address, std::size_t bytes, std::string name,
                                   bool writable = true);

  /// Frees the buffer that starts at an address; nothing happens if there is none.
  void release(uint64_t address);

  /// The host bytes from a guest address to the end of its buffer; empty when unmapped.
  [[nodiscard]] std::span<uint8_t> at(uint64_t address);
  [[nodiscard]] std::span<const uint8_t> at(uint64_t address) const;

  struct Buffer {
    uint64_t address = 0;
    std::size_t size = 0;
    std::string name;
    bool writable = true;
    std::unique_ptr<uint8_t[]> storage; ///< owner of `bytes`
    uint8_t* bytes = nullptr;           ///< aligned to 64
    [[nodiscard]] bool holds(uint64_t first, std::size_t count) const {
      return first >= address && count <= size && first - address <= size - count;
    }
  };
  /// The buffer that holds an address, or null. Logarithmic in the number of buffers.
  [[nodiscard]] const Buffer* find(uint64_t address) const;
  /// The nearest buffer at or below an address, or null: for messages ("8 bytes behind `out`").
  [[nodiscard]] const Buffer* below(uint64_t address) const;

  /// Puts the image of a code object into the space, once for each binary (told by its address), and returns
  /// the displacement: guest address minus the file's virtual address.
  [[nodiscard]] Expected<uint64_t> load(const container::ShaderBinary& binary);

 private:
  std::map<uint64_t, Buffer> buffers_; // by address
  std::map<const container::ShaderBinary*, uint64_t> images_;
  uint64_t next_ = 0;
};

/// What a vector compare of integers saw when it ran first, in the lowest lane that was on.
struct SeenCompare {
  uint64_t pc = 0;
  uint64_t a = 0, b = 0;
};

/// What to run. Counts are in work-items, as in an AQL packet: the last workgroup of a dimension may be
/// partial.
struct Dispatch {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  /// The kernarg segment. Explicit arguments must be in place; hidden ones are filled in
  /// (container/kernarg.hpp). Shorter than the kernel's segment: the rest is zero.
  std::vector<uint8_t> kernarg;
  uint32_t dynamic_lds_bytes = 0; ///< behind the kernel's static LDS
  /// Instructions that one wave may run (limits::max_emulated_instructions); beyond: an error of kind limit.
  uint64_t max_instructions = 0; ///< 0 = the limit itself
  unsigned threads = 0;          ///< host threads; 0 = all cores
  /// Chooses otherwise where a program may not rely on a choice: workgroups and waves start from the last on,
  /// waves take turns of so many instructions, the highest lane stores first, the clock starts later and runs
  /// faster, and LDS, scratch and registers hold something else at first. 0: as docs/emulator.md says.
  /// Workgroups that wait for others with lower ids then run into max_instructions.
  unsigned other_turns = 0;
  /// Where not null: gets these compares in the order in which they first ran. Takes one thread.
  std::vector<SeenCompare>* compares = nullptr;
};

struct RunStatistics {
  uint64_t waves = 0;
  uint64_t workgroups = 0;
  uint64_t instructions = 0;      ///< executed, counted once for a wave
  uint64_t lane_instructions = 0; ///< the same, each times the lanes that were on
};

/// Runs a kernel to its end. Waves of a workgroup take turns; workgroups run on all cores, started in the
/// order of their ids. Errors name the kernel, workgroup, wave, pc and instruction:
///   call         grid, block or kernarg do not fit the kernel
///   input        an access outside every buffer, a jump outside the code, a word that is no instruction
///   unsupported  an instruction the emulator does not know
///   limit        a wave ran too long, or all waves wait at barriers that cannot be met
[[nodiscard]] Expected<RunStatistics> run(const container::ShaderBinary& binary,
                                          const container::Kernel& kernel, Memory& memory,
                                          const Dispatch& dispatch);

} // namespace lanewise::rdna2
