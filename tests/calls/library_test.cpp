// The life of a shader in a host program: what is made once, what is noticed, what is kept.
#include "host_memory.hpp"
#include "ir/printer.hpp"
#include "kernel.hpp"
#include "runtime/serialize.hpp"
#include "runtime/shader_library.hpp"
#include "support/limits.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

namespace lanewise::calls {
namespace {

constexpr uint64_t code_at = 0x7000'0000, other_at = 0x7100'0000, kernel_at = 0x7200'0000,
                   out_at = 0x7300'0000;

/// Two calls: through a and through b.
const std::string two_calls = R"(
  begin
  s_swappc_b64 s[30:31], s[2:3]
  s_swappc_b64 s[30:31], s[4:5]
  plus 1
  finish)";
/// Functions at labels f, g (adds 2, 4), own_pc (adds the low half of its address), far apart h.
const std::string library_functions = R"(
f%:
  plus 2
  s_setpc_b64 s[30:31]
.p2align 6
g%:
  plus 4
  s_setpc_b64 s[30:31]
.p2align 6
own_pc%:
  s_getpc_b64 s[14:15]
  plus s14
  s_setpc_b64 s[30:31]
.p2align 6
bad%:
  plus 2
  s_setpc_b64 s[32:33])";

class Library : public testing::Test {
 protected:
  void SetUp() override {
    auto assembled = assemble(32, std::array{two_calls, library_functions});
    if (!assembled) GTEST_SKIP() << assembled.error().to_string();
    kernel_ = (*assembled)[0];
    functions_ = (*assembled)[1];
    memory_.map(code_at, functions_.code);
    memory_.map(other_at, functions_.code);
    binary_ = kernel_of(kernel_, 32);
    library_ = make({});
  }

  static std::unique_ptr<runtime::ShaderLibrary> make(const std::string& folder, unsigned threads = 2) {
    runtime::LibraryOptions options;
    options.host.subgroup_size = 8;
    options.host.subgroup_operations = true;
    options.cache_folder = folder;
    options.threads = threads;
    auto made = runtime::ShaderLibrary::create(options);
    EXPECT_TRUE(made) << made.error().to_string();
    return std::move(*made);
  }

  [[nodiscard]] uint64_t label(const std::string& name, uint64_t base = code_at) const {
    return base + functions_.labels.at(name);
  }
  static runtime::ShaderPtr add(runtime::ShaderLibrary& library, const container::ShaderBinary& binary,
                                runtime::ShaderOptions options = {}) {
    options.block = {64, 1, 1};
    auto shader = library.add(binary, binary.kernels[0], options);
    EXPECT_TRUE(shader) << shader.error().to_string();
    return *shader;
  }
  Expected<runtime::Binding> bind(runtime::ShaderLibrary& library, const runtime::ShaderPtr& shader,
                                  uint64_t a, uint64_t b) {
    const uint64_t data[4] = {out_at, a, b, 0};
    return library.bind(
        shader, memory_,
        {{reinterpret_cast<const uint8_t*>(data), sizeof data}, 0x7400'0000, kernel_at - kernel_base});
  }
  /// The module's id.
  uint64_t id(const runtime::ShaderPtr& shader, uint64_t a, uint64_t b) {
    auto binding = bind(*library_, shader, a, b);
    EXPECT_TRUE(binding) << binding.error().to_string();
    return binding ? binding->linked->id : 0;
  }

  Assembled kernel_, functions_;
  container::ShaderBinary binary_;
  HostMemory memory_;
  std::unique_ptr<runtime::ShaderLibrary> library_;
};

/// With no room but for the newest, everything is made anew, and bindings keep what they have.
TEST_F(Library, MemoryIsBounded) {
  runtime::LibraryOptions options;
  options.host.subgroup_size = 8;
  options.host.subgroup_operations = true;
  options.memory_bytes = 1;
  auto library = runtime::ShaderLibrary::create(options);
  ASSERT_TRUE(library) << library.error().to_string();
  const auto shader = add(**library, binary_);
  auto first = bind(**library, shader, label("f"), label("g"));
  ASSERT_TRUE(first) << first.error().to_string();
  const auto words = first->linked->module->module.words;
  const uint64_t id = first->linked->id;
  for (unsigned k = 0; k < 8; ++k) {
    auto other = bind(**library, shader, label("g"), label(k % 2 ? "f" : "g"));
    ASSERT_TRUE(other) << other.error().to_string();
    EXPECT_NE(other->linked->id, id);
    EXPECT_TRUE((*library)->is_current(*other, memory_));
  }
  EXPECT_EQ(first->linked->module->module.words, words);
  EXPECT_TRUE((*library)->is_current(*first, memory_));
  const auto before = (*library)->statistics();
  EXPECT_GT(before.dropped, 4u);
  EXPECT_EQ(before.callees_prepared, 2u); // `first` has both
  first = fail(ErrorKind::call, "gone");
  (void)bind(**library, shader, label("own_pc"), label("own_pc"));
  const auto again = bind(**library, shader, label("f"), label("g"));
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->linked->module->module.words, words);
  EXPECT_GT((*library)->statistics().callees_prepared, 3u);
  EXPECT_LT((*library)->statistics().memory_bytes, uint64_t{1} << 20); // one object, the newest
}

TEST_F(Library, WithRoomNothingIsDropped) {
  const auto shader = add(*library_, binary_);
  (void)id(shader, label("f"), label("g"));
  const uint64_t both = id(shader, label("g"), label("f"));
  EXPECT_EQ(id(shader, label("f"), label("g")), both);
  EXPECT_EQ(library_->statistics().callees_prepared, 2u);
  EXPECT_EQ(library_->statistics().dropped, 0u);
  EXPECT_GT(library_->statistics().memory_bytes, 0u);
}

TEST_F(Library, KnownCalleesAreALookUp) {
  const auto shader = add(*library_, binary_);
  const uint64_t first = id(shader, label("f"), label("g"));
  const auto before = library_->statistics();
  const uint64_t reads = memory_.reads();
  for (unsigned k = 0; k < 10; ++k) EXPECT_EQ(id(shader, label("f"), label("g")), first);
  const auto after = library_->statistics();
  EXPECT_EQ(memory_.reads(), reads);
  EXPECT_EQ(after.callees_prepared, before.callees_prepared);
  EXPECT_EQ(after.callees_compared, before.callees_compared);
  EXPECT_EQ(after.modules.compiled, before.modules.compiled);
}

TEST_F(Library, AlternatingTargetsNeedNoNewModule) {
  const auto shader = add(*library_, binary_);
  const uint64_t first = id(shader, label("f"), label("f"));
  const uint64_t both = id(shader, label("g"), label("f"));
  EXPECT_NE(first, both);
  EXPECT_EQ(id(shader, label("f"), label("f")), first == both ? first : id(shader, label("f"), label("f")));
  for (unsigned k = 0; k < 4; ++k) {
    EXPECT_EQ(id(shader, label("g"), label("f")), both);
    EXPECT_EQ(id(shader, label("f"), label("f")), both);
  }
  EXPECT_EQ(library_->statistics().modules.compiled, 2u);
  // The table says which callee a dispatch means.
  auto f = bind(*library_, shader, label("f"), label("f")),
       g = bind(*library_, shader, label("g"), label("f"));
  ASSERT_TRUE(f && g);
  EXPECT_NE(f->callee_table, g->callee_table);
}

TEST_F(Library, EqualCodeElsewhereIsTheSameCallee) {
  const auto shader = add(*library_, binary_);
  const uint64_t here = id(shader, label("f"), label("g"));
  EXPECT_EQ(id(shader, label("f", other_at), label("g")), here);
  // Not even a callee that reads its own pc depends on where it lies.
  const uint64_t own = id(shader, label("own_pc"), label("g"));
  EXPECT_EQ(id(shader, label("own_pc", other_at), label("g")), own);
  EXPECT_EQ(library_->statistics().modules.compiled, 2u);
}

TEST_F(Library, ChangedInstructionAtTheSameAddress) {
  const auto shader = add(*library_, binary_);
  auto before = bind(*library_, shader, label("f"), label("g"));
  ASSERT_TRUE(before);
  EXPECT_TRUE(library_->is_current(*before, memory_));
  memory_.write_word(label("f"), 0x4a020283); // plus 3
  EXPECT_FALSE(library_->is_current(*before, memory_));
  auto after = bind(*library_, shader, label("f"), label("g"));
  ASSERT_TRUE(after) << after.error().to_string();
  EXPECT_NE(after->linked->id, before->linked->id);
  EXPECT_TRUE(library_->is_current(*after, memory_));
}

TEST_F(Library, WritingTheSameBytesCostsAComparison) {
  const auto shader = add(*library_, binary_);
  const uint64_t first = id(shader, label("f"), label("g"));
  const auto before = library_->statistics();
  memory_.write(code_at, functions_.code);
  EXPECT_EQ(id(shader, label("f"), label("g")), first);
  const auto after = library_->statistics();
  EXPECT_EQ(after.callees_compared, before.callees_compared + 2);
  EXPECT_EQ(after.callees_prepared, before.callees_prepared);
  EXPECT_EQ(after.modules.compiled, before.modules.compiled);
}

TEST_F(Library, WritesElsewhereLeaveBindingsCurrent) {
  const auto shader = add(*library_, binary_);
  auto binding = bind(*library_, shader, label("f"), label("f"));
  ASSERT_TRUE(binding);
  memory_.write_word(label("g"), 0xbf800000);
  EXPECT_TRUE(library_->is_current(*binding, memory_));
  memory_.unmap(code_at);
  EXPECT_FALSE(library_->is_current(*binding, memory_));
  EXPECT_FALSE(bind(*library_, shader, label("f"), label("f")));
}

TEST_F(Library, StaleShaderIsNoticed) {
  memory_.map(kernel_at, kernel_.code);
  const auto shader = add(*library_, binary_, {.guest_address = kernel_at - kernel_base});
  auto binding = bind(*library_, shader, label("f"), label("g"));
  ASSERT_TRUE(binding) << binding.error().to_string();
  memory_.write_word(kernel_at, 0xbf800000);
  EXPECT_FALSE(library_->is_current(*binding, memory_));
  auto stale = bind(*library_, shader, label("f"), label("g"));
  ASSERT_FALSE(stale);
  EXPECT_NE(stale.error().to_string().find("the shader's code was overwritten since it was registered"),
            std::string::npos);
  memory_.write(kernel_at, kernel_.code);
  EXPECT_TRUE(bind(*library_, shader, label("f"), label("g")));
}

TEST_F(Library, RefusalsLeaveNothingBehind) {
  const auto shader = add(*library_, binary_);
  for (unsigned k = 0; k < 2; ++k) {
    EXPECT_FALSE(bind(*library_, shader, label("bad"), label("g")));
    EXPECT_FALSE(bind(*library_, shader, 0, label("g")));
    EXPECT_FALSE(bind(*library_, shader, label("f") + 2, label("g")));
    EXPECT_FALSE(bind(*library_, shader, 0x1234'5678'0000, label("g")));
  }
  EXPECT_EQ(library_->statistics().modules.compiled, 0u);
  EXPECT_TRUE(bind(*library_, shader, label("f"), label("g")));
}

TEST_F(Library, MoreCalleesThanAModuleMayCarry) {
  const auto shader = add(*library_, binary_);
  for (uint32_t n = 0; n < limits::max_slot_callees + 3; ++n) {
    memory_.write_word(label("f"), 0x4a020280 + n); // plus n
    ASSERT_TRUE(bind(*library_, shader, label("f"), label("g"))) << n;
  }
  EXPECT_EQ(library_->statistics().modules.compiled, limits::max_slot_callees + 3);
}

TEST_F(Library, SixteenThreadsWaitForOneCompilation) {
  const auto shader = add(*library_, binary_);
  std::atomic<uint64_t> wrong{0};
  std::array<std::atomic<uint64_t>, 16> ids{};
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < ids.size(); ++t)
      threads.emplace_back([&, t] {
        for (unsigned k = 0; k < 50; ++k) {
          auto binding = bind(*library_, shader, label("f"), label("g"));
          if (!binding) {
            ++wrong;
            return;
          }
          ids[t] = binding->linked->id;
        }
      });
  }
  EXPECT_EQ(wrong, 0u);
  for (const auto& i : ids) EXPECT_EQ(i, ids[0]);
  EXPECT_EQ(library_->statistics().modules.compiled, 1u);
}

TEST_F(Library, ThreadsWhoseGuestRewritesCode) {
  const auto shader = add(*library_, binary_);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> bound{0}, refused{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 6; ++t)
      threads.emplace_back([&] {
        while (!stop) (bind(*library_, shader, label("f"), label("g")) ? bound : refused)++;
      });
    // On a busy machine the first bind takes a while.
    for (unsigned k = 0; k < 40 || (bound == 0 && k < 10'000); ++k) {
      memory_.write_word(label("f"), 0x4a020280 + k % 4);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    memory_.write_word(label("f"), 0x4a020283);
    stop = true;
  }
  EXPECT_GT(bound, 0u);
  // When it is quiet again, the binding is the one of the last write: f adds 3.
  auto last = bind(*library_, shader, label("f"), label("g"));
  ASSERT_TRUE(last);
  const auto& code = last->targets.slots[0][0].callee->code[0].bytes;
  uint32_t word = 0;
  std::memcpy(&word, code.data(), 4);
  EXPECT_EQ(word, 0x4a020283u);
}

TEST_F(Library, LaterIsTheSame) {
  const auto shader = add(*library_, binary_);
  const uint64_t data[4] = {out_at, label("f"), label("g"), 0};
  std::vector<uint8_t> kernarg(sizeof data);
  std::memcpy(kernarg.data(), data, sizeof data);
  auto future = library_->bind_later(shader, memory_, kernarg, {{}, 0x7400'0000, 0});
  const auto& later = future.get();
  ASSERT_TRUE(later) << later.error().to_string();
  EXPECT_EQ(later->linked->id, id(shader, label("f"), label("g")));
}

TEST_F(Library, SurvivesOnDisk) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("lanewise-library-" + std::to_string(getpid()))).string();
  std::vector<uint32_t> words;
  {
    auto cold = make(folder);
    const auto shader = add(*cold, binary_);
    auto binding = bind(*cold, shader, label("f"), label("g"));
    ASSERT_TRUE(binding) << binding.error().to_string();
    words = binding->linked->module->module.words;
    EXPECT_EQ(cold->statistics().modules.compiled, 1u);
    EXPECT_EQ(cold->statistics().shaders_prepared, 1u);
  }
  {
    auto warm = make(folder);
    const auto shader = add(*warm, binary_);
    auto binding = bind(*warm, shader, label("f"), label("g"));
    ASSERT_TRUE(binding) << binding.error().to_string();
    EXPECT_EQ(binding->linked->module->module.words, words);
    const auto s = warm->statistics();
    EXPECT_EQ(s.modules.compiled, 0u);
    EXPECT_EQ(s.modules.disk_hits, 1u);
    EXPECT_EQ(s.shaders_from_disk, 1u);
    EXPECT_EQ(s.shaders_prepared, 0u);
    // Another callee with the shader from disk: its front end does not run again.
    ASSERT_TRUE(bind(*warm, shader, label("g"), label("g")));
    EXPECT_EQ(warm->statistics().shaders_prepared, 0u);
    EXPECT_EQ(warm->statistics().modules.compiled, 1u);
  }
  std::filesystem::remove_all(folder);
}

// -- what results are kept under

TEST_F(Library, EveryInputIsInTheKey) {
  const auto key = [](const container::ShaderBinary& binary, const runtime::PrepareOptions& options = {}) {
    return runtime::key_of(binary, binary.kernels[0], options);
  };
  const std::string same = key(binary_);
  EXPECT_EQ(key(binary_), same);
  const auto changed = [&](auto change) {
    container::ShaderBinary other = binary_;
    change(other);
    return key(other);
  };
  std::vector<std::string> keys{same, key(binary_, {.full_waves = true})};
  keys.push_back(changed([](auto& b) { b.segments[0].bytes[3] ^= 1; }));
  keys.push_back(changed([](auto& b) { b.segments[0].bytes.push_back(0); }));
  keys.push_back(changed([](auto& b) { b.segments[0].address += 4; }));
  keys.push_back(changed([](auto& b) { b.segments[0].writable = true; }));
  keys.push_back(changed([](auto& b) { b.pointers.push_back(0x1000); }));
  keys.push_back(changed([](auto& b) { b.kernels[0].entry += 4; }));
  keys.push_back(changed([](auto& b) { b.kernels[0].descriptor.wave32 = false; }));
  keys.push_back(changed([](auto& b) { b.kernels[0].descriptor.float_mode.round_32 = 1; }));
  keys.push_back(changed([](auto& b) { b.kernels[0].descriptor.vgpr_count = 8; }));
  keys.push_back(changed([](auto& b) { b.kernels[0].descriptor.user.kernarg_preload_length = 4; }));
  keys.push_back(changed([](auto& b) { b.kernels[0].descriptor.group_segment_fixed_size = 4; }));

  const auto options = [](auto change) {
    runtime::CompileOptions o;
    change(o);
    runtime::KeyWriter writer = runtime::start_key("options");
    runtime::add_options(writer, o);
    return writer.take();
  };
  keys.push_back(options([](auto&) {}));
  keys.push_back(options([](auto& o) { o.block = {32, 1, 1}; }));
  keys.push_back(options([](auto& o) { o.seating = WaveSeating::folded; }));
  keys.push_back(options([](auto& o) { o.host.subgroup_size = 64; }));
  keys.push_back(options([](auto& o) { o.host.subgroup_operations = true; }));
  keys.push_back(options([](auto& o) { o.host.device.fused_fma[1] = true; }));
  keys.push_back(options([](auto& o) { o.host.device.exact_rounding[2] = false; }));
  keys.push_back(options([](auto& o) { o.host.device.floats.denorm_preserve[0] = true; }));
  keys.push_back(options([](auto& o) { o.host.device.int64_atomics = false; }));
  keys.push_back(options([](auto& o) { o.without = {"mask_phis"}; }));
  keys.push_back(options([](auto& o) { o.dynamic_lds_bytes = 16; }));
  keys.push_back(options([](auto& o) { o.partial_workgroups = {}; }));

  const auto callee = [&](const std::string& name, uint64_t base, const translate::CalleeAbi& abi) {
    auto c = runtime::prepare_callee(memory_, label(name, base), abi);
    EXPECT_TRUE(c) << c.error().to_string();
    return (*c)->key;
  };
  const translate::CalleeAbi abi{32, 0x2f0, 32};
  keys.push_back(callee("f", code_at, abi));
  keys.push_back(callee("g", code_at, abi));
  keys.push_back(callee("f", code_at, {64, 0x2f0, 32}));
  keys.push_back(callee("f", code_at, {32, 0x2f1, 32}));
  keys.push_back(callee("f", code_at, {32, 0x2f0, 24}));
  EXPECT_EQ(callee("f", other_at, abi), callee("f", code_at, abi)) << "an address is in the key";

  for (size_t i = 0; i < keys.size(); ++i)
    for (size_t k = i + 1; k < keys.size(); ++k) EXPECT_NE(keys[i], keys[k]) << i << " and " << k;
}

TEST_F(Library, PreparedProgramsTravelAsBytes) {
  auto shader = runtime::prepare(binary_, binary_.kernels[0]);
  ASSERT_TRUE(shader) << shader.error().to_string();
  const auto bytes = runtime::serialize(**shader);
  auto back = runtime::deserialize_shader(bytes);
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(runtime::serialize(**back), bytes);
  auto callee = runtime::prepare_callee(memory_, label("f"), {32, (*shader)->program.modes[0], 32});
  ASSERT_TRUE(callee) << callee.error().to_string();
  const auto callee_bytes = runtime::serialize(**callee);
  auto callee_back = runtime::deserialize_callee(callee_bytes);
  ASSERT_TRUE(callee_back) << callee_back.error().to_string();
  EXPECT_EQ(runtime::serialize(**callee_back), callee_bytes);

  const auto module = [](const runtime::PreparedShader& s, const runtime::CalleePtr& c) {
    auto linked = runtime::link(s, {{c}, {c}}, {});
    EXPECT_TRUE(linked) << linked.error().to_string();
    return linked->module.words;
  };
  EXPECT_EQ(module(**back, *callee_back), module(**shader, *callee));

  // Every cut is refused.
  for (size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 97)
    EXPECT_FALSE(runtime::deserialize_shader(std::span(bytes).first(size))) << size;
}

} // namespace
} // namespace lanewise::calls
