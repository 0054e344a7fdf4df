#include "rdna2/register_use.hpp"

#include "rdna2/decoder.hpp"
#include "rdna2/disassembler.hpp"
#include "rdna2/random_words.hpp"

#include <gtest/gtest.h>

using namespace lanewise::rdna2;
using namespace lanewise::rdna2::test;

namespace {

std::string to_text(const RegisterList& list) {
  std::string text;
  for (const RegisterRange& r : list) {
    if (!text.empty()) text += ' ';
    text += (r.file == RegisterFile::scalar ? 's' : 'v') + std::to_string(r.first);
    if (r.count > 1) text += ':' + std::to_string(r.first + r.count - 1);
  }
  return text;
}

} // namespace

// 106 is VCC, 124 M0, 126 EXEC.
TEST(RegisterUse, Table) {
  const struct {
    const char* text;
    std::vector<uint32_t> words;
    const char *reads, *writes;
  } cases[] = {
      {"s_add_u32 s4, s2, s3", {0x80040302}, "s2 s3", "s4"},
      {"s_mov_b64 s[4:5], src_execz", {0xbe8404fc}, "s126:127", "s4:5"},
      {"s_and_saveexec_b64 s[4:5], vcc", {0xbe84246a}, "s106:107 s126:127", "s4:5 s126:127"},
      {"s_cbranch_vccz 0", {0xbf860000}, "s106:107", ""},
      {"s_mov_b32 null, s1", {0xbefd0301}, "s1", ""},
      {"s_load_dwordx4 s[4:7], s[2:3], s9", {0xf4080101, 0x12000000}, "s2:3 s9", "s4:7"},
      {"v_add_f32_e32 v0, v1, v2", {0x06000501}, "v1 v2 s126:127", "v0"},
      {"v_add_f16_e32 v0, v1, v2", {0x64000501}, "v1 v2 v0 s126:127", "v0"},
      {"v_fmac_f32_e32 v5, v1, v2", {0x560a0501}, "v1 v2 v5 s126:127", "v5"},
      {"v_cndmask_b32_e32 v0, v1, v2, vcc", {0x02000501}, "v1 v2 s106:107 s126:127", "v0"},
      {"v_cmpx_lt_f32_e32 v1, v2", {0x7c220501}, "v1 v2 s126:127", "s126:127"},
      {"v_readlane_b32 s5, v1, s2", {0xd7600005, 0x00000501}, "v1 s2", "s5"},
      {"v_writelane_b32 v5, s1, s2", {0xd7610005, 0x00000401}, "s1 s2 v5", "v5"},
      {"v_swap_b32 v5, v1", {0x7e0acb01}, "v1 v5 s126:127", "v5 v1"},
      {"v_mov_b32_dpp v5, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf bound_ctrl:1",
       {0x7e0a02fa, 0xff08e401},
       "v1 s126:127",
       "v5"},
      {"v_mov_b32_dpp v5, v1 row_shr:1 row_mask:0xf bank_mask:0xf",
       {0x7e0a02fa, 0xff011101},
       "v1 v5 s126:127",
       "v5"},
      {"v_mov_b32_sdwa v5, v1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD",
       {0x7e0a02f9, 0x00061501},
       "v1 v5 s126:127",
       "v5"},
      {"global_load_dwordx2 v[1:2], v3, s[4:5]", {0xdc348000, 0x01040003}, "v3 s4:5 s126:127", "v1:2"},
      {"global_load_short_d16 v1, v[3:4], off", {0xdc908000, 0x017d0003}, "v3:4 v1 s126:127", "v1"},
      {"global_store_dword v[3:4], v1, off", {0xdc708000, 0x007d0103}, "v3:4 v1 s126:127", ""},
      {"ds_read_b64 v[1:2], v0", {0xd9d80000, 0x01000000}, "v0 s126:127", "v1:2"},
      {"ds_add_u32 v0, v1 gds", {0xd8020000, 0x00000100}, "v0 v1 s126:127 s124", ""},
      {"image_sample v[0:3], [v4, v9], s[8:15], s[16:19] dmask:0xf dim:SQ_RSRC_IMG_2D",
       {0xf0800f0a, 0x00820004, 0x00000009},
       "s8:15 s16:19 v4 v9 s126:127",
       "v0:3"},
      {"buffer_atomic_cmpswap v[2:3], off, s[4:7], 0 glc",
       {0xe0c44000, 0x80010200},
       "s4:7 v2:3 s126:127",
       "v2"},
      {"exp mrt0 v1, off, v3, off", {0xf8000005, 0x00030001}, "v1 v3 s126:127", ""},
  };
  for (const auto& c : cases) {
    const auto i = decode(to_bytes(c.words.data(), c.words.size()), 0, WaveSize::wave64);
    ASSERT_TRUE(i) << c.text << ": " << i.error().to_string();
    EXPECT_EQ(disassemble(*i, WaveSize::wave64), c.text);
    const RegisterUse use = register_use(*i, WaveSize::wave64);
    EXPECT_EQ(to_text(use.reads), c.reads) << c.text;
    EXPECT_EQ(to_text(use.writes), c.writes) << c.text;
  }
}

// The lists never overflow, and every register exists.
TEST(RegisterUse, AnyInstruction) {
  std::mt19937_64 random(5);
  for (unsigned round = 0; round < 10; ++round) {
    for (const Form& form : all_forms()) {
      const auto words = random_words(form, random);
      const auto i = decode(to_bytes(words.data(), 5), 0, WaveSize::wave32);
      if (!i) continue;
      const RegisterUse use = register_use(*i, WaveSize::wave32);
      for (const RegisterList* list : {&use.reads, &use.writes}) {
        ASSERT_LT(list->ranges().size(), 24u);
        for (const RegisterRange& r : *list)
          ASSERT_LE(r.first + r.count, r.file == RegisterFile::scalar ? 128 : 256)
              << disassemble(*i, WaveSize::wave32);
      }
    }
  }
}
