// Any instruction on any register contents either runs or fails with a reason; nothing is read or written out
// of bounds (the sanitizer build checks that).
#include "emulator_harness.hpp"

namespace lanewise::rdna2::emu {
namespace {

TEST(EmulatorRandom, InstructionsRunOrSayWhyNot) {
  Patterns patterns(1);
  for (unsigned lanes : {32u, 64u}) {
    OneWave w(lanes);
    const uint64_t buffer = w.memory.allocate(4096, "data");
    unsigned ran = 0, failed = 0;
    for (unsigned i = 0; i < 60000; ++i) {
      std::array<uint32_t, 5> words{};
      for (uint32_t& word : words) word = patterns.next32();
      // the formats' prefixes, so that vector and memory formats come up often
      constexpr uint32_t prefixes[] = {0xd4000000, 0xcc000000, 0xd8000000, 0xdc000000, 0xe0000000,
                                       0xf4000000, 0x7e000000, 0x7c000000, 0xe8000000};
      if (i % 2 == 0) words[0] = (words[0] & 0x03ffffff) | prefixes[patterns.raw() % std::size(prefixes)];
      std::array<uint8_t, 20> bytes{};
      std::memcpy(bytes.data(), words.data(), 20);
      auto in = decode(bytes, 0, static_cast<WaveSize>(lanes));
      if (!in) continue;
      if (i % 16 == 0) {
        for (unsigned r = 0; r < 256; ++r)
          for (unsigned l = 0; l < lanes; ++l) w.wave.v(r)[l] = patterns.next32();
        for (unsigned r = 0; r < 128; ++r) w.wave.sgpr[r] = patterns.next32();
        for (unsigned r = 0; r < 64; r += 4) w.wave.set_pair(r, buffer + patterns.raw() % 4096);
        w.wave.mode.bits = static_cast<uint32_t>(patterns.raw()) & 0x3ff;
      }
      const Step step = make_step(*in);
      w.wave.fault = {};
      if (step.handler(w.wave, step) == Flow::fault) {
        ++failed;
        EXPECT_FALSE(w.wave.fault.what.empty()) << disassemble(*in, static_cast<WaveSize>(lanes));
      } else {
        ++ran;
      }
    }
    EXPECT_GT(ran, 5000u);
    EXPECT_GT(failed, 100u);
  }
}

// Everything but graphics has a handler.
TEST(EmulatorRandom, OpcodesWithoutHandlerAreGraphics) {
  for (unsigned i = 0; i < opcode_count; ++i) {
    const OpcodeInfo& row = opcode_table[i];
    const bool graphics = row.encoding == Encoding::mimg || row.encoding == Encoding::exp ||
                          row.has(OpcodeFlag::interp) || row.has(OpcodeFlag::gds_only);
    const bool privileged = row.name == "s_rfe_b64" || row.name == "s_sethalt" || row.name == "s_sendmsghalt";
    EXPECT_EQ(handlers()[i] == nullptr, graphics || privileged) << row.name;
  }
}

} // namespace
} // namespace lanewise::rdna2::emu
