// Each memory instruction with random operands, addresses and EXEC: emulator and interpreter have to agree on
// registers, LDS, scratch and memory, before and after the passes.
//
// Addresses overlap and are unaligned as far as the ISA defines what happens. Where lanes write the same
// bytes with one instruction it defines no order: stores of a lane here meet another lane's only as a whole.
#include "differential.hpp"
#include "memory_program.hpp"
#include "rdna2/decoder.hpp"
#include "rdna2/disassembler.hpp"
#include "rdna2/emu_machine.hpp"
#include "rdna2/encoder.hpp"
#include "translate/translator.hpp"

#include "container/guest_abi.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace lanewise::translate {
namespace {

using namespace rdna2;
namespace abi = guest_abi;

constexpr unsigned input_bytes = 0x2080, scalars_at = 0x2000, output_stride = 512, data_bytes = 0x8000;
constexpr unsigned lds_per_lane = 128, scratch_bytes = 256;
constexpr uint64_t middle = 0x2000; ///< of the data buffer: where addresses with signed offsets start

/// A tested instruction with what it needs around it.
struct Case {
  Instruction instruction;
  std::array<uint32_t, 8> sgpr{}; ///< s[8:15]
  uint32_t m0 = 0;
  bool scratch_descriptor = false; ///< s[8:11] are the scratch V#, as constants in the code
  std::array<std::array<uint32_t, 2>, lanes> address{};
};

class Generator {
 public:
  Generator(unsigned wave, Random& random, uint64_t data) : wave_(wave), random_(random), data_(data) {}

  Case make(Opcode opcode) {
    Case c{.instruction = {.opcode = opcode}};
    row_ = &info(opcode);
    Instruction& i = c.instruction;
    i.encoding = row_->encoding;
    for (uint32_t& s : c.sgpr) s = word();
    for (auto& a : c.address) a = {word(), word()};
    switch (row_->encoding) {
    case Encoding::ds: lds(c); break;
    case Encoding::smem: scalar(c); break;
    case Encoding::mubuf: buffer(c); break;
    default: flat(c); break;
    }
    return c;
  }

 private:
  uint32_t word() { return static_cast<uint32_t>(random_()); }
  uint32_t below(uint32_t n) { return word() % n; }
  bool coin() { return below(2) != 0; }
  [[nodiscard]] bool loads() const { return row_->access.kind == Access::Kind::load; }
  [[nodiscard]] bool is_atomic() const { return row_->access.kind == Access::Kind::atomic; }
  /// Not defined in swizzled memory, whose elements have 4 bytes.
  [[nodiscard]] bool is_wide_atomic() const { return is_atomic() && bytes() == 8; }
  [[nodiscard]] unsigned bytes() const { return row_->access.bytes; }

  /// Byte offsets for the lanes in [0, size): loads anywhere, atomics aligned in a few places, stores in
  /// places of 16 bytes with one misalignment for all.
  void offsets(Case& c, uint32_t size, unsigned alignment) {
    const uint32_t skew = below(16) / alignment * alignment;
    for (auto& a : c.address) {
      if (is_atomic())
        a[0] = below(std::min(size / bytes(), 12u)) * bytes();
      else if (loads())
        a[0] = below((size - 16) / alignment) * alignment;
      else
        a[0] = below(size / 32) * 32 + skew;
    }
  }

  Operand vgpr(unsigned reg, unsigned count) { return register_operand(true, reg, count); }
  Operand sgpr(unsigned reg, unsigned count) { return register_operand(false, reg, count); }
  unsigned width(OperandType t) { return dwords(t, wave_ == 32 ? WaveSize::wave32 : WaveSize::wave64); }

  // -- LDS
  void lds(Case& c) {
    Instruction& i = c.instruction;
    if (row_->dst[0] != OperandType::none) i.dst[0] = vgpr(14, width(row_->dst[0]));
    for (unsigned n = 0; n < 3; ++n)
      if (row_->src[n] != OperandType::none) i.src[n] = vgpr(n == 0 ? 2 : 4 * n, width(row_->src[n]));
    const uint32_t size = lds_per_lane * wave_;
    if (row_->has(OpcodeFlag::cross_lane)) {
      i.imm = static_cast<int32_t>(below(0x10000));
      if (coin()) i.imm &= 0xff;
    } else if (row_->has(OpcodeFlag::addtid) || row_->src[0] == OperandType::none) {
      i.imm = static_cast<int32_t>(4 * below(64));
      c.m0 = 4 * below(64) | word() << 16;
    } else if (row_->has(OpcodeFlag::two_addresses)) {
      two_addresses(c, size);
    } else {
      i.imm = static_cast<int32_t>(8 * below(64));
      if (!is_atomic() && coin()) i.imm += static_cast<int32_t>(below(8));
      offsets(c, size - 16 - 520, 1);
      // The sum wraps around at 32 bits.
      if (coin())
        for (auto& a : c.address) a[0] -= static_cast<uint32_t>(i.imm & ~7);
      else
        i.imm &= 511;
    }
    i.offset0 = static_cast<uint8_t>(i.imm);
    i.offset1 = static_cast<uint8_t>(i.imm >> 8);
  }
  void two_addresses(Case& c, uint32_t size) {
    Instruction& i = c.instruction;
    const uint32_t element = bytes() / 2, far = row_->has(OpcodeFlag::stride64) ? 64 : 1;
    // Every lane has places of its own: a column of the rows of 64 elements, or some elements in a row.
    const uint32_t rows = size / (64 * element),
                   steps = far == 64 ? std::min(rows, 4u) : lds_per_lane / element;
    const uint8_t first = static_cast<uint8_t>(below(steps)), second = static_cast<uint8_t>(below(steps));
    i.imm = first | second << 8;
    for (unsigned l = 0; l < lanes; ++l) {
      const unsigned lane = l % wave_;
      c.address[l][0] = far == 64 ? lane * element : lane * lds_per_lane;
      if (loads()) c.address[l][0] = below(size - (std::max(first, second) * far + 1) * element + 1);
    }
  }

  // -- FLAT, GLOBAL, SCRATCH
  void flat(Case& c) {
    Instruction& i = c.instruction;
    i.glc = is_atomic() ? coin() : below(4) == 0;
    if (loads() || (is_atomic() && i.glc)) i.dst[0] = vgpr(14, width(row_->dst[0]));
    if (row_->src[2] != OperandType::none) i.src[2] = vgpr(4, width(row_->src[2]));
    const int32_t range = row_->encoding == Encoding::flat ? 2048 : 4096;
    i.imm = static_cast<int32_t>(below(static_cast<uint32_t>(range)));
    if (range == 4096) i.imm -= 2048;
    if (is_atomic()) i.imm &= ~7;
    if (row_->encoding == Encoding::scratch) return scratch(c);
    if (row_->has(OpcodeFlag::addtid)) {
      if (coin()) i.imm &= ~3;
      i.src[1] = sgpr(8, 2);
      set64(c.sgpr, data_ + middle);
      return;
    }
    const bool scalar = row_->encoding == Encoding::global && coin();
    i.src[0] = vgpr(2, scalar ? 1 : 2);
    offsets(c, 2048, 1);
    if (scalar) {
      i.src[1] = sgpr(8, 2);
      const uint64_t less = word() & ~31u; // the offset is unsigned
      set64(c.sgpr, data_ + middle - less);
      for (auto& a : c.address) a[0] += static_cast<uint32_t>(less);
      for (auto& a : c.address)
        if (a[0] < less) a[0] = static_cast<uint32_t>(less);
      return;
    }
    const bool everywhere = row_->encoding == Encoding::flat;
    for (auto& a : c.address) {
      const unsigned where = everywhere && !is_wide_atomic() ? below(3) : everywhere ? below(2) : 0;
      const auto offset = static_cast<uint32_t>(i.imm);
      if (where == 1)
        a = {a[0] % (32 * lds_per_lane - 2064), abi::shared_aperture_hi};
      else if (where == 2)
        a = {a[0] % (scratch_bytes - 64), abi::private_aperture_hi};
      if (where == 1 && a[0] + offset > 32 * lds_per_lane - 16) a[0] = 0;
      if (where == 2 && offset > 32) i.imm &= 31;
      if (where == 0) set64(a, data_ + middle + a[0]);
    }
    if (is_atomic()) i.imm &= ~7;
  }
  template <class Words>
  static void set64(Words& words, uint64_t value) {
    words[0] = static_cast<uint32_t>(value), words[1] = static_cast<uint32_t>(value >> 32);
  }
  void scratch(Case& c) {
    Instruction& i = c.instruction;
    i.imm = static_cast<int32_t>(below(64)) - 32;
    c.sgpr[0] = 32 + below(64);
    for (auto& a : c.address) a[0] = 32 + below(100);
    switch (below(3)) {
    case 0: i.src[0] = vgpr(2, 1); break;
    case 1: i.src[1] = sgpr(8, 1); break;
    default: i.imm = static_cast<int32_t>(below(scratch_bytes - 16)); break;
    }
  }

  // -- MUBUF
  void buffer(Case& c) {
    Instruction& i = c.instruction;
    i.glc = is_atomic() && coin();
    if (loads()) i.dst[0] = vgpr(14, width(row_->dst[0]));
    if (!loads()) i.src[3] = vgpr(4, width(row_->src[3]));
    if (i.glc) i.dst[0] = i.src[3];
    i.offen = coin(), i.idxen = coin();
    i.src[0] = vgpr(2, std::max(1, i.offen + i.idxen));
    i.src[1] = sgpr(8, 4);
    i.src[2] = sgpr(12, 1);
    const unsigned alignment = is_atomic() ? bytes() : 4;
    i.imm = static_cast<int32_t>(below(64) / alignment * alignment);
    c.sgpr[4] = below(64) / alignment * alignment;
    if (!is_wide_atomic() && below(4) == 0) return scratch_buffer(c);
    descriptor(c, alignment);
  }
  /// Index and offset in v2, v3 as the instruction reads them.
  void set_address(Case& c, unsigned lane, uint32_t index, uint32_t offset) {
    const Instruction& i = c.instruction;
    c.address[lane] = {i.idxen ? index : offset, offset};
  }
  void descriptor(Case& c, unsigned alignment) {
    const uint32_t rule = below(4);
    const bool swizzled = !is_wide_atomic() && coin(), add_lane = below(4) == 0;
    const uint32_t stride = below(4) == 0 && !swizzled ? 0 : 16u << below(2);
    const uint32_t index_stride = below(4), records = rule == 3 ? 300 + below(300) / 4 * 4 : below(60);
    const uint64_t base = data_ + middle;
    c.sgpr[0] = static_cast<uint32_t>(base);
    c.sgpr[1] = static_cast<uint32_t>(base >> 32) | stride << 16 | uint32_t{swizzled} << 31;
    c.sgpr[2] = records;
    c.sgpr[3] = rule << 28 | uint32_t{add_lane} << 23 | index_stride << 21 | 0x14fac;
    // Stores of different lanes must not meet in part: multiples of 16, and the memory's order decides.
    const uint32_t step = loads() || is_atomic() ? alignment : 16;
    for (unsigned l = 0; l < lanes; ++l) {
      uint32_t index = below(64), offset = below(rule == 3 ? 700 : 2 * stride + 16) / step * step;
      // Sums that do not fit in 32 bits are out of range, where that is asked.
      if (rule < 2 && below(16) == 0) index = ~0u;
      if ((rule == 0 || rule == 3) && below(16) == 0) offset = 0 - 4 * below(16);
      set_address(c, l, index, offset);
    }
    if (!loads() && !is_atomic()) distinct_stores(c);
  }
  /// Lanes that store go to records or rows of their own.
  void distinct_stores(Case& c) {
    Instruction& i = c.instruction;
    i.imm = 0;
    for (unsigned l = 0; l < lanes; ++l) {
      const bool structured = i.idxen && (c.sgpr[1] >> 16 & 0x3fff) != 0;
      set_address(c, l, l, i.offen && !structured ? 16 * (l % 16) : 0);
    }
  }
  void scratch_buffer(Case& c) {
    Instruction& i = c.instruction;
    c.scratch_descriptor = true;
    i.idxen = false, i.offen = coin();
    i.src[0] = vgpr(2, 1);
    // The scalar offset counts bytes of all lanes.
    c.sgpr[4] = 4 * wave_ * below(8);
    for (auto& a : c.address) a[0] = below(100) & ~3u;
  }

  // -- SMEM
  void scalar(Case& c) {
    Instruction& i = c.instruction;
    i.dst[0] = sgpr(32, width(row_->dst[0]));
    const bool is_buffer = name(i.opcode).find("buffer") != std::string_view::npos;
    i.imm = static_cast<int32_t>(below(256));
    if (coin()) i.src[1] = sgpr(12, 1);
    c.sgpr[4] = below(400);
    i.src[0] = sgpr(8, is_buffer ? 4 : 2);
    const uint64_t base = data_ + middle + (is_buffer ? 0 : below(8));
    c.sgpr[0] = static_cast<uint32_t>(base), c.sgpr[1] = static_cast<uint32_t>(base >> 32);
    if (!is_buffer) {
      if (coin()) i.imm = -i.imm;
      return;
    }
    const uint32_t stride = coin() ? 0 : 4 + below(20);
    c.sgpr[1] |= stride << 16;
    c.sgpr[2] = stride == 0 ? below(500) : below(40);
    c.sgpr[3] = word() & 0x3fff'ffff;
  }

  unsigned wave_;
  Random& random_;
  uint64_t data_;
  const OpcodeInfo* row_ = nullptr;
};

std::vector<uint32_t> memory_whole_program(const Case& c, unsigned wave) {
  using namespace memory_program;
  std::vector<uint32_t> words(std::begin(prologue), std::end(prologue));
  if (wave == 32) std::ranges::replace(words, group_shift64, group_shift32);
  const std::array<uint32_t, 4> scratch{abi::scratch_rsrc_word0, abi::scratch_rsrc_word1,
                                        abi::scratch_rsrc_word2, abi::scratch_rsrc_word3(wave)};
  for (uint32_t k = 0; k < 4 && c.scratch_descriptor; ++k)
    words.insert(words.end(), {set_s8 + (k << 16), scratch[k]});
  words.push_back(wave == 32 ? set_exec32 : set_exec64);
  const EncodedWords encoded = encode(c.instruction);
  words.insert(words.end(), encoded.words.begin(), encoded.words.begin() + encoded.count);
  words.insert(words.end(), std::begin(epilogue), std::end(epilogue));
  return words;
}

Buffer random_buffer(size_t bytes, Random& random) {
  Buffer b(bytes);
  for (size_t k = 0; k + 4 <= bytes; k += 4) {
    const uint32_t w = random_word(random);
    std::memcpy(b.data() + k, &w, 4);
  }
  return b;
}

Buffer make_input(const Case& c, Random& random) {
  Buffer b = random_buffer(input_bytes, random);
  const auto put = [&](size_t at, uint32_t value) { std::memcpy(b.data() + at, &value, 4); };
  for (unsigned l = 0; l < lanes; ++l)
    for (unsigned k = 0; k < 2; ++k) put(l * 128 + 4 * k, c.address[l][k]);
  for (unsigned k = 0; k < 8; ++k) put(scalars_at + 4 * k, c.sgpr[k]);
  for (unsigned k = 0; k < 2; ++k)
    put(scalars_at + 0x40 + 4 * k, random() % 4 != 0   ? static_cast<uint32_t>(random())
                                   : random() % 4 != 0 ? ~0u
                                                       : 0);
  put(scalars_at + 0x48, c.m0);
  return b;
}

std::string place(size_t at, size_t output_bytes) {
  if (at >= output_bytes) return fmt::format("data + 0x{:x}", at - output_bytes);
  const size_t item = at / output_stride, in = at % output_stride;
  if (in < 16) return fmt::format("v{} of item {}", 14 + in / 4, item);
  if (in < 80) return fmt::format("s{}", 32 + (in - 16) / 4);
  if (in < 256) return fmt::format("LDS of item {} + {}", item, in - 128);
  return fmt::format("scratch of item {} + {}", item, in - 256);
}

std::string compare_memory(const Buffer& expected, const Buffer& got, size_t output_bytes) {
  for (size_t at = 0; at + 4 <= expected.size(); at += 4)
    if (const uint32_t e = word_at(expected, at), g = word_at(got, at); e != g)
      return fmt::format("{}: emulator 0x{:08x}, IR 0x{:08x}", place(at, output_bytes), e, g);
  return {};
}

std::string check_memory(const Case& c, unsigned wave, unsigned mode, Random& random) {
  auto binary = program(memory_whole_program(c, wave), wave);
  auto& d = binary.kernels[0].descriptor;
  set_mode(d, mode);
  d.vgpr_count = 48;
  d.group_segment_fixed_size = lds_per_lane * wave;
  d.private_segment_fixed_size = scratch_bytes;
  const Run run{.grid = lanes,
                .block = wave,
                .input = make_input(c, random),
                .output_bytes = lanes * output_stride,
                .data = random_buffer(data_bytes, random)};
  Buffer expected, got;
  if (auto e = emulate(binary, run, expected); !e.empty()) return e;
  for (const bool passes : {false, true}) {
    if (auto e = interpret(binary, run, passes, got); !e.empty()) return e;
    if (auto difference = compare_memory(expected, got, run.output_bytes); !difference.empty())
      return difference + fmt::format(" mode 0x{:03x}{};", mode, passes ? " after passes" : "") +
             fmt::format(" s[8:15] {:08x} m0 {:x}", fmt::join(c.sgpr, " "), c.m0);
  }
  return {};
}

uint64_t data_address() {
  const Run run{.grid = 0,
                .block = 0,
                .input = Buffer(input_bytes),
                .output_bytes = lanes * output_stride,
                .data = Buffer(data_bytes)};
  return Setting(run).data;
}

bool is_memory(Opcode opcode) {
  switch (info(opcode).encoding) {
  case Encoding::ds:
  case Encoding::smem:
  case Encoding::mubuf:
  case Encoding::mtbuf:
  case Encoding::flat:
  case Encoding::global:
  case Encoding::scratch: return true;
  default: return false;
  }
}

bool emulated(Opcode opcode) { return emu::handlers()[static_cast<unsigned>(opcode)] != nullptr; }

bool is_tested_memory(Opcode opcode) {
  const bool accesses =
      info(opcode).access.kind != Access::Kind::none || info(opcode).has(OpcodeFlag::cross_lane);
  return is_memory(opcode) && emulated(opcode) && accesses && handler_of(opcode) != nullptr;
}

class MemoryDifferential : public testing::TestWithParam<unsigned> {};

TEST_P(MemoryDifferential, EmulatorAndInterpreterAgree) {
  const unsigned wave = GetParam();
  const uint64_t data = data_address();
  Random random(wave);
  std::map<std::string, std::string> failures;
  for (unsigned n = 0; n < opcode_count; ++n) {
    const auto opcode = static_cast<Opcode>(n);
    if (!is_tested_memory(opcode)) continue;
    for (unsigned k = 0; k < 4; ++k) {
      const Case c = Generator(wave, random, data).make(opcode);
      const auto wave_size = static_cast<WaveSize>(wave);
      const EncodedWords words = encode(c.instruction);
      std::vector<uint8_t> bytes(4 * words.count);
      std::memcpy(bytes.data(), words.words.data(), bytes.size());
      const auto decoded = decode(bytes, 0, wave_size);
      if (!decoded || decoded->opcode != opcode || decoded->size != bytes.size()) {
        failures[std::string(name(opcode))] = "test made a bad encoding";
        continue;
      }
      const unsigned mode = k == 0 ? 0x0f0 : static_cast<unsigned>(random()) & 0x3ff;
      if (const auto difference = check_memory(c, wave, mode, random); !difference.empty())
        failures.try_emplace(std::string(name(opcode)), disassemble(*decoded, wave_size) + ": " + difference);
    }
  }
  for (const auto& [opcode, text] : failures) ADD_FAILURE() << opcode << ": " << text;
}

INSTANTIATE_TEST_SUITE_P(Waves, MemoryDifferential, testing::Values(32u, 64u));

/// Memory instructions that the emulator has and the translator refuses by name (docs/limits.md).
TEST(MemoryDifferential, RefusedByTheTranslator) {
  std::set<std::string_view> refused;
  for (unsigned n = 0; n < opcode_count; ++n)
    if (const auto o = static_cast<Opcode>(n); is_memory(o) && emulated(o) && handler_of(o) == nullptr)
      refused.insert(name(o));
  std::erase_if(refused, [](std::string_view s) { return s.find("_format_") != std::string_view::npos; });
  EXPECT_EQ(fmt::format("{}", fmt::join(refused, " ")), "s_atc_probe s_atc_probe_buffer");
}

} // namespace
} // namespace lanewise::translate
