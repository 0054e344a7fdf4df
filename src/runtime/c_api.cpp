// The C ABI on top of the public C++ API. Every function catches what the standard library may throw.
#include "lanewise/lanewise.h"

#include "lanewise/library.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>

using lanewise::Error;
using lanewise::ErrorKind;
using lanewise::Expected;

struct lw_error {
  lw_status status;
  std::string message;
};

struct lw_program {
  lanewise::Program program;
  std::vector<lanewise::KernelInfo> kernels;
};

namespace {

/// The host's callbacks as GuestMemory.
class CallbackMemory final : public lanewise::GuestMemory {
 public:
  explicit CallbackMemory(const lw_memory& memory) : memory_(memory) {}
  std::optional<Extent> extent(uint64_t address) const override {
    Extent e;
    if (!memory_.extent(memory_.user, address, &e.address, &e.size)) return {};
    // A mapping that does not hold the address would let us read beside it.
    if (address < e.address || address - e.address >= e.size) return {};
    return e;
  }
  bool read(uint64_t address, std::span<uint8_t> out) const override {
    return memory_.read(memory_.user, address, out.data(), out.size()) != 0;
  }
  uint64_t write_version(uint64_t address, uint64_t size) const override {
    return memory_.write_version(memory_.user, address, size);
  }

 private:
  lw_memory memory_;
};

} // namespace

struct lw_library {
  lanewise::ShaderLibrary library;
  std::mutex lock{};
  std::map<const void*, std::shared_ptr<const CallbackMemory>> memories{};
};

struct lw_shader {
  lanewise::Shader shader;
  std::vector<lanewise::CallSlotInfo> slots;
};

struct lw_binding {
  lanewise::Binding binding;
  std::shared_ptr<const CallbackMemory> memory;
};

namespace {

constexpr lw_status status_of(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::input: return LW_INPUT;
  case ErrorKind::call: return LW_CALL;
  case ErrorKind::unsupported: return LW_UNSUPPORTED;
  case ErrorKind::limit: return LW_LIMIT;
  case ErrorKind::check: return LW_CHECK;
  case ErrorKind::system: return LW_SYSTEM;
  }
  return LW_SYSTEM;
}

lw_status report(const Error& e, lw_error** error) {
  const lw_status status = status_of(e.kind);
  if (error) *error = new (std::nothrow) lw_error{status, e.to_string()};
  return status;
}

/// Runs `body`, which returns Expected<void>.
template <class Body>
lw_status guarded(lw_error** error, Body body) noexcept {
  if (error) *error = nullptr;
  try {
    Expected<void> done = body();
    return done ? LW_OK : report(done.error(), error);
  } catch (const std::exception& e) {
    try {
      return report({ErrorKind::system, e.what(), {}, {}}, error);
    } catch (...) {
      return LW_SYSTEM;
    }
  } catch (...) {
    return LW_SYSTEM;
  }
}

std::unexpected<Error> null_argument() { return lanewise::fail(ErrorKind::call, "an argument is NULL"); }

Expected<void> finish(Expected<lanewise::Program> loaded, lw_program** out) {
  if (!loaded) return std::unexpected(std::move(loaded.error()));
  auto kernels = loaded->kernels();
  *out = new lw_program{std::move(*loaded), std::move(kernels)};
  return {};
}

std::span<const uint8_t> bytes_of(const void* bytes, size_t size) {
  return {static_cast<const uint8_t*>(bytes), bytes ? size : 0};
}

lanewise::LibraryOptions options_of(const lw_library_options* o) {
  lanewise::LibraryOptions options;
  if (!o) return options;
  if (o->subgroup_size) options.subgroup_size = o->subgroup_size;
  options.validate = o->validate != 0;
  if (o->cache_folder) options.cache_folder = o->cache_folder;
  if (o->cache_bytes) options.cache_bytes = o->cache_bytes;
  if (o->memory_bytes) options.memory_bytes = o->memory_bytes;
  options.threads = o->threads;
  if (o->record_folder) options.record_folder = o->record_folder;
  options.record_all = o->record_all != 0;
  return options;
}

lanewise::Invocation invocation_of(const lw_invocation& i) {
  return {bytes_of(i.arguments, i.arguments_size), i.arguments_address, i.image_base};
}

bool is_complete(const lw_memory& memory) { return memory.extent && memory.read && memory.write_version; }

std::shared_ptr<const CallbackMemory> memory_of(lw_library& library, const lw_memory& memory) {
  const std::lock_guard guard(library.lock);
  auto& known = library.memories[memory.user];
  if (!known) known = std::make_shared<const CallbackMemory>(memory);
  return known;
}

} // namespace

extern "C" {

const char* lw_version(void) { return lanewise::version().data(); }

lw_status lw_error_status(const lw_error* error) { return error ? error->status : LW_OK; }
const char* lw_error_message(const lw_error* error) { return error ? error->message.c_str() : ""; }
void lw_error_free(lw_error* error) { delete error; }

lw_status lw_program_load(const void* bytes, size_t size, lw_program** program, lw_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (!bytes || !program) return null_argument();
    *program = nullptr;
    return finish(lanewise::Program::load(bytes_of(bytes, size)), program);
  });
}

lw_status lw_program_load_raw(const char* description, size_t description_size, const void* code,
                              size_t code_size, lw_program** program, lw_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (!description || !code || !program) return null_argument();
    *program = nullptr;
    return finish(lanewise::Program::load_raw({description, description_size}, bytes_of(code, code_size)),
                  program);
  });
}

void lw_program_free(lw_program* program) { delete program; }
size_t lw_program_kernel_count(const lw_program* program) { return program ? program->kernels.size() : 0; }
const char* lw_program_kernel_name(const lw_program* program, size_t index) {
  return program && index < program->kernels.size() ? program->kernels[index].name.c_str() : nullptr;
}

lw_status lw_library_create(const lw_library_options* options, lw_library** library, lw_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (!library) return null_argument();
    *library = nullptr;
    auto made = lanewise::ShaderLibrary::create(options_of(options));
    if (!made) return std::unexpected(std::move(made.error()));
    *library = new lw_library{std::move(*made)};
    return {};
  });
}

void lw_library_free(lw_library* library) { delete library; }

void lw_library_forget_memory(lw_library* library, const void* user) {
  if (!library) return;
  (void)guarded(nullptr, [&]() -> Expected<void> {
    const std::lock_guard guard(library->lock);
    const auto known = library->memories.find(user);
    if (known == library->memories.end()) return {};
    library->library.forget(*known->second);
    library->memories.erase(known);
    return {};
  });
}

lw_status lw_shader_add(lw_library* library, const lw_program* program, const char* kernel,
                        const lw_shader_options* options, lw_shader** shader, lw_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (!library || !program || !kernel || !shader) return null_argument();
    *shader = nullptr;
    lanewise::ShaderOptions o;
    if (options) {
      std::copy_n(options->workgroup, 3, o.workgroup.begin());
      o.dynamic_lds_bytes = options->dynamic_lds_bytes;
      o.full_workgroups = options->full_workgroups != 0;
      o.guest_address = options->guest_address;
    }
    auto added = library->library.add(program->program, kernel, o);
    if (!added) return std::unexpected(std::move(added.error()));
    auto slots = added->slots();
    *shader = new lw_shader{std::move(*added), std::move(slots)};
    return {};
  });
}

void lw_shader_free(lw_shader* shader) { delete shader; }
size_t lw_shader_slot_count(const lw_shader* shader) { return shader ? shader->slots.size() : 0; }

lw_status lw_shader_slot(const lw_shader* shader, size_t index, lw_slot* slot) {
  if (!shader || !slot || index >= shader->slots.size()) return LW_CALL;
  const lanewise::CallSlotInfo& s = shader->slots[index];
  *slot = {s.pc, s.targets, s.compared, s.provenance.c_str()};
  return LW_OK;
}

lw_status lw_bind(lw_library* library, const lw_shader* shader, const lw_memory* memory,
                  const lw_invocation* invocation, lw_binding** binding, lw_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (!library || !shader || !memory || !invocation || !binding) return null_argument();
    if (!is_complete(*memory)) return null_argument();
    *binding = nullptr;
    auto guest = memory_of(*library, *memory);
    auto bound = library->library.bind(shader->shader, *guest, invocation_of(*invocation));
    if (!bound) return std::unexpected(std::move(bound.error()));
    *binding = new lw_binding{std::move(*bound), std::move(guest)};
    return {};
  });
}

lw_status lw_record(lw_library* library, const lw_shader* shader, const lw_memory* memory,
                    const lw_invocation* invocation, const uint32_t grid[3], char* file, size_t file_size,
                    lw_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (!library || !shader || !memory || !invocation || !grid || !is_complete(*memory))
      return null_argument();
    auto written = library->library.record(shader->shader, CallbackMemory(*memory),
                                           invocation_of(*invocation), {grid[0], grid[1], grid[2]});
    if (!written) return std::unexpected(std::move(written.error()));
    if (file && file_size > 0) file[written->copy(file, file_size - 1)] = 0;
    return {};
  });
}

void lw_binding_free(lw_binding* binding) { delete binding; }

int lw_binding_is_current(lw_library* library, const lw_binding* binding) {
  if (!library || !binding) return 0;
  int current = 0;
  (void)guarded(nullptr, [&]() -> Expected<void> {
    current = library->library.is_current(binding->binding, *binding->memory);
    return {};
  });
  return current;
}

void lw_binding_module(const lw_binding* binding, lw_module* module) {
  if (!module) return;
  *module = {};
  if (!binding) return;
  const auto m = binding->binding.module();
  const auto table = binding->binding.callee_table();
  module->id = binding->binding.id();
  module->words = m.words.data();
  module->word_count = m.words.size();
  std::copy(m.local_size.begin(), m.local_size.end(), module->local_size);
  module->required_subgroup_size = m.required_subgroup_size;
  module->lds_bytes = m.lds_bytes;
  module->callee_table = table.data();
  module->callee_table_size = table.size();
  module->wave_items = m.wave_items;
  module->wave_invocations = m.wave_invocations;
}

} // extern "C"
