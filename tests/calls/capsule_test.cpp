// Capsules: written, read back, replayed, reduced.
#include "host_memory.hpp"
#include "pointer_launch.hpp"
#include "runtime/dispatch_recorder.hpp"
#include "runtime/reduce.hpp"
#include "runtime/replay.hpp"
#include "runtime/shader_library.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace lanewise::calls {
namespace {

using runtime::Capsule;

class Capsules : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> sources;
    for (const PointerProgram& p : pointer_programs()) sources.push_back(p.source);
    auto assembled = assemble(32, sources);
    if (!assembled) GTEST_SKIP() << assembled.error().to_string();
    assembled_ = std::move(*assembled);
    folder_ = std::filesystem::temp_directory_path() / ("lanewise-capsules-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static Capsule capsule(const PointerLaunch& l) {
    auto memory = placed(l.launch);
    EXPECT_TRUE(memory);
    Capsule c = runtime::capsule_of(l.launch, *memory);
    c.subgroup_size = 8;
    return c;
  }
  Capsule capsule(std::string_view name) {
    for (size_t i = 0; i < assembled_.size(); ++i)
      if (pointer_programs()[i].name == name)
        return capsule(pointer_launch(pointer_programs()[i], assembled_[i], 32));
    ADD_FAILURE() << "no program " << name;
    return {};
  }
  std::string save(const Capsule& c, const std::string& name) {
    const auto bytes = runtime::serialize(c);
    const std::string file = folder_ / name;
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return file;
  }
  /// Exit status of the command; its output goes to `out`.
  static int command(const std::string& arguments, const std::string& out = "/dev/null") {
    const int status =
        std::system((std::string(LANEWISE_COMMAND) + " " + arguments + " >" + out + " 2>&1").c_str());
    return WEXITSTATUS(status);
  }
  static std::string text_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::vector<Assembled> assembled_;
  std::filesystem::path folder_;
};

TEST_F(Capsules, EveryProgramTravelsAndReplaysTheSame) {
  for (size_t i = 0; i < assembled_.size(); ++i) {
    const PointerProgram& p = pointer_programs()[i];
    SCOPED_TRACE(p.name);
    const PointerLaunch l = pointer_launch(p, assembled_[i], 32);
    const Capsule before = capsule(l);
    const auto bytes = runtime::serialize(before);
    auto c = runtime::deserialize_capsule(bytes);
    ASSERT_TRUE(c) << c.error().to_string();
    EXPECT_EQ(runtime::serialize(*c), bytes);
    if (p.plus == nullptr) { // the same refusal
      const auto again = runtime::replay(*c);
      ASSERT_FALSE(again);
      const char* reason = p.refused ? p.refused : p.unlinked;
      EXPECT_NE(again.error().to_string().find(reason), std::string::npos) << again.error().to_string();
      continue;
    }
    const auto steps = runtime::replay_check(*c);
    ASSERT_TRUE(steps) << steps.error().to_string();
    EXPECT_GT(steps->size(), 8u);
    for (const auto& s : *steps) EXPECT_FALSE(s.failed) << s.name << ": " << s.text;
  }
}

TEST_F(Capsules, DamagedAndForeignFilesAreRefused) {
  auto bytes = runtime::serialize(capsule("the pair itself"));
  for (size_t size = 0; size < bytes.size(); size += 7)
    EXPECT_FALSE(runtime::deserialize_capsule(std::span(bytes).first(size))) << size;
  for (size_t at = 0; at < bytes.size(); at += 5) {
    auto flipped = bytes;
    flipped[at] ^= 0x20;
    // A bit that zstd does not look at changes nothing.
    if (const auto c = runtime::deserialize_capsule(flipped)) {
      EXPECT_EQ(runtime::serialize(*c), bytes) << at;
    }
  }
  bytes[8] = 9; // the version
  const auto other = runtime::deserialize_capsule(bytes);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().to_string(), "capsule format 9, this library reads 1");
}

TEST_F(Capsules, LibrariesRecordWhatFails) {
  auto assembled = assemble(32, std::array<std::string, 2>{R"(
  begin
  s_swappc_b64 s[30:31], s[2:3]
  finish)",
                                                           R"(
good%:
  plus 2
  s_setpc_b64 s[30:31]
bad%:
  plus 2
  s_setpc_b64 s[32:33])"});
  ASSERT_TRUE(assembled);
  const auto binary = kernel_of((*assembled)[0], 32);
  HostMemory memory;
  memory.map(0x7000'0000, (*assembled)[1].code);
  auto library = runtime::ShaderLibrary::create({.record_folder = folder_ / "records"});
  ASSERT_TRUE(library);
  auto shader = (*library)->add(binary, binary.kernels[0], {.block = {64, 1, 1}});
  ASSERT_TRUE(shader);
  const auto bind = [&](const char* label) {
    const uint64_t data[4] = {0x1000'0000, 0x7000'0000u + (*assembled)[1].labels.at(label), 0, 0};
    return (*library)->bind(*shader, memory,
                            {{reinterpret_cast<const uint8_t*>(data), sizeof data}, 0x2000'0000, 0});
  };
  ASSERT_TRUE(bind("good"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "records")) << "a success was recorded";
  const auto failure = bind("bad");
  ASSERT_FALSE(failure);
  std::vector<std::string> files;
  for (const auto& f : std::filesystem::directory_iterator(folder_ / "records")) files.push_back(f.path());
  ASSERT_EQ(files.size(), 1u);
  const std::string text = text_of(files[0]);
  auto c = runtime::deserialize_capsule({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  ASSERT_TRUE(c) << c.error().to_string();
  EXPECT_EQ(c->note, failure.error().to_string());
  const auto again = runtime::replay(*c);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().to_string(), failure.error().to_string());
}

/// A dispatch of every program, recorded by a library that has only the guest's memory to read: it runs, and
/// leaves what the launch with all its buffers leaves.
TEST_F(Capsules, LibrariesRecordDispatchesThatRun) {
  auto library = runtime::ShaderLibrary::create({.record_folder = folder_ / "records"});
  ASSERT_TRUE(library);
  unsigned recorded = 0;
  for (size_t i = 0; i < assembled_.size(); ++i) {
    const PointerProgram& p = pointer_programs()[i];
    SCOPED_TRACE(p.name);
    const PointerLaunch l = pointer_launch(p, assembled_[i], 32);
    const Capsule whole = capsule(l);
    HostMemory memory;
    for (const Capsule::Region& r : whole.memory) memory.map(r.address, r.bytes);
    auto shader = (*library)->add(*l.binary, *l.launch.kernel, {.block = l.launch.block});
    if (!shader) continue; // nothing is registered
    auto file = (*library)->record_dispatch(*shader, memory, whole.invocation(), whole.grid);
    ASSERT_TRUE(file) << file.error().to_string();
    const std::string text = text_of(*file);
    auto c = runtime::deserialize_capsule({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    ASSERT_TRUE(c) << c.error().to_string();
    if (p.plus == nullptr) {
      EXPECT_NE(c->note.find(p.refused ? p.refused : p.unlinked), std::string::npos) << c->note;
      continue;
    }
    EXPECT_EQ(c->note, "");
    const auto steps = runtime::replay_check(*c);
    ASSERT_TRUE(steps) << steps.error().to_string();
    for (const auto& s : *steps) EXPECT_FALSE(s.failed) << s.name << ": " << s.text;
    const auto expected = runtime::replay_on_emulator(whole), after = runtime::replay_on_emulator(*c);
    ASSERT_TRUE(expected && after);
    const Capsule::Region& out = *std::ranges::find(whole.memory, "out", &Capsule::Region::name);
    uint64_t compared = 0;
    for (const auto& [address, bytes] : *after) {
      const uint64_t first = std::max(address, out.address),
                     end = std::min(address + bytes.size(), out.address + out.bytes.size());
      for (uint64_t at = first; at < end; ++at, ++compared)
        ASSERT_EQ(bytes[at - address], expected->at(out.address)[at - out.address])
            << "byte " << at - out.address;
    }
    EXPECT_EQ(compared, out.bytes.size());
    ++recorded;
  }
  EXPECT_GT(recorded, 20u);
}

/// Of large mappings only the pages that a dispatch touches are kept, across borders of mappings too.
TEST_F(Capsules, RecordsKeepTouchedPagesOnly) {
  // s[0:1][id] = id for 64 work-items, and s[2:3] is read across the border of two mappings.
  auto assembled = assemble(32, std::array<std::string, 1>{R"(
  v_lshlrev_b32 v1, 2, v0
  s_load_dwordx2 s[4:5], s[2:3], 0x0
  v_mov_b32 v3, 0
  global_load_dwordx2 v[4:5], v3, s[2:3]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_add_nc_u32 v2, s5, v5
  global_store_dword v1, v2, s[0:1]
  s_endpgm)"});
  ASSERT_TRUE(assembled) << assembled.error().to_string();
  const auto binary = kernel_of((*assembled)[0], 32);
  HostMemory memory;
  constexpr uint64_t big = 0x5000'0000, small = 0x6000'0ffc;
  memory.map(big, std::vector<uint8_t>(1 << 20));
  memory.map(small, {1, 0, 0, 0});
  memory.map(small + 4, {2, 0, 0, 0, 9, 9, 9, 9});
  const uint64_t data[2] = {big + 0x8ff8, small};
  auto library = runtime::ShaderLibrary::create({.record_folder = folder_ / "records"});
  ASSERT_TRUE(library);
  auto shader = (*library)->add(binary, binary.kernels[0], {.block = {64, 1, 1}});
  ASSERT_TRUE(shader) << shader.error().to_string();
  const runtime::Invocation invocation{{reinterpret_cast<const uint8_t*>(data), sizeof data}, 0x2000'0000, 0};
  auto file = (*library)->record_dispatch(*shader, memory, invocation, {64, 1, 1});
  ASSERT_TRUE(file) << file.error().to_string();
  const std::string text = text_of(*file);
  auto c = runtime::deserialize_capsule({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  ASSERT_TRUE(c) << c.error().to_string();
  EXPECT_EQ(c->note, "");
  ASSERT_EQ(c->memory.size(), 2u);
  EXPECT_EQ(c->memory[0].address, big + 0x8000);
  EXPECT_EQ(c->memory[0].bytes.size(), 0x2000u);
  EXPECT_EQ(c->memory[1].address, small);
  EXPECT_EQ(c->memory[1].bytes, (std::vector<uint8_t>{1, 0, 0, 0, 2, 0, 0, 0, 9, 9, 9, 9}));
  const auto after = runtime::replay_on_emulator(*c);
  ASSERT_TRUE(after) << after.error().to_string();
  for (unsigned k = 0; k < 64; ++k) EXPECT_EQ(after->at(big + 0x8000)[0xff8 + 4 * k], 4u) << k;
  EXPECT_EQ(command("replay " + file->string() + " --check"), 0);

  // A guest that maps everything leaves no room for the dispatch packet.
  class Everything final : public GuestMemory {
   public:
    explicit Everything(const HostMemory& m) : memory_(m) {}
    [[nodiscard]] std::optional<Extent> extent(uint64_t) const override { return Extent{0, ~uint64_t{0}}; }
    [[nodiscard]] bool read(uint64_t a, std::span<uint8_t> out) const override {
      return memory_.read(a, out);
    }
    [[nodiscard]] uint64_t write_version(uint64_t, uint64_t) const override { return 1; }

   private:
    const HostMemory& memory_;
  };
  const auto crowded = (*library)->record_dispatch(*shader, Everything(memory), invocation, {64, 1, 1});
  ASSERT_FALSE(crowded);
  EXPECT_EQ(crowded.error().kind, ErrorKind::limit) << crowded.error().to_string();

  const auto limited =
      runtime::record_dispatch(runtime::capsule_of(binary, binary.kernels[0], {.block = {64, 1, 1}}),
                               (*shader)->prepared(), memory, invocation, {64, 1, 1}, {.max_bytes = 4096});
  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().kind, ErrorKind::limit) << limited.error().to_string();

  // A dispatch that runs into unmapped memory is recorded with the reason.
  memory.unmap(small + 4);
  file = (*library)->record_dispatch(*shader, memory, invocation, {64, 1, 1});
  ASSERT_TRUE(file) << file.error().to_string();
  const std::string again = text_of(*file);
  c = runtime::deserialize_capsule({reinterpret_cast<const uint8_t*>(again.data()), again.size()});
  ASSERT_TRUE(c);
  EXPECT_NE(c->note.find("0x60001000"), std::string::npos) << c->note;

  EXPECT_EQ((*library)->record_dispatch(*shader, memory, invocation, {64, 0, 1}).error().kind,
            ErrorKind::call);
  auto silent = runtime::ShaderLibrary::create({});
  ASSERT_TRUE(silent);
  auto unrecorded = (*silent)->add(binary, binary.kernels[0], {.block = {64, 1, 1}});
  EXPECT_EQ((*silent)->record_dispatch(*unrecorded, memory, invocation, {64, 1, 1}).error().kind,
            ErrorKind::call);
}

TEST_F(Capsules, ReplayCommand) {
  const std::string good = save(capsule("loaded through two pointers"), "good.capsule"),
                    out = folder_ / "out.txt";
  EXPECT_EQ(command("replay " + good + " --dis --cfg --ir --check --stats", out), 0);
  const std::string text = text_of(out);
  for (const char* part :
       {"call 0 at pc 0x101c: load(load(user_data[6] + 0x8) + 0x10)", "s_swappc_b64 s[30:31], s[20:21]",
        "callee of call 0 at 0x", "b0 pc 0x1000", "function \"test\" wave32", "  SPIR-V    ",
        "  live      per lane ", "equal     interpreter after wave lowering"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  EXPECT_EQ(command("replay " + save(capsule("null"), "bad.capsule"), out), 1);
  EXPECT_NE(text_of(out).find("the call target is null"), std::string::npos);
}

TEST_F(Capsules, ReduceKeepsTheFailureAndLittleElse) {
  Capsule c = capsule("the callee calls a function of its own");
  // The "failure": work-item 3 gets the 4 of the innermost function added.
  const auto fails = [](const Capsule& candidate) {
    const auto after = runtime::replay_on_emulator(candidate, 1u << 16);
    if (!after) return false;
    for (const Capsule::Region& r : candidate.memory) {
      if (r.name != "out") continue;
      uint32_t word = 0;
      std::memcpy(&word, &after->at(r.address)[12], 4);
      return word >= 3 + 4 && ((word - 3) & 4) != 0;
    }
    return false;
  };
  const auto report = runtime::reduce(c, fails);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(fails(c));
  EXPECT_GT(report->kept, 3u);
  EXPECT_LT(report->instructions_after, report->instructions_before);
  EXPECT_LE(report->instructions_after, 12u);
  // Nothing of what is left can go.
  EXPECT_EQ(runtime::reduce(c, fails)->kept, 0u);
  Capsule fine = capsule("null");
  EXPECT_FALSE(runtime::reduce(fine, [](const Capsule&) { return false; }));
}

TEST_F(Capsules, ReduceCommand) {
  const std::string file = save(capsule("overwrites the pair of the next call"), "big.capsule"),
                    small = folder_ / "small.capsule", out = folder_ / "out.txt";
  const std::string fails =
      std::string("'") + LANEWISE_COMMAND + " replay {} 2>&1 | grep -q \"the callee changes s21\"'";
  EXPECT_EQ(command("reduce " + file + " --fails " + fails + " -o " + small, out), 0) << text_of(out);
  EXPECT_EQ(command("replay " + small, out), 1);
  EXPECT_NE(text_of(out).find("the callee changes s21"), std::string::npos) << text_of(out);
  EXPECT_LT(std::filesystem::file_size(small), std::filesystem::file_size(file));
  EXPECT_EQ(command("reduce " + file + " --fails true"), 2); // names no file
}

} // namespace
} // namespace lanewise::calls
