// The public C++ API of shader libraries.
#include "lanewise/library.hpp"

#include "runtime/program_contents.hpp"
#include "runtime/shader_library.hpp"

namespace lanewise {

std::vector<CallSlotInfo> Shader::slots() const {
  const runtime::PreparedShader& p = impl_->prepared();
  std::vector<CallSlotInfo> list;
  for (size_t s = 0; s < p.program.slots.size(); ++s) {
    const auto& slot = p.program.slots[s];
    list.push_back({slot.pc, p.targets[s], p.compared[s], p.program.origins.text(slot.target[0])});
  }
  return list;
}

size_t Shader::callee_table_bytes() const { return runtime::callee_table_bytes(impl_->prepared()); }

Binding::Module Binding::module() const {
  const spirv::EmittedModule& m = impl_->linked->module->module;
  return {m.words, m.host_workgroup, m.subgroup_size, m.lds_bytes, m.cut.wave_items, m.cut.wave_invocations};
}
uint64_t Binding::id() const { return impl_->linked->id; }
std::span<const uint8_t> Binding::callee_table() const { return impl_->callee_table; }

ShaderLibrary::ShaderLibrary(std::unique_ptr<runtime::ShaderLibrary> impl) : impl_(std::move(impl)) {}
ShaderLibrary::ShaderLibrary(ShaderLibrary&&) noexcept = default;
ShaderLibrary& ShaderLibrary::operator=(ShaderLibrary&&) noexcept = default;
ShaderLibrary::~ShaderLibrary() = default;

Expected<ShaderLibrary> ShaderLibrary::create(const LibraryOptions& options) {
  runtime::LibraryOptions o;
  o.host.subgroup_size = options.subgroup_size;
  o.host.subgroup_operations = options.subgroup_size > 1;
  o.seating = options.seating;
  o.validate = options.validate;
  o.cache_folder = options.cache_folder;
  o.cache_bytes = options.cache_bytes;
  o.threads = options.threads;
  o.memory_bytes = options.memory_bytes;
  o.record_folder = options.record_folder;
  o.record_all = options.record_all;
  auto made = runtime::ShaderLibrary::create(o);
  if (!made) return std::unexpected(std::move(made.error()));
  return ShaderLibrary(std::move(*made));
}

Expected<Shader> ShaderLibrary::add(const Program& program, std::string_view kernel,
                                    const ShaderOptions& options) {
  const auto& contents = *program.contents_;
  const container::Kernel* found = contents.binary.find_kernel(kernel);
  if (!found) return fail(ErrorKind::call, "there is no kernel '" + std::string(kernel) + "'");
  auto shader = impl_->add(
      contents.binary, *found,
      {options.workgroup, options.dynamic_lds_bytes, options.full_workgroups, options.guest_address});
  if (!shader) return std::unexpected(std::move(shader.error()));
  return Shader(std::move(*shader));
}

Expected<Binding> ShaderLibrary::bind(const Shader& shader, const GuestMemory& memory,
                                      const Invocation& invocation) {
  auto bound = impl_->bind(shader.impl_, memory,
                           {invocation.arguments, invocation.arguments_address, invocation.image_base});
  if (!bound) return std::unexpected(std::move(bound.error()));
  return Binding(std::make_shared<const runtime::Binding>(std::move(*bound)));
}

Expected<std::string> ShaderLibrary::record(const Shader& shader, const GuestMemory& memory,
                                            const Invocation& invocation, std::array<uint32_t, 3> grid) {
  auto file = impl_->record_dispatch(
      shader.impl_, memory, {invocation.arguments, invocation.arguments_address, invocation.image_base},
      grid);
  if (!file) return std::unexpected(std::move(file.error()));
  return file->string();
}

bool ShaderLibrary::is_current(const Binding& binding, const GuestMemory& memory) {
  return impl_->is_current(*binding.impl_, memory);
}

void ShaderLibrary::forget(const GuestMemory& memory) { impl_->forget(memory); }

} // namespace lanewise
