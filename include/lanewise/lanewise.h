/* Lanewise's C ABI: load RDNA2 programs, recompile them to SPIR-V, register shaders and bind their dispatches.
 *
 * Objects are opaque and reference counted by their *_free functions only: whoever gets one frees it once, NULL is
 * allowed. Functions that can fail return an lw_status and, where `error` is not NULL, an lw_error that says what
 * went wrong, where, and what can be done; it is to be freed. No exception crosses this interface, nothing aborts,
 * and all functions may be called from several threads at once, on the same objects too, except that an object must
 * not be freed while another call uses it. Strings are UTF-8, ended by 0, and live as long as the object that they came
 * from. examples/c/dispatch.c is a complete program. */
#ifndef LANEWISE_LANEWISE_H
#define LANEWISE_LANEWISE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LW_API __attribute__((visibility("default")))
#else
#define LW_API
#endif

/* Whose fault a failure is. */
typedef enum lw_status {
  LW_OK = 0,
  LW_INPUT = 1,       /* the file or program is malformed */
  LW_CALL = 2,        /* the caller's arguments are wrong */
  LW_UNSUPPORTED = 3, /* correct input that Lanewise cannot handle yet */
  LW_LIMIT = 4,       /* a named limit was exceeded */
  LW_CHECK = 5,       /* a module did not validate */
  LW_SYSTEM = 6       /* the operating system refused, or memory ran out */
} lw_status;

typedef struct lw_error lw_error;
typedef struct lw_program lw_program;
typedef struct lw_library lw_library;
typedef struct lw_shader lw_shader;
typedef struct lw_binding lw_binding;

/* "0.1.0" */
LW_API const char* lw_version(void);

/* ---- errors ---- */

LW_API lw_status lw_error_status(const lw_error* error);
/* "WHERE: WHAT (HINT)" */
LW_API const char* lw_error_message(const lw_error* error);
LW_API void lw_error_free(lw_error* error);

/* ---- programs ---- */

/* A code object, offload bundle, or raw description (docs/containers.md). The bytes are copied. */
LW_API lw_status lw_program_load(const void* bytes, size_t size, lw_program** program, lw_error** error);
/* Machine code with a description in JSON ("lanewise-raw-1" without "words"). */
LW_API lw_status lw_program_load_raw(const char* description, size_t description_size, const void* code,
                                     size_t code_size, lw_program** program, lw_error** error);
LW_API void lw_program_free(lw_program* program);
LW_API size_t lw_program_kernel_count(const lw_program* program);
/* NULL past the last one. */
LW_API const char* lw_program_kernel_name(const lw_program* program, size_t index);

/* ---- the guest's memory ---- */

/* Called from any thread. See lanewise/guest_memory.hpp for what each has to promise. */
typedef struct lw_memory {
  void* user;
  /* The mapping that holds an address; 0 if it is unmapped, else 1. */
  int (*extent)(void* user, uint64_t address, uint64_t* mapping_address, uint64_t* mapping_size);
  /* 0 if a byte is unmapped, else 1. */
  int (*read)(void* user, uint64_t address, void* out, size_t size);
  /* Differs from all earlier numbers once a byte of the range was written; 0: not known. */
  uint64_t (*write_version)(void* user, uint64_t address, uint64_t size);
} lw_memory;

/* ---- libraries of shaders ---- */

/* Zeros are good defaults. */
typedef struct lw_library_options {
  uint32_t subgroup_size;   /* invocations of a subgroup on the device; 0: 32 */
  int validate;             /* run the SPIR-V validator on every module */
  const char* cache_folder; /* NULL: no disk cache */
  uint64_t cache_bytes;     /* 0: 256 MiB */
  uint32_t threads;         /* that compile; 0: as many as cores */
  uint64_t memory_bytes;    /* of modules and callees kept in memory; 0: 512 MiB */
  /* Registrations and dispatches that fail go there as capsules (docs/capsules.md); NULL: nowhere. */
  const char* record_folder;
  int record_all;           /* those that succeed too */
} lw_library_options;

/* `options` may be NULL. */
LW_API lw_status lw_library_create(const lw_library_options* options, lw_library** library, lw_error** error);
LW_API void lw_library_free(lw_library* library);

typedef struct lw_shader_options {
  uint32_t workgroup[3];      /* work-items; zeros: the required one, else 64 x 1 x 1 */
  uint32_t dynamic_lds_bytes;
  int full_workgroups;        /* promised: every dispatch is a multiple of the workgroup */
  uint64_t guest_address;     /* of virtual address 0 of the image; 0: overwritten code is not noticed */
} lw_shader_options;

/* Prepares a kernel; no dispatch needs to be known. `options` may be NULL. */
LW_API lw_status lw_shader_add(lw_library* library, const lw_program* program, const char* kernel,
                               const lw_shader_options* options, lw_shader** shader, lw_error** error);
LW_API void lw_shader_free(lw_shader* shader);

/* Calls whose targets a dispatch supplies. */
typedef struct lw_slot {
  uint32_t pc;
  uint32_t targets;       /* addresses that it may lead to in one dispatch */
  int compared;           /* the wave compares its target with them */
  const char* provenance; /* lives as long as the shader */
} lw_slot;
LW_API size_t lw_shader_slot_count(const lw_shader* shader);
/* LW_CALL past the last one. */
LW_API lw_status lw_shader_slot(const lw_shader* shader, size_t index, lw_slot* slot);

typedef struct lw_invocation {
  const void* arguments; /* the kernel's arguments; user data stands at their start */
  size_t arguments_size;
  uint64_t arguments_address;
  uint64_t image_base; /* guest address of virtual address 0 of the program's image */
} lw_invocation;

/* Finds or makes the module of a dispatch. `memory` is told apart from others by its `user` pointer: call
 * lw_library_forget_memory before that goes away. */
LW_API lw_status lw_bind(lw_library* library, const lw_shader* shader, const lw_memory* memory,
                         const lw_invocation* invocation, lw_binding** binding, lw_error** error);
LW_API void lw_binding_free(lw_binding* binding);
/* 1 if the code that the binding was made for is unchanged, else 0. */
LW_API int lw_binding_is_current(lw_library* library, const lw_binding* binding);

/* Writes a dispatch of `grid` work-items, with all memory that it touches, as a capsule that can be run elsewhere into
 * the record folder. To learn which memory belongs to it, the dispatch runs on an interpreter, in a copy of the guest's
 * memory. The file's name is written to `file`, if that is not NULL, and is cut to `file_size` bytes with the 0. */
LW_API lw_status lw_record(lw_library* library, const lw_shader* shader, const lw_memory* memory,
                           const lw_invocation* invocation, const uint32_t grid[3], char* file,
                           size_t file_size, lw_error** error);

LW_API void lw_library_forget_memory(lw_library* library, const void* user);

typedef struct lw_module {
  uint64_t id;               /* equal ids of one library are equal modules: keep pipelines by it */
  const uint32_t* words;     /* SPIR-V; lives as long as the binding */
  size_t word_count;
  uint32_t local_size[3];
  uint32_t required_subgroup_size; /* in full subgroups; 0: any */
  uint32_t lds_bytes;
  const void* callee_table; /* goes behind the 64 bytes of the dispatch packet */
  size_t callee_table_size;
  /* Not 0: a workgroup that the grid cuts to n work-items must be dispatched with a local size of
   * ceil(n / wave_items) * wave_invocations, by specialization constant 0 (docs/abi.md, "Cut workgroups"). */
  uint32_t wave_items, wave_invocations;
} lw_module;
LW_API void lw_binding_module(const lw_binding* binding, lw_module* module);

#ifdef __cplusplus
}
#endif

#endif
