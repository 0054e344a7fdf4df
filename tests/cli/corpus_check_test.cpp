// scripts/corpus-check on a few objects: its table, what it lists, its exit status.
#include "runtime/raw_kernel.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/wait.h>

#include <zstd.h>

namespace lanewise::cli {
namespace {

using runtime::raw_kernel_text;

class CorpusCheck : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "lanewise_corpus_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    unpack("saxpy");
    // A file is what it holds, whatever its name.
    write("clock.co", raw_kernel_text(runtime::stores_clock, runtime::one_buffer));
    const std::string image = R"({"name": "i", "kind": "image", "offset": 0, "size": 8})";
    write("image.co", raw_kernel_text(runtime::stores_group, image));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void unpack(const std::string& name) {
    std::ifstream in(std::string(LANEWISE_TEST_DATA) + "/examples/" + name + ".co.zst", std::ios::binary);
    const std::vector<char> packed{std::istreambuf_iterator<char>(in), {}};
    std::string bytes(1u << 20, '\0');
    bytes.resize(ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()));
    write(name + ".co", bytes);
  }
  void write(const std::string& name, const std::string& contents) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << contents;
  }
  /// A command in the place of lanewise; `body` is bash, $REAL the command itself.
  std::string stand_in(const std::string& body) {
    write("lanewise", std::string("#!/bin/bash\nREAL=") + LANEWISE_COMMAND + "\n" + body + "\n");
    std::filesystem::permissions(folder_ + "/lanewise", std::filesystem::perms::owner_all);
    return folder_ + "/lanewise";
  }
  /// The exit status; output_ has what it printed.
  int check(const std::string& options, const std::string& command = LANEWISE_COMMAND) {
    const std::string line = "LANEWISE=" + command + " " + LANEWISE_SOURCE_DIR + "/scripts/corpus-check " +
                             folder_ + " " + options + " 2>&1";
    FILE* pipe = popen(line.c_str(), "r");
    if (!pipe) return -1;
    output_.clear();
    std::array<char, 4096> part{};
    for (size_t n; (n = fread(part.data(), 1, part.size(), pipe)) > 0;) output_.append(part.data(), n);
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }
  void expect(std::initializer_list<const char*> parts) {
    for (const char* part : parts)
      EXPECT_NE(output_.find(part), std::string::npos) << part << " in\n" << output_;
  }

  std::string folder_, output_;
};

TEST_F(CorpusCheck, CountsAndPasses) {
  EXPECT_EQ(check("--no-vulkan --json " + folder_ + "/records"), 0) << output_;
  expect({"3 kernels; 2 ran on a made-up launch, 2 of them wrote memory; 1 have no launch",
          "| IR after translation | 2 | 1 | 0 | 1 |", "| IR after wave lowering | 2 | 1 | 0 | 1 |",
          "1  arguments of kind image cannot be passed"});
  EXPECT_GT(std::filesystem::file_size(folder_ + "/records"), 1000u);
}

TEST_F(CorpusCheck, ListsDifferences) {
  // What the interpreter says of saxpy after its passes comes out unequal.
  const std::string broken = stand_in(
      R"("$REAL" "$@" | sed '/saxpy/s/\("by":"passes","name":"[^"]*","outcome":"\)equal/\1DIFFERENT/g')");
  EXPECT_EQ(check("--no-vulkan", broken), 3) << output_;
  expect({"| IR after translation | 2 | 1 | 0 | 1 | 0 | 0 | 0 | 0 |",
          "| IR after the passes | 2 | 0 | 0 | 1 | 0 | 0 | 0 | 1 |",
          "different:\n  saxpy.co --kernel 'saxpy' --grid 101 --block 64,1,1 --arg "});
}

TEST_F(CorpusCheck, GoesOnBehindCrashesAndLateKernels) {
  const std::string first = R"([[ $* == *clock.co*"--from 0" ]] && )", rest = R"(; exec "$REAL" "$@")";
  const std::string crashes = stand_in(first + "kill -SEGV $$" + rest);
  EXPECT_EQ(check("--no-vulkan --no-passes", crashes), 3) << output_;
  expect({"| IR after translation | 1 | 1 | 0 | 0 | 0 | 0 | 1 | 0 |", "clock.co --kernel 'number 0'",
          "crashed (-11)"});
  const std::string waits = stand_in(first + "while :; do :; done" + rest);
  EXPECT_EQ(check("--no-vulkan --no-passes --seconds 2", waits), 0) << output_;
  expect({"| IR after translation | 1 | 1 | 0 | 0 | 0 | 1 | 0 | 0 |"});
}

TEST_F(CorpusCheck, TellsWhatDiedBehindTheLastKernel) {
  const std::string dies =
      stand_in(R"([[ $* != *clock.co* ]] && exec "$REAL" "$@"; "$REAL" "$@"; kill -SEGV $$)");
  EXPECT_EQ(check("--no-vulkan --no-passes", dies), 3) << output_;
  expect({"3 kernels; 2 ran", "| IR after translation | 2 | 1 | 0 | 1 | 0 | 0 | 0 | 0 |",
          "IR: the process ended behind its last kernel (-11)"});
}

TEST_F(CorpusCheck, TakesUpWhatEarlierCallsLeft) {
  const std::string records = folder_ + "/records", resume = " --no-vulkan --no-passes --resume " + records;
  const std::string crashes = stand_in(R"([[ $* == *clock.co* ]] && kill -SEGV $$; exec "$REAL" "$@")");
  EXPECT_EQ(check("--no-vulkan --no-passes --json " + records, crashes), 3) << output_;
  // Nothing is left to run, and what crashed is told again.
  const std::string never = stand_in("exit 2");
  EXPECT_EQ(check("--json " + folder_ + "/more" + resume, never), 3) << output_;
  expect({"clock.co --kernel 'number 0'"});
  EXPECT_EQ(check("--merge --resume " + folder_ + "/more", never), 3) << output_;
  expect({"clock.co --kernel 'number 0'", "| IR after translation | 1 | 1 | 0 | 0 | 0 | 0 | 1 | 0 |"});
  // It alone runs again.
  const std::string only = stand_in(R"([[ $* == *clock.co* ]] || exit 2; exec "$REAL" "$@")");
  EXPECT_EQ(check("--retry" + resume, only), 0) << output_;
  expect({"3 kernels; 2 ran", "| IR after translation | 2 | 1 | 0 | 1 | 0 | 0 | 0 | 0 |"});
}

TEST_F(CorpusCheck, EndsInTime) {
  EXPECT_EQ(check("--no-vulkan --until 2", stand_in("sleep 60")), 0) << output_;
  expect({"0 kernels; 0 ran"});
}

TEST_F(CorpusCheck, NeedsADevice) {
  const std::string none = stand_in(R"(VK_DRIVER_FILES=/none VK_ICD_FILENAMES=/none exec "$REAL" "$@")");
  EXPECT_EQ(check("--no-passes", none), 2) << output_;
  expect({"there is no Vulkan device"});
}

} // namespace
} // namespace lanewise::cli
