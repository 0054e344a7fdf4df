// The command as a user calls it: output, errors and exit status.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <vector>

#include <nlohmann/json.hpp>
#include <zstd.h>

namespace lanewise::cli {
namespace {

struct Result {
  int status = -1;
  std::string output; ///< standard output and standard error together
};

Result call(const std::string& arguments) {
  Result r;
  FILE* pipe = popen((std::string(LANEWISE_COMMAND) + " " + arguments + " 2>&1").c_str(), "r");
  if (!pipe) return r;
  std::array<char, 4096> part{};
  for (size_t n; (n = fread(part.data(), 1, part.size(), pipe)) > 0;) r.output.append(part.data(), n);
  const int status = pclose(pipe);
  r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return r;
}

/// A code object of tests/data/examples, unpacked into a file.
std::string code_object(const std::string& name) {
  std::ifstream in(std::string(LANEWISE_TEST_DATA) + "/examples/" + name + ".co.zst", std::ios::binary);
  const std::vector<char> packed{std::istreambuf_iterator<char>(in), {}};
  std::vector<char> bytes(1u << 20);
  bytes.resize(ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()));
  const std::string path = testing::TempDir() + "lanewise_" + std::to_string(getpid()) + "_" + name + ".co";
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

/// A dispatch that is given up leaves the driver at work; the command ends with its status all the same.
TEST(Command, EndsBesideADispatchThatWasGivenUp) {
  const std::string saxpy = code_object("saxpy");
  for (int run = 0; run < 5; ++run) {
    const Result r = call("check " + saxpy + " --made-up --no-interpreter --seconds 0.02");
    EXPECT_TRUE(r.status == 0 || r.status == 3) << r.status << r.output;
  }
}

TEST(Command, Run) {
  const std::string saxpy = code_object("saxpy");
  struct {
    const char* arguments;
    int status;
    const char* output; ///< a part of it
  } const table[]{
      {"--grid 4096 --block 256 --arg out:f32[4096]=0 --arg in:f32[4096]=iota --arg 2.0f --print 'out[0:8]'",
       0, "out[0:8] = 1 3 5 7 9 11 13 15\n"},
      {"--kernel saxpy --grid 5 --arg out:f32[8]=0 --arg in:f32[8]=iota --arg 2.0f --print out", 0,
       "out = 1 3 5 7 9 0 0 0\n"},
      {"--on interpreter --grid 5 --arg out:f32[8]=0 --arg in:f32[8]=iota --arg 2.0f --print out", 0,
       "out = 1 3 5 7 9 0 0 0\n"},
      {"--grid 4 --arg out:f32[4] --arg in:f32[4]=1,2,3,4 --arg 0.5f --print 'out[1]' --json", 0,
       "\"out[1]\":[2]"},
      {"--grid 4 --arg out:f32[4] --arg in:f32[4]", 2,
       "2 arguments given, 3 wanted (kernel saxpy wants 3 arguments\n   0 "},
      {"--grid 4 --arg out:f32[4] --arg in:f32[4] --arg 2", 2, "'2' is given, the kernel wants float"},
      {"--grid 4 --arg out:u32[4] --arg in:f32[4] --arg 2.0f", 2,
       "the kernel wants float*, the buffer holds u32"},
      {"--grid 4 --arg out:f32[4] --arg in:f32[4] --arg 2.0f --print input", 2,
       "there is no buffer 'input' (buffers are out, in)"},
      {"--grid 64 --arg out:f32[4] --arg in:f32[64] --arg 2.0f", 1, "outside every buffer"},
      {"--arg out:f32[4] --arg in:f32[4] --arg 2.0f", 2, "--grid is missing"},
      {"--kernel nosuch --grid 4", 2, "saxpy"},
      {"--grid 4 --on moon --arg out:f32[4] --arg in:f32[4] --arg 2.0f", 2, "moon"},
      {"--nonsense", 2, ""},
  };
  for (const auto& row : table) {
    const Result r = call("run " + saxpy + " " + row.arguments);
    EXPECT_EQ(r.status, row.status) << row.arguments << "\n" << r.output;
    EXPECT_NE(r.output.find(row.output), std::string::npos) << row.arguments << "\n" << r.output;
  }
}

/// Another module in the place of the recompiled one: the same, one of another pass list, and what is none.
TEST(Command, RunsModules) {
  const std::string saxpy = code_object("saxpy"), spv = testing::TempDir() + "lanewise_module.spv";
  const std::string run =
      "run " + saxpy +
      " --grid 256 --block 256 --arg out:f32[256] --arg in:f32[256]=iota --arg 2.0f --on vulkan "
      "--subgroup 1 --print 'out[3:6]'";
  if (call(run).output.find("there is no Vulkan device") != std::string::npos)
    GTEST_SKIP() << "no Vulkan device";
  ASSERT_EQ(call("compile " + saxpy + " --block 256 --subgroup 1 --without exec_select -o " + spv).status, 0);
  struct {
    std::string arguments;
    int status;
    const char* output;
  } const table[]{
      {"--without exec_select,diverge", 0, "out[3:6] = 7 9 11\n"},
      {"--module " + spv, 0, "out[3:6] = 7 9 11\n"},
      {"--module " + saxpy, 1, "is no SPIR-V module"},
      {"--module /nonexistent", 2, "/nonexistent"},
  };
  for (const auto& row : table) {
    const Result r = call(run + " " + row.arguments);
    EXPECT_EQ(r.status, row.status) << row.arguments << "\n" << r.output;
    EXPECT_NE(r.output.find(row.output), std::string::npos) << row.arguments << "\n" << r.output;
  }
  // Figures of the driver, or the name of what the device lacks.
  const Result r = call(run + " --driver-statistics");
  EXPECT_NE(r.output.find(r.status == 0 ? ": " : "device lacks pipelineExecutableInfo"), std::string::npos)
      << r.output;
  EXPECT_LE(r.status, 1);
}

TEST(Command, RunSaves) {
  const std::string saxpy = code_object("saxpy"), saved = testing::TempDir() + "lanewise_saved.bin";
  const Result r =
      call("run " + saxpy + " --grid 4 --arg out:u8[16] --arg in:f32[4]=iota --arg 2.0f --save out=" + saved);
  EXPECT_EQ(r.status, 0) << r.output;
  std::ifstream in(saved, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(bytes, std::string("\0\0\x80\x3f\0\0\x40\x40\0\0\xa0\x40\0\0\xe0\x40", 16));
}

TEST(Command, Compile) {
  const std::string saxpy = code_object("saxpy"), out = testing::TempDir() + "lanewise_out.spv";
  EXPECT_EQ(call("compile " + saxpy).status, 2);
  EXPECT_EQ(call("compile " + saxpy + " -o " + out + " --wave sideways").status, 2);
  EXPECT_EQ(call("compile /nonexistent -o " + out).status, 2);
  for (const char* options :
       {"", "--subgroup 1", "--subgroup 8 --full --block 256", "--wave folded --verify"}) {
    const Result r = call("compile " + saxpy + " --validate -o " + out + " " + options);
    EXPECT_EQ(r.status, 0) << options << r.output;
    std::ifstream in(out, std::ios::binary);
    char magic[4] = {};
    in.read(magic, 4);
    EXPECT_EQ(std::string(magic, 4), "\x03\x02\x23\x07") << options;
  }
  const Result json = call("compile " + saxpy + " --all --json");
  EXPECT_EQ(json.status, 0);
  EXPECT_NE(json.output.find("{\"kernel\":\"saxpy\",\"status\":\"ok\""), std::string::npos) << json.output;
}

TEST(Command, Stats) {
  const std::string saxpy = code_object("saxpy"), matmul = code_object("matmul.w32");
  const std::string bad = testing::TempDir() + "lanewise_stats_bad.co";
  std::ofstream(bad, std::ios::binary) << "\x7f" << "ELF and nothing more";
  const std::string folder = testing::TempDir();
  struct {
    std::string arguments;
    int status;
    std::vector<std::string> output; ///< parts of it
  } const table[]{
      {saxpy,
       0,
       {"{\"application\":", saxpy + ":saxpy\"", "\"stage\":\"compute\"", "\"target\":\"spirv\"",
        "\"guest.instructions\":", "\"live_lane.bound\":", "\"selects.found\":", "\"time_us.emit\":"}},
      {"--text " + saxpy, 0, {"saxpy - compute @spirv: wave", "  guest     ", " valu", "  selects   "}},
      {saxpy + " --relative-to " + folder, 0, {"\"name\":\"lanewise_"}},
      {saxpy + " " + matmul + " --threads 2 --no-bounds", 0, {":saxpy\"", ":matmul\""}},
      {bad + " " + saxpy, 1, {bad, ":saxpy\""}}, // the others go on
      {saxpy + " --kernel nosuch", 2, {"no kernel to measure"}},
      {saxpy + " --json --text", 2, {}},
      {saxpy + " --to v3d71", 2, {"--to 'v3d71' is not spirv"}},
      {"", 2, {"FILE"}},
  };
  for (const auto& row : table) {
    const Result r = call("stats " + row.arguments);
    EXPECT_EQ(r.status, row.status) << row.arguments << "\n" << r.output;
    for (const std::string& part : row.output)
      EXPECT_NE(r.output.find(part), std::string::npos) << row.arguments << " wants " << part << "\n"
                                                        << r.output;
    EXPECT_EQ(r.output.find("live_lane.bound") == std::string::npos,
              row.arguments.find("--no-bounds") != std::string::npos ||
                  r.output.find("\"name\"") == std::string::npos)
        << r.output;
  }
}

TEST(Command, Explore) {
  const std::string saxpy = code_object("saxpy"), page = testing::TempDir() + "lanewise_page.html";
  EXPECT_EQ(call("explore " + saxpy).status, 2); // where to?
  EXPECT_EQ(call("explore " + saxpy + " --kernel nosuch -o " + page).status, 2);
  EXPECT_EQ(call("explore /nonexistent -o " + page).status, 2);
  const Result r = call("explore " + saxpy + " --subgroup 8 -o -");
  EXPECT_EQ(r.status, 0);
  EXPECT_TRUE(r.output.starts_with("<!doctype html>")) << r.output.substr(0, 100);
  EXPECT_TRUE(r.output.ends_with("</html>\n"));
}

/// What stats writes, compare reads: a wave on one invocation takes more words than on 32, unless its lanes are independent.
TEST(Command, StatsAndCompare) {
  const std::string saxpy = code_object("saxpy"), matmul = code_object("matmul.w32");
  const std::string before = testing::TempDir() + "lanewise_before.json",
                    after = testing::TempDir() + "lanewise_after.json";
  ASSERT_EQ(call("stats " + saxpy + " " + matmul + " -o " + before).status, 0);
  ASSERT_EQ(call("stats " + saxpy + " " + matmul + " --subgroup 1 -o " + after).status, 0);
  const Result same = call("compare " + before + " " + before + " --fail-on 'spirv_words:total>0, lost>0'");
  EXPECT_EQ(same.status, 0) << same.output;
  const Result more = call("compare " + before + " " + after + " --fail-on 'spirv_words:hurt>0'");
  EXPECT_EQ(more.status, 3) << more.output;
  EXPECT_NE(more.output.find("HURT"), std::string::npos) << more.output;
}

TEST(Command, Check) {
  const std::string saxpy = code_object("saxpy");
  const Result r = call("check " + saxpy + " --no-vulkan --grid 256 --elements 256");
  EXPECT_EQ(r.status, 0) << r.output;
  EXPECT_NE(r.output.find("saxpy: all equal"), std::string::npos) << r.output;
}

/// What --made-up prints are options that run the launch again.
TEST(Command, MadeUpLaunchRunsAgain) {
  const std::string saxpy = code_object("saxpy");
  const Result made_up = call("check " + saxpy + " --made-up --no-vulkan --each-pass --json");
  EXPECT_EQ(made_up.status, 0) << made_up.output;
  std::istringstream lines(made_up.output);
  std::vector<nlohmann::json> parts;
  for (std::string line; std::getline(lines, line);)
    parts.push_back(nlohmann::json::parse(line, nullptr, false));
  ASSERT_EQ(parts.size(), 3u) << made_up.output;
  EXPECT_EQ(parts[0].dump(), R"({"device":null,"kernels":1})");
  const auto &launch = parts[1], &record = parts[2];
  ASSERT_TRUE(launch.is_object() && record.is_object()) << made_up.output;
  EXPECT_TRUE(launch["wrote"] && launch["determined"] && record["passed"] && record["wrote"]);
  EXPECT_NE(made_up.output.find("interpreter after the passes, without exec_select\""), std::string::npos);
  const std::string again =
      "run " + saxpy + " " + launch["launch"].get<std::string>() + " --print arg0[0:8] --on ";
  const Result first = call(again + "emulator"), second = call(again + "interpreter");
  EXPECT_EQ(first.status, 0) << first.output;
  EXPECT_EQ(first.output, second.output);
  EXPECT_EQ(call("check " + saxpy + " --made-up --grid 5").status, 2);
}

TEST(Command, FilesAtFault) {
  const std::string path = testing::TempDir() + "lanewise_bad.co";
  std::ofstream(path, std::ios::binary) << "\x7f" << "ELF and nothing more";
  for (const char* command : {"run --grid 1", "compile -o -", "check"}) {
    const Result r = call(std::string(command) + " " + path);
    EXPECT_EQ(r.status, 1) << command << r.output;
    EXPECT_TRUE(r.output.starts_with("lanewise:")) << r.output;
  }
}

/// The reference's figures in a collection file, as it lies there, against what the allocator writes.
TEST(Command, CompareV3d) {
  const std::string mesa = std::string(LANEWISE_TEST_DATA) + "/v3d/three-v3d-71.jsonl.zst";
  const Result same = call("compare " + mesa + " " + mesa + " --metric spills,fills");
  EXPECT_EQ(same.status, 0) << same.output;
  EXPECT_NE(same.output.find("total fills in shared programs: 2485 -> 2485"), std::string::npos)
      << same.output;

  const std::string name = testing::TempDir() + "lanewise_" + std::to_string(getpid());
  std::ofstream(name + ".jsonl")
      << R"({"program": "p", "stage": "fragment", "gpu": "v3d-71", "mesa": {"instructions": 100, "threads": 2}, )"
         R"("listings": [{"strategy": "default", "threads": 2, "vir": "BLOCK 0:\nfxcd t0\nfadd t1, t0, t0\n)"
         R"(nop null; thrsw\nvfpack tlb, t1, t0\n"}]})"
      << "\n";
  const Result alloc = call("v3d alloc " + name + ".jsonl --gpu 71 --verify --stats " + name + ".stats");
  EXPECT_EQ(alloc.status, 0) << alloc.output;
  const Result both = call("compare " + name + ".jsonl " + name + ".stats --metric threads,instructions");
  EXPECT_EQ(both.status, 0) << both.output;
  EXPECT_NE(both.output.find("total threads in shared programs: 2 -> 4"), std::string::npos) << both.output;
  EXPECT_NE(both.output.find("total instructions in shared programs: 100 -> "), std::string::npos)
      << both.output;
}

} // namespace
} // namespace lanewise::cli
