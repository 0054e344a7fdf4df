#include "translate/translate.hpp"

#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/pipeline.hpp"
#include "program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

namespace lanewise::translate {
namespace {

/// The tidied program as text, without its first and last line and without guest addresses.
std::string translated(std::span<const uint32_t> words, unsigned wave_size = 32) {
  const auto binary = program(words, wave_size);
  auto f = translate(binary, binary.kernels[0], {});
  if (!f) return f.error().to_string();
  if (auto ok = ir::verify(*f); !ok) return "translation: " + ok.error().to_string();
  if (auto ok = passes::run(*f, {.verify = true}); !ok) return "passes: " + ok.error().to_string();
  std::string text = std::regex_replace(ir::print(*f), std::regex(" @0x[0-9a-f]+"), "");
  text.erase(0, text.find('\n'));
  return text.substr(0, text.rfind('}'));
}

std::string refusal(std::span<const uint32_t> words) {
  const auto binary = program(words);
  const auto f = translate(binary, binary.kernels[0], {});
  return f ? "translated" : f.error().to_string();
}

/// Where paths meet again a register that none of them wrote needs no phi, not even one that is found
/// redundant later.
TEST(Translate, MergesMakePhisOnlyOfWhatWasWritten) {
  std::vector<uint32_t> words{0xbe840387}; // s_mov_b32 s4, 7
  constexpr unsigned diamonds = 200;
  for (unsigned k = 0; k < diamonds; ++k)
    words.insert(words.end(), {0xbf068002,   // s_cmp_eq_u32 s2, 0
                               0xbf850001,   // s_cbranch_scc1 1
                               0x80038103}); // s_add_u32 s3, s3, 1
  words.insert(words.end(), {0x80050304,     // s_add_u32 s5, s4, s3
                             0xbf810000});   // s_endpgm
  const auto binary = program(words);
  const auto f = translate(binary, binary.kernels[0], {});
  ASSERT_TRUE(f) << f.error().to_string();
  unsigned phis = 0; // made at any time, also those that stand in no block
  for (uint32_t v = 1; v < f->value_count(); ++v) phis += (*f)[ir::Value{v}].op == ir::Op::phi;
  EXPECT_EQ(phis, diamonds); // s3 after each
}

TEST(Translate, CompareAndSaveexecMakeAMask) {
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
  EXPECT_EQ(translated(words), R"(
b0:
  %1 = u1 input.initial_exec
  %2 = uniform i64 input.kernarg_ptr
  %3 = i32 input.local_id_x
  %4 = uniform i64 add %2, i64 8
  %5 = uniform i32x2 load.global.4.invariant %4, u1 true
  %6 = uniform i32 extract.0 %5
  %7 = uniform i32 extract.1 %5
  %8 = i32 shl %3, i32 2
  %9 = u1 ult %3, i32 16
  %10 = u1 and %1, %9
  %11 = uniform u1 any %10
  cond_br %11, b1, b2
b1: from b0
  %12 = uniform i64 pack64 %6, %7
  %13 = i64 zext %8
  %14 = i64 add %12, %13
  %15 = i32 load.global.4 %14, %10
  %16 = f32 bitcast %15
  %17 = f32 fadd %16, %16
  %18 = i32 bitcast %17
  wave_fence
  store.global.4 %14, %10, %18
  br b2
b2: from b0, b1
  ret
)");
  // The same in wave64, where masks are register pairs.
  uint32_t words64[std::size(words)];
  std::ranges::copy(words, words64);
  words64[5] = 0xbe86246a;  // s_and_saveexec_b64 s[6:7], vcc
  words64[13] = 0x88fe067e; // s_or_b64 exec, exec, s[6:7]
  EXPECT_EQ(translated(words64, 64), translated(words));
}

/// A compute unit's cache is the workgroup's matter: nothing to order before the first access, nothing behind
/// a barrier. The others are the device's. The memory pipelines keep a wave's accesses in order, waited for
/// or not; an invalidated cache does not.
TEST(Translate, AccessesOfOneMemoryAreInOrder) {
  const uint32_t words[] = {
      0xd8340000, 0x00000200, // ds_write_b32 v0, v2
      0xe1c40000, 0x00000000, // buffer_gl0_inv
      0xd8d80000, 0x03000001, // ds_read_b32 v3, v1
      0xd8340000, 0x00000300, // ds_write_b32 v0, v3
      0xbf810000,             // s_endpgm
  };
  EXPECT_EQ(translated(words), R"(
b0:
  %1 = u1 input.initial_exec
  %2 = i32 input.local_id_x
  store.lds.4 %2, %1, i32 0
  group_fence
  wave_fence
  %3 = i32 load.lds.4 i32 0, %1
  wave_fence
  store.lds.4 %2, %1, %3
  ret
)");
}

TEST(Translate, CacheInvalidationsAreFences) {
  const uint32_t words[] = {
      0xe1c40000, 0x00000000, // buffer_gl0_inv
      0xbf8a0000,             // s_barrier
      0xe1c40000, 0x00000000, // buffer_gl0_inv
      0xe1c80000, 0x00000000, // buffer_gl1_inv
      0xbf810000,             // s_endpgm
  };
  EXPECT_EQ(translated(words), R"(
b0:
  barrier.lds
  memory_fence
  ret
)");
}

/// All lanes have a scalar load's words before one of them stores there; arguments nobody stores to.
TEST(Translate, StoresWaitForScalarLoads) {
  const std::vector<uint32_t> arguments{
      0xf4040100, 0xfa000000, // s_load_dwordx2 s[4:5], s[0:1], 0x0
      0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
  };
  const std::vector<uint32_t> word{
      0xf4000182, 0xfa000000, // s_load_dword s6, s[4:5], 0x0
      0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
  };
  const std::vector<uint32_t> store{
      0x7e020206,             // v_mov_b32_e32 v1, s6
      0x7e040280,             // v_mov_b32_e32 v2, 0
      0xdc708000, 0x00040102, // global_store_dword v2, v1, s[4:5]
      0xbf810000,             // s_endpgm
  };
  for (const bool loads : {false, true}) {
    std::vector<uint32_t> words = arguments;
    if (loads) words.insert(words.end(), word.begin(), word.end());
    words.insert(words.end(), store.begin(), store.end());
    const std::string text = translated(words);
    EXPECT_NE(text.find("store.global"), std::string::npos) << text;
    EXPECT_EQ(text.find("wave_fence") != std::string::npos, loads) << text;
  }
}

TEST(Translate, LoopsHavePhisForWhatTheyChange) {
  const uint32_t words[] = {
      0xf4040100, 0xfa000000, //   s_load_dwordx2 s[4:5], s[0:1], 0x0
      0x7e020280,             //   v_mov_b32_e32 v1, 0
      0xbe860380,             //   s_mov_b32 s6, 0
      0xbf8cc07f,             //   s_waitcnt lgkmcnt(0)
      0x4a020101,             // 1: v_add_nc_u32_e32 v1, v1, v0
      0x81068106,             //   s_add_i32 s6, s6, 1
      0xbf0a8a06,             //   s_cmp_lt_u32 s6, 10
      0xbf85fffc,             //   s_cbranch_scc1 1b
      0x34040082,             //   v_lshlrev_b32_e32 v2, 2, v0
      0xdc708000, 0x00040102, //   global_store_dword v2, v1, s[4:5]
      0xbf810000,             //   s_endpgm
  };
  EXPECT_EQ(translated(words), R"(
b0:
  %1 = u1 input.initial_exec
  %2 = uniform i64 input.kernarg_ptr
  %3 = i32 input.local_id_x
  %4 = uniform i32x2 load.global.4.invariant %2, u1 true
  %5 = uniform i32 extract.0 %4
  %6 = uniform i32 extract.1 %4
  br b1
b1: from b0, b1
  %7 = i32 phi i32 0, %9
  %8 = uniform i32 phi i32 0, %10
  %9 = i32 add %7, %3
  %10 = uniform i32 add %8, i32 1
  %11 = uniform u1 ult %10, i32 10
  cond_br %11, b1, b2
b2: from b1
  %12 = i32 shl %3, i32 2
  %13 = uniform i64 pack64 %5, %6
  %14 = i64 zext %12
  %15 = i64 add %13, %14
  store.global.4 %15, %1, %9
  ret
)");
}

TEST(Translate, CarryChainsAreOneAddition) {
  const uint32_t words[] = {
      0xf4080100, 0xfa000000, // s_load_dwordx4 s[4:7], s[0:1], 0x0
      0x34020082,             // v_lshlrev_b32_e32 v1, 2, v0
      0x7e040280,             // v_mov_b32_e32 v2, 0
      0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
      0xd70f6a01, 0x00020204, // v_add_co_u32 v1, vcc_lo, s4, v1
      0x50040480,             // v_add_co_ci_u32_e32 v2, vcc_lo, 0, v2, vcc_lo
      0xdc308000, 0x037d0001, // global_load_dword v3, v[1:2], off
      0x8006c006,             // s_add_u32 s6, s6, 64
      0x82078007,             // s_addc_u32 s7, s7, 0
      0x34020082,             // v_lshlrev_b32_e32 v1, 2, v0
      0xdc708000, 0x00060301, // global_store_dword v1, v3, s[6:7]
      0xbf810000,             // s_endpgm
  };
  EXPECT_EQ(translated(words), R"(
b0:
  %1 = u1 input.initial_exec
  %2 = uniform i64 input.kernarg_ptr
  %3 = i32 input.local_id_x
  %4 = uniform i32x4 load.global.4.invariant %2, u1 true
  %5 = uniform i32 extract.0 %4
  %6 = uniform i32 extract.2 %4
  %7 = uniform i32 extract.3 %4
  %8 = i32 shl %3, i32 2
  %9 = i64 zext %8
  %10 = uniform i64 zext %5
  %11 = i64 add %9, %10
  %12 = i32 load.global.4 %11, %1
  %13 = uniform i64 pack64 %6, %7
  %14 = uniform i64 add %13, i64 64
  %15 = i64 add %9, %14
  wave_fence
  store.global.4 %15, %1, %12
  ret
)");
}

TEST(Translate, CallsAreInlined) {
  const uint32_t words[] = {
      0xf4040100, 0xfa000000, // s_load_dwordx2 s[4:5], s[0:1], 0x0
      0xbe881f00,             // s_getpc_b64 s[8:9]
      0x8008a008,             // s_add_u32 s8, s8, 32
      0x82098009,             // s_addc_u32 s9, s9, 0
      0xbe9e2108,             // s_swappc_b64 s[30:31], s[8:9]
      0x34040082,             // v_lshlrev_b32_e32 v2, 2, v0
      0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
      0xdc708000, 0x00040102, // global_store_dword v2, v1, s[4:5]
      0xbf810000,             // s_endpgm
      0xd5690001, 0x00020100, // v_mul_lo_u32 v1, v0, v0
      0xbe80201e,             // s_setpc_b64 s[30:31]
  };
  EXPECT_EQ(translated(words), R"(
b0:
  %1 = u1 input.initial_exec
  %2 = uniform i64 input.kernarg_ptr
  %3 = i32 input.local_id_x
  %4 = uniform i32x2 load.global.4.invariant %2, u1 true
  %5 = uniform i32 extract.0 %4
  %6 = uniform i32 extract.1 %4
  %7 = i32 mul %3, %3
  %8 = i32 shl %3, i32 2
  %9 = uniform i64 pack64 %5, %6
  %10 = i64 zext %8
  %11 = i64 add %9, %10
  store.global.4 %11, %1, %7
  ret
)");
}

TEST(Translate, ReturnsThatCannotBeProvedAreChecked) {
  const uint32_t words[] = {
      0xf4040100, 0xfa000000, // s_load_dwordx2 s[4:5], s[0:1], 0x0
      0xbe881f00,             // s_getpc_b64 s[8:9]
      0x80089008,             // s_add_u32 s8, s8, 16
      0x82098009,             // s_addc_u32 s9, s9, 0
      0xbe9e2108,             // s_swappc_b64 s[30:31], s[8:9]
      0xbf810000,             // s_endpgm
      0xf4040782, 0xfa000000, // s_load_dwordx2 s[30:31], s[4:5], 0x0
      0x891e801e,             // s_xor_b32 s30, s30, 0: no longer a pointer of the host
      0xbe80201e,             // s_setpc_b64 s[30:31]
  };
  EXPECT_EQ(translated(words), R"(
b0:
  %1 = uniform i64 input.kernarg_ptr
  %2 = uniform i64 input.image_base
  %3 = uniform i32x2 load.global.4.invariant %1, u1 true
  %4 = uniform i32 extract.0 %3
  %5 = uniform i32 extract.1 %3
  %6 = uniform i64 pack64 %4, %5
  %7 = uniform i64 and %6, i64 -4
  %8 = uniform i32x2 load.global.4.invariant %7, u1 true
  %9 = uniform i32 extract.0 %8
  %10 = uniform i32 extract.1 %8
  %11 = uniform i64 pack64 %9, %10
  %12 = uniform i64 add %2, i64 4120
  %13 = uniform u1 eq %11, %12
  cond_br %13, b1, b2
b1: from b0
  ret
b2: from b0
  trap.bad_return
)");
}

struct Refused {
  std::vector<uint32_t> words;
  const char* why;
};

TEST(Translate, Refusals) {
  const Refused table[] = {
      // s_mov_b32 s2, 0: no end
      {{0xbe820380}, "kernel test, pc 0x1004: the program runs past its end"},
      // s_branch backwards out of the program
      {{0xbf82fff0}, "kernel test, pc 0xfc4: jump out of the program"},
      // s_cbranch_scc0 into the literal of v_mov_b32_e32 v0, 0x12345678
      {{0xbf840001, 0x7e0002ff, 0x12345678, 0xbf810000},
       "kernel test, pc 0x1008: jump into the middle of an instruction"},
      // a word that is no instruction
      {{0xffffffff}, "kernel test, pc 0x1000: word 0xffffffff is no gfx1030 instruction (no such format)"},
      {{0xbe802004},
       "kernel test, pc 0x1000: s_setpc_b64 s[4:5]: the target of this call or jump depends on data "
       "(s4 holds nothing that the host passes)"},
      {{0xf0000100, 0x00000001, 0xbf810000},
       "kernel test, pc 0x1000: image_load v0, v1, s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_1D: instruction is not "
       "supported"},
      // s_getpc_b64 s[8:9]; s_swappc_b64 s[30:31], s[8:9]: the callee is the call itself
      {{0xbe881f00, 0xbe9e2108, 0xbf810000},
       "kernel test, pc 0x1004: s_swappc_b64 s[30:31], s[8:9]: recursive call of the function at 0x1004 "
       "(calls are "
       "inlined, so recursion cannot be translated)"},
      // s_cbranch_scc0 over s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3, then v_add_f32_e32 v0, v0, v0
      {{0xbf840002, 0xba800801, 0x00000003, 0x06000100, 0xbf810000},
       "kernel test, pc 0x100c: v_add_f32_e32 v0, v0, v0: floating-point mode depends on the path taken to "
       "here"},
  };
  for (const auto& [words, why] : table) EXPECT_EQ(refusal(words), why);
}

TEST(Translate, EndlessLoopIsNoError) {
  const uint32_t words[] = {0xbf82ffff}; // s_branch to itself
  EXPECT_EQ(translated(words), R"(
b0:
  br b1
b1: from b0, b1
  br b1
)");
}

} // namespace
} // namespace lanewise::translate
