// Buffer descriptors and where a lane's buffer access lands (RDNA2 ISA, 8.1 "Vector memory buffer
// instructions").
#pragma once

#include "rdna2/emu_access.hpp"

namespace lanewise::rdna2::emu {

/// A buffer resource descriptor (V#), 4 SGPRs.
struct BufferDescriptor {
  uint64_t base = 0;
  uint32_t stride = 0, records = 0, index_stride = 8;
  unsigned format = 0, bounds_rule = 0;
  std::array<uint8_t, 4> select{}; ///< DST_SEL: 0 zero, 1 one, 4..7 component x..w
  bool swizzled = false, add_thread_id = false;

  BufferDescriptor(const Wave& w, unsigned reg);
};

/// One buffer instruction: address parts that all lanes share, and each lane's.
class BufferAccess {
 public:
  BufferAccess(Wave& wave, const Step& step);

  BufferDescriptor descriptor;

  /// Place of the `bytes` bytes that begin `extra` bytes behind a lane's address. Range-checked are `payload`
  /// bytes from that address on: up to the end of the component, of the whole element if it is typed. A null
  /// `p` without a fault: out of range. False: fault.
  [[nodiscard]] bool locate(unsigned lane, unsigned extra, unsigned bytes, unsigned payload, bool write,
                            Place& place);

 private:
  [[nodiscard]] bool out_of_range(uint64_t index, uint64_t offset, unsigned payload) const;
  [[nodiscard]] uint64_t linear(uint64_t index, uint64_t offset) const;
  [[nodiscard]] bool locate_linear(uint64_t address, unsigned bytes, unsigned lane, bool write, uint8_t*& p);

  Wave& wave_;
  const Instruction& in_;
  uint32_t soffset_ = 0;
  const uint32_t *index_ = nullptr, *offset_ = nullptr;
};

} // namespace lanewise::rdna2::emu
