// A kernel that reaches a preemptible object through the global offset table, as code for `extern` data does.
.amdgcn_target "amdgcn-amd-amdhsa--gfx1030"
.text
.globl through_got
.p2align 8
.type through_got,@function
through_got:
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, table@gotpcrel32@lo+4
  s_addc_u32 s5, s5, table@gotpcrel32@hi+12
  s_load_dwordx2 s[4:5], s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dword s6, s[4:5], 0x4
  s_endpgm
.Lend:
.size through_got, .Lend-through_got
.section .data.rel.ro,"aw",@progbits
.globl table
.p2align 3
.type table,@object
table:
  .long 1, 2, 3, 4
  .quad table + 8
.size table, 24
.rodata
.p2align 6
.amdhsa_kernel through_got
  .amdhsa_next_free_vgpr 1
  .amdhsa_next_free_sgpr 8
  .amdhsa_wavefront_size32 1
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
.end_amdhsa_kernel
