#include "translate/translate.hpp"

#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/pipeline.hpp"
#include "program.hpp"

#include <gtest/gtest.h>

namespace lanewise::translate {
namespace {

/// Instructions of the tidied program as text, one a line, without pcs and the header.
std::string translated(const container::ShaderBinary& binary) {
  auto f = translate(binary, binary.kernels[0], {});
  if (!f) return f.error().to_string();
  if (auto ok = ir::verify(*f); !ok) return "translation: " + ok.error().to_string();
  if (auto ok = passes::run(*f, {.verify = true}); !ok) return "passes: " + ok.error().to_string();
  return ir::print(*f);
}

std::string refusal(std::span<const uint32_t> words) {
  const auto binary = program(words);
  const auto f = translate(binary, binary.kernels[0], {});
  return f ? "translated" : f.error().to_string();
}

TEST(Translate, MasksBecomeMasks) {
  const uint32_t words[] = {
      0xf4040100, 0xfa000008, // s_load_dwordx2 s[4:5], s[0:1], 0x8
      0x34020082,             // v_lshlrev_b32_e32 v1, 2, v0
      0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
      0x7d880090,             // v_cmp_gt_u32_e32 vcc_lo, 16, v0
      0xbe863c6a,             // s_and_saveexec_b32 s6, vcc_lo
      0xbf880006,             // s_cbranch_execz 6
      0xdc308000, 0x02040001, // global_load_dword v2, v1, s[4:5]
      0xbf8c3f70,             // s_waitcnt vmcnt(0)
      0x06040502,             // v_add_f32_e32 v2, v2, v2
      0xdc708000, 0x00040201, // global_store_dword v1, v2, s[4:5]
      0x887e067e,             // s_or_b32 exec_lo, exec_lo, s6
      0xbf810000,             // s_endpgm
  };
  EXPECT_EQ(translated(program(words)), "");
}

} // namespace
} // namespace lanewise::translate
