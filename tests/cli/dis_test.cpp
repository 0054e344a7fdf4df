// `lanewise dis` as a user runs it: text, JSON, exit status, and back through llvm-mc where that is
// installed.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>
#include <zstd.h>

namespace {

namespace fs = std::filesystem;

struct Outcome {
  int status = -1;
  std::string out, err;
};

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Dis : public testing::Test {
 protected:
  fs::path folder = fs::path(testing::TempDir()) / ("lanewise_dis_" + std::to_string(getpid()));

  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  /// Unpacks a code object of tests/data/container.
  std::string unpack(const std::string& name) {
    const std::string packed = contents(fs::path(LANEWISE_TEST_DATA) / "container" / (name + ".zst"));
    std::string bytes(ZSTD_getFrameContentSize(packed.data(), packed.size()), '\0');
    ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
    return write(name, bytes);
  }
  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return (folder / name).string();
  }
  Outcome run(const std::string& command) {
    const std::string out = (folder / "out").string(), err = (folder / "err").string();
    const int status = std::system((command + " >" + out + " 2>" + err).c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
  }
  Outcome dis(const std::string& arguments) {
    return run(std::string(LANEWISE_COMMAND) + " dis " + arguments);
  }
};

TEST_F(Dis, NamesKernelsFunctionsAndBranchTargets) {
  const Outcome got = dis(unpack("v5_w32.co"));
  EXPECT_EQ(got.status, 0) << got.err;
  for (const char* part :
       {"hsa-code-object-v5", "// kernel scale", "// kernel tile", "// kernel calls", "// function depth",
        "// function add_one", "wave32, 152 bytes at 0x2000", "s_endpgm", "BF810000", "-> L", "// L00"})
    EXPECT_NE(got.out.find(part), std::string::npos) << part;
  EXPECT_EQ(got.out.find('\x1b'), std::string::npos) << "colours only on a terminal";
}

TEST_F(Dis, OneKernel) {
  const Outcome got = dis("--kernel tile " + unpack("v5_w64.co"));
  EXPECT_EQ(got.status, 0) << got.err;
  EXPECT_NE(got.out.find("// kernel tile"), std::string::npos);
  EXPECT_NE(got.out.find("wave64"), std::string::npos);
  EXPECT_EQ(got.out.find("// kernel scale"), std::string::npos);
}

TEST_F(Dis, RawIsInstructionsOnly) {
  const Outcome got = dis("--raw --kernel scale " + unpack("v4_w32.co"));
  EXPECT_EQ(got.status, 0) << got.err;
  EXPECT_EQ(got.out.find("//"), std::string::npos);
  EXPECT_TRUE(got.out.ends_with("s_endpgm\n")) << got.out;
}

TEST_F(Dis, Json) {
  const Outcome got = dis("--json " + unpack("v5_w32.co"));
  EXPECT_EQ(got.status, 0) << got.err;
  const auto json = nlohmann::json::parse(got.out, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  ASSERT_GE(json["programs"].size(), 6u);
  const auto& scale = json["programs"][0];
  EXPECT_EQ(scale["name"], "scale");
  EXPECT_EQ(scale["kind"], "kernel");
  EXPECT_EQ(scale["wave"], 32);
  EXPECT_EQ(scale["instructions"].back()["text"], "s_endpgm");
  EXPECT_EQ(scale["instructions"].back()["pc"], 148);
}

TEST_F(Dis, StandardInputAndBundles) {
  EXPECT_EQ(dis("- < " + unpack("v3_w32.co")).status, 0);
  const Outcome got = dis("--target gfx1031 " + unpack("bundle.hipfb"));
  EXPECT_EQ(got.status, 0) << got.err;
  EXPECT_NE(got.out.find("gfx1031"), std::string::npos);
}

TEST_F(Dis, ExitStatusSaysWhoseFault) {
  const std::string good = unpack("v5_w32.co"), text = write("text", "hello"),
                    raw = write("undefined.json", R"({
    "format": "lanewise-raw-1", "words": ["0xbf800000", "0xffffffff", "0xbf810000"], "kernels": [{"name": "k"}]})");
  struct Row {
    std::string arguments;
    int status;
    std::string message;
  };
  const Row rows[] = {
      {"", 2, "FILE"},
      {"--no-such-option " + good, 2, "no-such-option"},
      {"/nowhere/file.co", 2, "/nowhere/file.co"},
      {"--kernel none " + good, 2, "kernels: scale, tile, calls"},
      {"--target gfx1036 " + unpack("bundle.hipfb"), 2, "gfx1036"},
      {text, 1, "not a container"},
      {unpack("gfx906.co"), 1, "gfx906"},
      {raw, 1, "kernel k, pc 0x4"},
  };
  for (const Row& row : rows) {
    const Outcome got = dis(row.arguments);
    EXPECT_EQ(got.status, row.status) << row.arguments;
    EXPECT_NE(got.err.find(row.message), std::string::npos) << row.arguments << ": " << got.err;
    EXPECT_EQ(got.out, "") << row.arguments;
  }
  const Outcome going = dis("--keep-going --raw " + raw);
  EXPECT_EQ(going.status, 0) << going.err;
  EXPECT_EQ(going.out, "s_nop 0\n.long 0xffffffff\ns_endpgm\n");
}

TEST_F(Dis, AssemblesBack) {
  if (run("command -v llvm-mc-19 llvm-objcopy-19").status != 0) GTEST_SKIP() << "llvm-mc-19 is not installed";
  for (const auto& [file, features] : {std::pair{"v5_w32.co", ""},
                                       {"v3_w32.co", ""},
                                       {"v5_w64.co", "-mattr=+wavefrontsize64,-wavefrontsize32"}}) {
    const std::string path = unpack(file), object = (folder / "a.o").string(),
                      code = (folder / "a.bin").string();
    const auto json = nlohmann::json::parse(dis("--json " + path).out, nullptr, false);
    ASSERT_FALSE(json.is_discarded());
    const Outcome text = dis(path);
    const Outcome made = run("llvm-mc-19 -triple=amdgcn-amd-amdhsa -mcpu=gfx1030 " + std::string(features) +
                             " -filetype=obj -o " + object + " " + write("a.s", text.out));
    ASSERT_EQ(made.status, 0) << made.err;
    ASSERT_EQ(run("llvm-objcopy-19 -O binary --only-section=.text " + object + " " + code).status, 0);
    ASSERT_EQ(run("llvm-objcopy-19 -O binary --only-section=.text " + path + " " + path + ".text").status, 0);
    const std::string assembled = contents(code), original = contents(path + ".text");
    const uint64_t start = json["programs"][0]["address"];
    std::size_t at = 0;
    for (const auto& program : json["programs"]) {
      const std::size_t size = program["bytes"], offset = program["address"].get<uint64_t>() - start;
      ASSERT_LE(at + size, assembled.size());
      EXPECT_EQ(assembled.substr(at, size), original.substr(offset, size)) << file << ": " << program["name"];
      at += size;
    }
    EXPECT_EQ(at, assembled.size());
  }
}

} // namespace
