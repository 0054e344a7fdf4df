/* A host program that uses Lanewise's C ABI: registers a shader that calls through a pointer in its user data, then
 * binds dispatches with different pointers. It stops where a Vulkan program would go on: with SPIR-V words, push
 * constants as docs/abi.md has them, and the table that goes behind the dispatch packet. With a folder as its
 * argument it also records a dispatch there, for `lanewise replay FILE --check`.
 *
 *   cc dispatch.c $(pkg-config --cflags --libs lanewise) && ./a.out [FOLDER] */
#include <lanewise/lanewise.h>

#include <stdio.h>
#include <string.h>

/* The shader: v1 = work-item id; call the function at s[2:3]; s[0:1][id] = v1. */
static const uint32_t shader_code[] = {
    0x7e020300,             /* v_mov_b32_e32 v1, v0 */
    0xbe9e2102,             /* s_swappc_b64 s[30:31], s[2:3] */
    0x34040082,             /* v_lshlrev_b32_e32 v2, 2, v0 */
    0xdc708000, 0x00000102, /* global_store_dword v2, v1, s[0:1] */
    0xbf810000,             /* s_endpgm */
};

static const char description[] =
    "{\"format\": \"lanewise-raw-1\", \"kernels\": [{\"name\": \"main\", \"wave\": 32, \"vgprs\": 8, \"user_data\": 4}]}";

/* The guest's memory: one mapping with two functions and the 64 words of output, at guest address 0x100000. */
enum { memory_words = 256, square_at = 128, output_at = 512 };
struct guest {
  uint32_t words[memory_words];
  uint64_t version; /* grows with every write */
};
static const uint64_t guest_address = 0x100000;

static int guest_extent(void* user, uint64_t address, uint64_t* start, uint64_t* size) {
  const struct guest* guest = user;
  if (address < guest_address || address - guest_address >= sizeof guest->words) return 0;
  *start = guest_address;
  *size = sizeof guest->words;
  return 1;
}

static int guest_read(void* user, uint64_t address, void* out, size_t size) {
  const struct guest* guest = user;
  if (address < guest_address || address - guest_address > sizeof guest->words ||
      sizeof guest->words - (address - guest_address) < size)
    return 0;
  memcpy(out, (const char*)guest->words + (address - guest_address), size);
  return 1;
}

static uint64_t guest_write_version(void* user, uint64_t address, uint64_t size) {
  (void)address, (void)size;
  return ((const struct guest*)user)->version;
}

static void guest_write(struct guest* guest, uint64_t offset, const uint32_t* words, size_t count) {
  memcpy(&guest->words[offset / 4], words, 4 * count);
  ++guest->version;
}

static int failed(const char* what, lw_error* error) {
  fprintf(stderr, "%s: %s\n", what, lw_error_message(error));
  lw_error_free(error);
  return 1;
}

/* Binds a dispatch whose user data is the output's address and the function's; the module's id, 0 if it fails. */
static uint64_t bind(lw_library* library, const lw_shader* shader, const lw_memory* memory, uint64_t function) {
  const uint64_t user_data[2] = {guest_address + output_at, function};
  const lw_invocation invocation = {user_data, sizeof user_data, 0x300000, 0};
  lw_binding* binding = NULL;
  lw_error* error = NULL;
  if (lw_bind(library, shader, memory, &invocation, &binding, &error) != LW_OK) {
    failed("bind", error);
    return 0;
  }
  lw_module module;
  lw_binding_module(binding, &module);
  printf("function 0x%llx: module %llu, %zu words, local size %u, callee table of %zu bytes\n",
         (unsigned long long)function, (unsigned long long)module.id, module.word_count, module.local_size[0],
         module.callee_table_size);
  /* A Vulkan program keeps its pipelines by module.id, and makes one from module.words if this id is new. */
  const uint64_t id = module.words[0] == 0x07230203 && lw_binding_is_current(library, binding) ? module.id : 0;
  lw_binding_free(binding);
  return id;
}

/* Records a dispatch of 64 work-items with all memory that it touches; 0 if it fails. */
static int record(lw_library* library, const lw_shader* shader, const lw_memory* memory, uint64_t function) {
  const uint64_t user_data[2] = {guest_address + output_at, function};
  const lw_invocation invocation = {user_data, sizeof user_data, 0x300000, 0};
  const uint32_t grid[3] = {64, 1, 1};
  char file[256];
  lw_error* error = NULL;
  if (lw_record(library, shader, memory, &invocation, grid, file, sizeof file, &error) != LW_OK)
    return !failed("record", error);
  printf("recorded: %s\n", file);
  return 1;
}

int main(int argc, char** argv) {
  static const uint32_t twice[] = {0x34020281, 0xbe80201e};              /* v1 = v1 << 1; s_setpc_b64 s[30:31] */
  static const uint32_t square[] = {0xd5690001, 0x00020301, 0xbe80201e}; /* v1 = v1 * v1; s_setpc_b64 s[30:31] */
  static struct guest guest;
  const lw_memory memory = {&guest, guest_extent, guest_read, guest_write_version};
  lw_error* error = NULL;

  guest_write(&guest, 0, twice, 2);
  guest_write(&guest, square_at, square, 3);

  lw_program* program = NULL;
  if (lw_program_load_raw(description, strlen(description), shader_code, sizeof shader_code, &program, &error) != LW_OK)
    return failed("load", error);
  lw_library* library = NULL;
  const lw_library_options options = {.validate = 1, .record_folder = argc > 1 ? argv[1] : NULL};
  if (lw_library_create(&options, &library, &error) != LW_OK) return failed("create", error);
  lw_shader* shader = NULL;
  if (lw_shader_add(library, program, "main", NULL, &shader, &error) != LW_OK) return failed("add", error);
  lw_program_free(program); /* the library has its own copy */

  lw_slot slot;
  for (size_t i = 0; lw_shader_slot(shader, i, &slot) == LW_OK; ++i)
    printf("call at pc 0x%x: target is %s\n", slot.pc, slot.provenance);

  const uint64_t first = bind(library, shader, &memory, guest_address);
  const uint64_t second = bind(library, shader, &memory, guest_address + square_at);
  const uint64_t again = bind(library, shader, &memory, guest_address); /* known: a look-up */
  guest_write(&guest, 0, square, 3);                                    /* the guest changes its code */
  const uint64_t changed = bind(library, shader, &memory, guest_address);

  if (argc > 1 && !record(library, shader, &memory, guest_address + square_at)) return 1;

  /* A pointer that leads nowhere is an error with the reason. */
  const uint64_t bad[2] = {guest_address + output_at, 0xdead0000};
  const lw_invocation invocation = {bad, sizeof bad, 0x300000, 0};
  lw_binding* none = NULL;
  const lw_status refused = lw_bind(library, shader, &memory, &invocation, &none, &error);
  printf("refused: %s\n", lw_error_message(error));
  lw_error_free(error);

  lw_library_forget_memory(library, &guest);
  lw_shader_free(shader);
  lw_library_free(library);
  /* The second module holds both functions, so the third bind needs no new one, and neither does the fourth. */
  return first && second && first != second && again == second && changed == second && refused == LW_INPUT ? 0 : 1;
}
