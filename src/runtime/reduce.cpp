#include "runtime/reduce.hpp"

#include "rdna2/decoder.hpp"
#include "rdna2/opcode_info.hpp"
#include "runtime/prepare.hpp"
#include "runtime/replay.hpp"
#include "translate/graph.hpp"

#include <algorithm>
#include <cstring>
#include <set>

namespace lanewise::runtime {
namespace {

constexpr uint32_t s_nop = 0xbf80'0000, s_endpgm = 0xbf81'0000;

uint32_t s_setpc(unsigned pair) { return 0xbe80'2000 | pair; }

/// A place in the capsule's bytes: the code of the kernel, or of a callee in memory.
struct Code {
  bool in_memory = false;
  size_t part = 0; ///< of segments or of memory regions
  size_t offset = 0, bytes = 0;
};

std::vector<uint8_t>& bytes_of(Capsule& c, const Code& code) {
  return code.in_memory ? c.memory[code.part].bytes : c.binary.segments[code.part].bytes;
}

void fill(Capsule& c, const Code& code, uint32_t word) {
  auto& bytes = bytes_of(c, code);
  for (size_t at = code.offset; at + 4 <= code.offset + code.bytes; at += 4)
    std::memcpy(&bytes[at], &word, 4);
}

class Reducer {
 public:
  Reducer(Capsule& capsule, const Fails& fails) : best_(capsule), fails_(fails) {}

  Expected<ReduceReport> run() {
    if (!fails_(best_)) return fail(ErrorKind::call, "the capsule does not fail to begin with");
    report_.instructions_before = instructions().size();
    for (bool smaller = true; smaller;) {
      const unsigned before = report_.kept;
      empty_callees();
      minimise(blocks());
      minimise(instructions());
      drop_memory();
      shrink_grid();
      smaller = report_.kept != before;
    }
    report_.instructions_after = instructions().size();
    return report_;
  }

 private:
  bool attempt(Capsule smaller) {
    ++report_.tried;
    if (!fails_(smaller)) return false;
    ++report_.kept;
    best_ = std::move(smaller);
    return true;
  }

  [[nodiscard]] rdna2::WaveSize wave() const {
    return best_.kernel().descriptor.wave32 ? rdna2::WaveSize::wave32 : rdna2::WaveSize::wave64;
  }

  /// Where bytes at a guest address lie in the capsule.
  [[nodiscard]] std::optional<Code> in_memory(uint64_t address, size_t bytes) const {
    for (size_t r = 0; r < best_.memory.size(); ++r) {
      const Capsule::Region& region = best_.memory[r];
      if (address < region.address || address - region.address >= region.bytes.size()) continue;
      const size_t offset = address - region.address;
      if (region.bytes.size() - offset < bytes) return {};
      return Code{true, r, offset, bytes};
    }
    return {};
  }

  /// Each instruction of a stretch of code that is not s_nop already.
  void add_instructions(const Code& code, std::vector<Code>& list) const {
    const auto& bytes =
        code.in_memory ? best_.memory[code.part].bytes : best_.binary.segments[code.part].bytes;
    const std::span<const uint8_t> all(bytes);
    for (size_t at = code.offset; at + 4 <= code.offset + code.bytes;) {
      const auto i = rdna2::decode(all, static_cast<uint32_t>(at), wave());
      const size_t size = i ? i->size : 4;
      uint32_t word = 0;
      std::memcpy(&word, &bytes[at], 4);
      if (word != s_nop)
        list.push_back({code.in_memory, code.part, at, std::min(size, code.offset + code.bytes - at)});
      at += size;
    }
  }

  /// Code that the capsule reaches: the kernel's, and that of its callees as far as they can be prepared.
  [[nodiscard]] std::vector<Code> stretches() const {
    std::vector<Code> list;
    const container::Kernel& k = best_.kernel();
    for (size_t s = 0; s < best_.binary.segments.size(); ++s) {
      const container::Segment& segment = best_.binary.segments[s];
      if (!segment.executable || k.entry < segment.address ||
          k.entry - segment.address >= segment.bytes.size())
        continue;
      const size_t offset = k.entry - segment.address;
      const size_t size = k.code_size != 0 ? k.code_size : segment.bytes.size() - offset;
      list.push_back({false, s, offset, std::min<size_t>(size, segment.bytes.size() - offset)});
    }
    for (const auto& [address, callee] : callees())
      for (const PreparedCallee::Piece& p : callee->code)
        if (auto code = in_memory(address + static_cast<uint64_t>(p.offset), p.bytes.size()))
          list.push_back(*code);
    return list;
  }

  [[nodiscard]] std::map<uint64_t, CalleePtr> callees() const {
    std::map<uint64_t, CalleePtr> found;
    if (!best_.bound) return found;
    const auto shader = prepare(best_.binary, best_.kernel());
    if (!shader) return found;
    const auto targets = resolve(**shader, best_.invocation(), CapsuleMemory(best_));
    if (!targets) return found;
    for (const auto& slot : targets->slots)
      for (const Targets::Target& t : slot)
        if (t.callee) found[t.address] = t.callee;
    return found;
  }

  [[nodiscard]] std::vector<Code> instructions() const {
    std::vector<Code> list;
    for (const Code& s : stretches()) add_instructions(s, list);
    return list;
  }

  /// Straight pieces: up to an instruction that jumps or ends, which stays.
  [[nodiscard]] std::vector<Code> blocks() const {
    std::vector<Code> list;
    Code open;
    for (const Code& i : instructions()) {
      const auto& bytes = i.in_memory ? best_.memory[i.part].bytes : best_.binary.segments[i.part].bytes;
      const auto in = rdna2::decode(std::span<const uint8_t>(bytes), static_cast<uint32_t>(i.offset), wave());
      using enum rdna2::OpcodeFlag;
      const bool leaves = in && (rdna2::info(in->opcode).has(branch) || rdna2::info(in->opcode).has(call) ||
                                 rdna2::info(in->opcode).has(jump) || rdna2::info(in->opcode).has(ends));
      const bool joins = open.bytes != 0 && !leaves && open.in_memory == i.in_memory && open.part == i.part &&
                         open.offset + open.bytes == i.offset;
      if (joins) {
        open.bytes += i.bytes;
        continue;
      }
      if (open.bytes != 0) list.push_back(open);
      open = leaves ? Code{} : i;
    }
    if (open.bytes != 0) list.push_back(open);
    return list;
  }

  /// A callee that only returns, or only ends.
  void empty_callees() {
    for (const auto& [address, callee] : callees()) {
      const auto code = in_memory(address, 4);
      if (!code) continue;
      const uint32_t word = callee->program.links.empty() ? s_endpgm : s_setpc(callee->program.links.front());
      uint32_t now = 0;
      std::memcpy(&now, &bytes_of(best_, *code)[code->offset], 4);
      if (now == word) continue;
      Capsule smaller = best_;
      fill(smaller, *code, word);
      (void)attempt(std::move(smaller));
    }
  }

  /// Replaces as many pieces as possible with s_nop: first halves, then quarters, down to single ones.
  void minimise(std::vector<Code> pieces) {
    for (size_t chunk = std::max<size_t>(1, pieces.size() / 2); !pieces.empty(); chunk /= 2) {
      for (size_t at = 0; at < pieces.size();) {
        const size_t end = std::min(at + chunk, pieces.size());
        Capsule smaller = best_;
        for (size_t k = at; k < end; ++k) fill(smaller, pieces[k], s_nop);
        if (attempt(std::move(smaller)))
          pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at),
                       pieces.begin() + static_cast<std::ptrdiff_t>(end));
        else
          at = end;
      }
      if (chunk == 1) break;
    }
  }

  void drop_memory() {
    for (size_t r = best_.memory.size(); r-- > 0;) {
      Capsule smaller = best_;
      smaller.memory.erase(smaller.memory.begin() + static_cast<std::ptrdiff_t>(r));
      (void)attempt(std::move(smaller));
    }
  }

  /// One workgroup, then one dimension less at a time.
  void shrink_grid() {
    if (!best_.has_dispatch()) return;
    for (unsigned d = 0; d < 3; ++d) {
      if (best_.grid[d] <= best_.block[d]) continue;
      Capsule smaller = best_;
      smaller.grid[d] = smaller.block[d];
      smaller.partial_workgroups[d] = false;
      (void)attempt(std::move(smaller));
    }
  }

  Capsule& best_;
  const Fails& fails_;
  ReduceReport report_;
};

} // namespace

Expected<ReduceReport> reduce(Capsule& capsule, const Fails& fails) { return Reducer(capsule, fails).run(); }

} // namespace lanewise::runtime
