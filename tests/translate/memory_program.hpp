// The program around a memory instruction: LDS, scratch and registers are filled from the input buffer before
// it, and written to the output buffer after it.
//
//   input   128 bytes an item: v[2:17], v[32:47]; behind them, at 0x2000: s[8:15] and, at 0x2040, s[24:27]
//   LDS     128 bytes an item; scratch 256 bytes an item, of which 192 are shown
//   output  512 bytes an item: v[14:17], s[32:47], 48 unused bytes, its 128 bytes of LDS, 192 of scratch
//
// s[24:25] become EXEC, s26 M0. v[2:3] hold addresses, v[4:7] and v[8:11] data, v[14:17] the result.
#pragma once

#include <cstdint>

namespace lanewise::translate::memory_program {

inline constexpr uint32_t prologue[] = {
    0xf4080100, 0xfa000000, // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
    0xf40c0202, 0xfa002000, // s_load_dwordx8 s[8:15], s[4:5], 0x2000
    0xf4080602, 0xfa002040, // s_load_dwordx4 s[24:27], s[4:5], 0x2040
    0x8f038602,             // s_lshl_b32 s3, s2, 6
    0x4a300003,             // v_add_nc_u32_e32 v24, s3, v0
    0x34323087,             // v_lshlrev_b32_e32 v25, 7, v24
    0x34343089,             // v_lshlrev_b32_e32 v26, 9, v24
    0x34360087,             // v_lshlrev_b32_e32 v27, 7, v0
    0xdc388000, 0x02040019, // global_load_dwordx4 v[2:5], v25, s[4:5]
    0xdc388010, 0x06040019, // global_load_dwordx4 v[6:9], v25, s[4:5] offset:16
    0xdc388020, 0x0a040019, // global_load_dwordx4 v[10:13], v25, s[4:5] offset:32
    0xdc388030, 0x0e040019, // global_load_dwordx4 v[14:17], v25, s[4:5] offset:48
    0xdc388040, 0x20040019, // global_load_dwordx4 v[32:35], v25, s[4:5] offset:64
    0xdc388050, 0x24040019, // global_load_dwordx4 v[36:39], v25, s[4:5] offset:80
    0xdc388060, 0x28040019, // global_load_dwordx4 v[40:43], v25, s[4:5] offset:96
    0xdc388070, 0x2c040019, // global_load_dwordx4 v[44:47], v25, s[4:5] offset:112
    0xbf8c0070,             // s_waitcnt vmcnt(0) lgkmcnt(0)
    0xdb7c0000, 0x0000201b, // ds_write_b128 v27, v[32:35]
    0xdb7c0010, 0x0000241b, // ds_write_b128 v27, v[36:39] offset:16
    0xdb7c0020, 0x0000281b, // ds_write_b128 v27, v[40:43] offset:32
    0xdb7c0030, 0x00002c1b, // ds_write_b128 v27, v[44:47] offset:48
    0xdb7c0040, 0x0000041b, // ds_write_b128 v27, v[4:7] offset:64
    0xdb7c0050, 0x0000081b, // ds_write_b128 v27, v[8:11] offset:80
    0xdb7c0060, 0x00000e1b, // ds_write_b128 v27, v[14:17] offset:96
    0xdb7c0070, 0x0000241b, // ds_write_b128 v27, v[36:39] offset:112
    0xdc784000, 0x007f2000, // scratch_store_dwordx4 off, v[32:35], off
    0xdc784010, 0x007f2400, // scratch_store_dwordx4 off, v[36:39], off offset:16
    0xdc784020, 0x007f2800, // scratch_store_dwordx4 off, v[40:43], off offset:32
    0xdc784030, 0x007f2c00, // scratch_store_dwordx4 off, v[44:47], off offset:48
    0xdc784040, 0x007f0e00, // scratch_store_dwordx4 off, v[14:17], off offset:64
    0xdc784070, 0x007f2000, // scratch_store_dwordx4 off, v[32:35], off offset:112
    0xdc7840a0, 0x007f0400, // scratch_store_dwordx4 off, v[4:7], off offset:160
    0xbf8c0070,             // s_waitcnt vmcnt(0) lgkmcnt(0)
    0xbefc031a,             // s_mov_b32 m0, s26
};
inline constexpr uint32_t epilogue[] = {
    0xbf8c0070,             // s_waitcnt vmcnt(0) lgkmcnt(0)
    0xbefe03c1,             // s_mov_b32 exec_lo, -1
    0xbeff03c1,             // s_mov_b32 exec_hi, -1
    0xdc788000, 0x00060e1a, // global_store_dwordx4 v26, v[14:17], s[6:7]
    0x7e040220,             // v_mov_b32_e32 v2, s32
    0x7e060221,             // v_mov_b32_e32 v3, s33
    0x7e080222,             // v_mov_b32_e32 v4, s34
    0x7e0a0223,             // v_mov_b32_e32 v5, s35
    0xdc788010, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:16
    0x7e040224,             // v_mov_b32_e32 v2, s36
    0x7e060225,             // v_mov_b32_e32 v3, s37
    0x7e080226,             // v_mov_b32_e32 v4, s38
    0x7e0a0227,             // v_mov_b32_e32 v5, s39
    0xdc788020, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:32
    0x7e040228,             // v_mov_b32_e32 v2, s40
    0x7e060229,             // v_mov_b32_e32 v3, s41
    0x7e08022a,             // v_mov_b32_e32 v4, s42
    0x7e0a022b,             // v_mov_b32_e32 v5, s43
    0xdc788030, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:48
    0x7e04022c,             // v_mov_b32_e32 v2, s44
    0x7e06022d,             // v_mov_b32_e32 v3, s45
    0x7e08022e,             // v_mov_b32_e32 v4, s46
    0x7e0a022f,             // v_mov_b32_e32 v5, s47
    0xdc788040, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:64
    0xdbfc0000, 0x0200001b, // ds_read_b128 v[2:5], v27
    0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
    0xdc788080, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:128
    0xdbfc0010, 0x0200001b, // ds_read_b128 v[2:5], v27 offset:16
    0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
    0xdc788090, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:144
    0xdbfc0020, 0x0200001b, // ds_read_b128 v[2:5], v27 offset:32
    0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
    0xdc7880a0, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:160
    0xdbfc0030, 0x0200001b, // ds_read_b128 v[2:5], v27 offset:48
    0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
    0xdc7880b0, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:176
    0xdbfc0040, 0x0200001b, // ds_read_b128 v[2:5], v27 offset:64
    0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
    0xdc7880c0, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:192
    0xdbfc0050, 0x0200001b, // ds_read_b128 v[2:5], v27 offset:80
    0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
    0xdc7880d0, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:208
    0xdbfc0060, 0x0200001b, // ds_read_b128 v[2:5], v27 offset:96
    0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
    0xdc7880e0, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:224
    0xdbfc0070, 0x0200001b, // ds_read_b128 v[2:5], v27 offset:112
    0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
    0xdc7880f0, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:240
    0xdc384000, 0x027f0000, // scratch_load_dwordx4 v[2:5], off, off
    0xbf8c3f70,             // s_waitcnt vmcnt(0)
    0xdc788100, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:256
    0xdc384010, 0x027f0000, // scratch_load_dwordx4 v[2:5], off, off offset:16
    0xbf8c3f70,             // s_waitcnt vmcnt(0)
    0xdc788110, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:272
    0xdc384020, 0x027f0000, // scratch_load_dwordx4 v[2:5], off, off offset:32
    0xbf8c3f70,             // s_waitcnt vmcnt(0)
    0xdc788120, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:288
    0xdc384030, 0x027f0000, // scratch_load_dwordx4 v[2:5], off, off offset:48
    0xbf8c3f70,             // s_waitcnt vmcnt(0)
    0xdc788130, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:304
    0xdc384040, 0x027f0000, // scratch_load_dwordx4 v[2:5], off, off offset:64
    0xbf8c3f70,             // s_waitcnt vmcnt(0)
    0xdc788140, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:320
    0xdc384050, 0x027f0000, // scratch_load_dwordx4 v[2:5], off, off offset:80
    0xbf8c3f70,             // s_waitcnt vmcnt(0)
    0xdc788150, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:336
    0xdc384060, 0x027f0000, // scratch_load_dwordx4 v[2:5], off, off offset:96
    0xbf8c3f70,             // s_waitcnt vmcnt(0)
    0xdc788160, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:352
    0xdc384070, 0x027f0000, // scratch_load_dwordx4 v[2:5], off, off offset:112
    0xbf8c3f70,             // s_waitcnt vmcnt(0)
    0xdc788170, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:368
    0xdc384080, 0x027f0000, // scratch_load_dwordx4 v[2:5], off, off offset:128
    0xbf8c3f70,             // s_waitcnt vmcnt(0)
    0xdc788180, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:384
    0xdc384090, 0x027f0000, // scratch_load_dwordx4 v[2:5], off, off offset:144
    0xbf8c3f70,             // s_waitcnt vmcnt(0)
    0xdc788190, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:400
    0xdc3840a0, 0x027f0000, // scratch_load_dwordx4 v[2:5], off, off offset:160
    0xbf8c3f70,             // s_waitcnt vmcnt(0)
    0xdc7881a0, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:416
    0xdc3840b0, 0x027f0000, // scratch_load_dwordx4 v[2:5], off, off offset:176
    0xbf8c3f70,             // s_waitcnt vmcnt(0)
    0xdc7881b0, 0x0006021a, // global_store_dwordx4 v26, v[2:5], s[6:7] offset:432
    0xbf810000,             // s_endpgm
};
/// In the prologue, for wave64: s_lshl_b32 s3, s2, 6; and for wave32: s_lshl_b32 s3, s2, 5.
inline constexpr uint32_t group_shift64 = 0x8f038602, group_shift32 = 0x8f038502;
inline constexpr uint32_t set_exec32 = 0xbefe0318; // s_mov_b32 exec_lo, s24
inline constexpr uint32_t set_exec64 = 0xbefe0418; // s_mov_b64 exec, s[24:25]
inline constexpr uint32_t set_s8 = 0xbe8803ff; // s_mov_b32 s8, literal; the next registers follow at 0x10000

} // namespace lanewise::translate::memory_program
