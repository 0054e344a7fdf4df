// Fuzzes the decoder: whatever the bytes are, the result is an error that says something or an instruction
// whose text, words and registers hold together. The first byte chooses the wave size.
#include "rdna2/decoder.hpp"
#include "rdna2/disassembler.hpp"
#include "rdna2/encoder.hpp"
#include "rdna2/register_use.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

using namespace lanewise;
using namespace lanewise::rdna2;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const Instruction& i, WaveSize wave) {
  const std::string text = disassemble(i, wave);
  require(!text.empty() && text.find('\n') == std::string::npos && !words_as_data(i).empty());
  const RegisterUse use = register_use(i, wave);
  require(use.reads.ranges().size() < 24 && use.writes.ranges().size() < 24);

  // What it encodes to is the same instruction, and has nothing to ignore.
  const EncodedWords e = encode(i);
  uint8_t bytes[20];
  std::memcpy(bytes, e.words.data(), sizeof bytes);
  const Expected<Instruction> again = decode(std::span(bytes).first(e.count * 4), 0, wave);
  require(again && again->opcode == i.opcode && again->size == e.count * 4 && !has_ignored_bits(*again));
  require(i.nsa_count == 1 || disassemble(*again, wave) == text);
  if (assembles_back(i)) require(e.count * 4 == i.size && e.words == i.words);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const WaveSize wave = data[0] % 2 == 0 ? WaveSize::wave32 : WaveSize::wave64;
  const std::span<const uint8_t> code(data + 1, size - 1);
  std::vector<Instruction> program;
  const size_t end = decode_append(code, wave, program);
  uint32_t pc = 0;
  for (const Instruction& i : program) {
    require(i.pc == pc && i.size >= 4 && i.size <= 20);
    pc += i.size;
    check(i, wave);
  }
  require(pc == end && end <= code.size());
  if (end < code.size()) {
    const Expected<Instruction> bad = decode(code, uint32_t(end), wave);
    require(!bad && !bad.error().what.empty() && bad.error().where.starts_with("pc 0x"));
  }
  return 0;
}
