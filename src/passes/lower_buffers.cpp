// Buffer accesses become accesses of memory:
//
//   buffer_load scratch V#, index, offset, soffset      ->  load.scratch offset + soffset / W
//   buffer_load r0..r3, index, offset, soffset, active  ->  load.global base + soffset + within(index,
//   offset),
//                                                           active & in_range, for each component
//
// The scratch V# is the one of container/guest_abi.hpp, word for word. For all others the address and the
// range check are computed from the descriptor (RDNA2 ISA, "Buffer Addressing" and "Range Checking"); what is
// constant in it folds. Typed formats are refused.
#include "container/guest_abi.hpp"
#include "ir/builder.hpp"
#include "ir/dominators.hpp"
#include "passes/passes.hpp"
#include "passes/replacements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kIndex = 4, kOffset = 5, kScalarOffset = 6, kActive = 7, kData = 8;

bool is_buffer(Op op) { return op == Op::buffer_load || op == Op::buffer_store || op == Op::buffer_atomic; }

/// A descriptor's fields as values.
class Descriptor {
 public:
  Descriptor(Builder& b, std::span<const Value> words) : b_(b) {
    const Value w1 = words[1], w3 = words[3];
    base_ = b.pack64(words[0], b.and_(w1, b.i32(0xffff)));
    records_ = b.zext(words[2], Type::i64);
    swizzle_ = b.slt(w1, b.i32(0));
    add_lane_ = b.ne(b.and_(w3, b.i32(1u << 23)), b.i32(0));
    stride_ = b.zext(b.ubfe(w1, b.i32(16), b.i32(14)), Type::i64);
    index_stride_log2_ = b.zext(b.add(b.ubfe(w3, b.i32(21), b.i32(2)), b.i32(3)), Type::i64);
    check_ = b.ubfe(w3, b.i32(28), b.i32(2));
  }

  struct Access {
    Value address, in_range;
  };

  /// The component `begin` bytes behind the offset. In 64 bits: no sum wraps around into the range.
  Access access(Value index, Value offset, Value scalar_offset, unsigned begin, unsigned bytes) const {
    index = b_.add(wide(index), wide(b_.select(add_lane_, b_.lane_id(), b_.i32(0))));
    offset = b_.add(wide(offset), b_.i64(begin)), scalar_offset = wide(scalar_offset);
    const Value linear = b_.add(offset, b_.mul(stride_, index));
    const Value within = b_.select(swizzle_, swizzled(index, offset), linear);
    const Value address = b_.add(b_.add(base_, scalar_offset), within);
    return {address, in_range(index, b_.add(offset, b_.i64(bytes)), scalar_offset)};
  }

 private:
  Value wide(Value v) const { return b_.zext(v, Type::i64); }

  // Elements of 4 bytes; `index_stride` consecutive indices lie side by side.
  Value swizzled(Value index, Value offset) const {
    const Value one = b_.i64(1);
    const Value in_group = b_.and_(index, b_.sub(b_.shl(one, index_stride_log2_), one));
    const Value group = b_.lshr(index, index_stride_log2_);
    const Value element = b_.and_(offset, b_.i64(~uint64_t{3})), byte = b_.and_(offset, b_.i64(3));
    const Value rows = b_.add(b_.mul(group, stride_), element);
    const Value row = b_.shl(rows, index_stride_log2_);
    return b_.add(row, b_.add(b_.shl(in_group, b_.i64(2)), byte));
  }

  /// By the descriptor's OOB_SELECT; `end` is the first byte behind the component.
  Value in_range(Value index, Value end, Value scalar_offset) const {
    const auto mode = [&](uint32_t n) { return b_.eq(check_, b_.i32(n)); };
    const Value by_index = b_.ult(index, records_);
    const Value structured = b_.and_(by_index, b_.ule(end, stride_));
    const Value not_empty = b_.ne(records_, b_.i64(0));
    const Value in_records = b_.ule(b_.add(end, scalar_offset), records_);
    const Value rows = b_.and_(swizzle_, b_.ne(stride_, b_.i64(0)));
    const Value upper = b_.select(mode(2), not_empty, b_.select(rows, structured, in_records));
    return b_.select(mode(0), structured, b_.select(mode(1), by_index, upper));
  }

  Builder& b_;
  Value base_, records_, swizzle_, add_lane_, stride_, index_stride_log2_, check_;
};

class LowerBuffers {
 public:
  explicit LowerBuffers(Function& f) : f_(f), replaced_(f) {}

  Expected<bool> run() {
    const auto has_buffers = [&](const BasicBlock& b) {
      return std::ranges::any_of(b.instructions, [&](Value v) { return is_buffer(f_[v].op); });
    };
    if (std::ranges::none_of(f_.blocks, has_buffers)) return false;
    bool changed = false;
    std::vector<Value> old;
    for (const Block block : order()) {
      auto& list = f_[block].instructions;
      if (std::ranges::none_of(list, [&](Value v) { return concerns(v); })) continue;
      changed = true;
      old.clear();
      old.swap(list);
      Builder b(f_, block);
      for (const Value v : old) {
        if (auto ok = visit(b, v); !ok) return std::unexpected(std::move(ok.error()));
      }
    }
    if (changed) replaced_.apply(f_);
    return changed;
  }

 private:
  /// Definitions before uses; unreachable blocks last.
  [[nodiscard]] std::vector<Block> order() const {
    const Dominators dominators(f_);
    const auto reachable = dominators.reverse_postorder();
    std::vector<Block> blocks(reachable.begin(), reachable.end());
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) {
      if (!dominators.reachable({i})) blocks.push_back({i});
    }
    return blocks;
  }

  /// Also components of a tuple that was lowered in an earlier block.
  [[nodiscard]] bool concerns(Value v) const {
    return is_buffer(f_[v].op) || (f_[v].op == Op::extract && tuples_.contains(f_.operand(v, 0).index));
  }

  Expected<void> visit(Builder& b, Value v) {
    const Inst inst = f_[v];
    b.pc = inst.pc;
    if (inst.op == Op::extract) {
      if (const auto it = tuples_.find(f_.operand(v, 0).index); it != tuples_.end()) {
        replaced_.set(v, it->second[inst.imm]);
        return {};
      }
    }
    if (!is_buffer(inst.op)) {
      f_[b.block].instructions.push_back(v);
      return {};
    }
    const MemoryAccess m = MemoryAccess::unpack(inst.imm);
    if (m.format != 0) {
      return fail(ErrorKind::unsupported, fmt::format("typed buffer access, format {}", m.format),
                  fmt::format("pc {:#x}", inst.pc));
    }
    const auto span = f_.operands(v);
    const std::vector<Value> operands(span.begin(), span.end());
    is_scratch(operands) ? to_scratch(b, v, inst, operands) : to_global(b, v, inst, operands);
    return {};
  }

  [[nodiscard]] bool is_scratch(std::span<const Value> r) const {
    using namespace guest_abi;
    return f_.is_constant(r[0], scratch_rsrc_word0) && f_.is_constant(r[1], scratch_rsrc_word1) &&
           f_.is_constant(r[2], scratch_rsrc_word2) && f_.is_constant(r[3], scratch_rsrc_word3(f_.wave_size));
  }

  static uint64_t plain(MemoryAccess m, Space space) {
    m.space = space;
    m.idxen = m.offen = false;
    return m.pack();
  }
  static Op plain(Op op) {
    return op == Op::buffer_load ? Op::load : op == Op::buffer_store ? Op::store : Op::atomic;
  }

  void to_scratch(Builder& b, Value v, const Inst& inst, std::span<const Value> r) {
    // The scalar offset counts bytes of the swizzled buffer, where a lane's bytes are spread over the wave's.
    const Value base = b.lshr(r[kScalarOffset], b.i32(f_.wave_size == 64 ? 6 : 5));
    std::vector<Value> operands{b.add(r[kOffset], base), r[kActive]};
    operands.insert(operands.end(), r.begin() + kData, r.end());
    const uint64_t imm = plain(MemoryAccess::unpack(inst.imm), Space::scratch);
    const Value now = b.append(plain(inst.op), operands, inst.type, imm, inst.components);
    if (inst.type != Type::none) replaced_.set(v, now);
  }

  void to_global(Builder& b, Value v, const Inst& inst, std::span<const Value> r) {
    const MemoryAccess m = MemoryAccess::unpack(inst.imm);
    const uint64_t imm = plain(m, Space::global);
    const Descriptor descriptor(b, r);
    const bool is_store = inst.op == Op::buffer_store;
    const size_t components = is_store ? r.size() - kData : inst.components;
    std::vector<Value> results;
    for (uint32_t c = 0; c < components; ++c) {
      const auto access = descriptor.access(r[kIndex], r[kOffset], r[kScalarOffset], c * m.bytes, m.bytes);
      std::vector<Value> operands{access.address, b.and_(r[kActive], access.in_range)};
      if (is_store) {
        operands.push_back(r[kData + c]);
      } else {
        operands.insert(operands.end(), r.begin() + kData, r.end());
      }
      results.push_back(b.append(plain(inst.op), operands, inst.type, imm));
    }
    if (is_store) return;
    if (inst.components == 1) {
      replaced_.set(v, results.front());
    } else {
      tuples_.emplace(v.index, std::move(results));
    }
  }

  Function& f_;
  Replacements replaced_;
  std::unordered_map<uint32_t, std::vector<Value>> tuples_; ///< of lowered loads, their components
};

} // namespace

Expected<bool> lower_buffers(Function& f) { return LowerBuffers(f).run(); }

} // namespace lanewise::passes
