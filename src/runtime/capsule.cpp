#include "runtime/capsule.hpp"

#include "runtime/byte_stream.hpp"
#include "runtime/keys.hpp"
#include "support/limits.hpp"

#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>

namespace lanewise::runtime {
namespace {

constexpr std::string_view magic = "LWCAPSUL";

/// One walk over the fields serves writing and reading: `Stream` is ByteWriter or ByteReader.
template <class Stream, class Descriptor>
void descriptor_fields(Stream& s, Descriptor& d) {
  const auto all = [&](auto&... fields) { (s.number(fields), ...); };
  all(d.group_segment_fixed_size, d.private_segment_fixed_size, d.kernarg_size, d.code_entry_offset);
  all(d.rsrc1, d.rsrc2, d.rsrc3, d.vgpr_count, d.sgpr_count, d.shared_vgpr_count, d.priority);
  all(d.float_mode.round_32, d.float_mode.round_16_64, d.float_mode.denorm_32, d.float_mode.denorm_16_64);
  all(d.ieee, d.dx10_clamp, d.fp16_overflow, d.wgp_mode, d.mem_ordered, d.fwd_progress, d.privileged);
  all(d.debug_mode, d.bulky, d.cdbg_user, d.scratch_enabled, d.workgroup_id_x, d.workgroup_id_y);
  all(d.workgroup_id_z, d.workgroup_info, d.workitem_id_vgprs, d.uses_dynamic_stack, d.wave32);
  all(d.exception_mask, d.user.private_segment_buffer, d.user.dispatch_ptr, d.user.queue_ptr);
  all(d.user.kernarg_segment_ptr, d.user.dispatch_id, d.user.flat_scratch_init, d.user.private_segment_size);
  all(d.user.kernarg_preload_length, d.user.kernarg_preload_offset, d.user.count);
}

template <class Stream, class C>
void option_fields(Stream& s, C& c) {
  const auto all = [&](auto&... fields) { (s.number(fields), ...); };
  all(c.block, c.seating, c.subgroup_size, c.subgroup_operations, c.dynamic_lds_bytes);
  all(c.partial_workgroups[0], c.partial_workgroups[1], c.partial_workgroups[2]);
  all(c.bound, c.grid, c.kernarg_address, c.image_base);
}

void write_binary(ByteWriter& w, const container::ShaderBinary& b) {
  w.text(b.format);
  w.text(b.target);
  w.list(b.segments, [&](const container::Segment& s) {
    w.number(s.address);
    w.number(s.executable);
    w.number(s.writable);
    w.bytes(s.bytes);
  });
  w.numbers(b.pointers);
  const container::Kernel& k = b.kernels.front();
  w.text(k.name);
  w.number(k.stage);
  w.number(k.entry);
  w.number(k.code_size);
  w.number(k.max_flat_workgroup_size);
  w.number(k.required_workgroup_size.has_value());
  w.number(k.required_workgroup_size.value_or(std::array<uint32_t, 3>{}));
  descriptor_fields(w, k.descriptor);
}

void read_binary(ByteReader& r, container::ShaderBinary& b) {
  b.format = r.text();
  b.target = r.text();
  r.list(b.segments, [&](container::Segment& s) {
    r.number(s.address);
    r.number(s.executable);
    r.number(s.writable);
    const auto bytes = r.bytes();
    s.bytes.assign(bytes.begin(), bytes.end());
  });
  r.numbers(b.pointers);
  container::Kernel& k = b.kernels.emplace_back();
  k.name = r.text();
  r.number(k.stage);
  r.number(k.entry);
  r.number(k.code_size);
  r.number(k.max_flat_workgroup_size);
  const bool required = r.number<uint8_t>() != 0;
  const auto size = r.number<std::array<uint32_t, 3>>();
  if (required) k.required_workgroup_size = size;
  descriptor_fields(r, k.descriptor);
}

std::unexpected<Error> damaged_capsule(std::string what) {
  return fail(ErrorKind::input, "capsule is damaged: " + std::move(what));
}

/// What code relies on: sorted, apart, inside the address space.
bool is_sound(const Capsule& c) {
  const auto ordered = [](const auto& list, auto size) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].address + size(list[i]) < list[i].address) return false;
      if (i > 0 && list[i].address < list[i - 1].address + size(list[i - 1])) return false;
    }
    return true;
  };
  const auto bytes = [](const auto& part) { return uint64_t{part.bytes.size()}; };
  const auto& d = c.kernel().descriptor;
  return ordered(c.binary.segments, bytes) && ordered(c.memory, bytes) &&
         std::ranges::is_sorted(c.binary.pointers) && c.kernel().stage <= container::Stage::mesh &&
         c.seating <= WaveSeating::independent && d.vgpr_count <= 256 && d.user.count <= 16 &&
         d.user.kernarg_preload_length <= 16;
}

} // namespace

CompileOptions Capsule::compile_options() const {
  CompileOptions o;
  o.block = block;
  o.seating = seating;
  o.host.subgroup_size = subgroup_size;
  o.host.subgroup_operations = subgroup_operations;
  o.dynamic_lds_bytes = dynamic_lds_bytes;
  o.partial_workgroups = partial_workgroups;
  return o;
}

std::vector<uint8_t> serialize(const Capsule& c) {
  ByteWriter w;
  w.text(c.producer);
  w.text(c.note);
  write_binary(w, c.binary);
  option_fields(w, c);
  w.bytes(c.kernarg);
  w.list(c.memory, [&](const Capsule::Region& region) {
    w.text(region.name);
    w.number(region.address);
    w.number(region.writable);
    w.bytes(region.bytes);
  });
  const auto plain = w.take();
  ByteWriter file;
  for (const char letter : magic) file.number(letter);
  file.number(capsule_version);
  file.number(uint64_t{plain.size()});
  file.number(XXH3_64bits(plain.data(), plain.size()));
  std::vector<uint8_t> packed(ZSTD_compressBound(plain.size()));
  const size_t size = ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 9);
  packed.resize(ZSTD_isError(size) ? 0 : size);
  file.bytes(packed);
  return file.take();
}

Expected<Capsule> deserialize_capsule(std::span<const uint8_t> bytes) {
  ByteReader file(bytes);
  for (const char letter : magic)
    if (file.number<char>() != letter) return fail(ErrorKind::input, "this is no capsule");
  if (const auto version = file.number<uint32_t>(); version != capsule_version)
    return fail(ErrorKind::unsupported,
                fmt::format("capsule format {}, this library reads {}", version, capsule_version));
  const auto size = file.number<uint64_t>(), checksum = file.number<uint64_t>();
  const auto packed = file.bytes();
  if (!file.ok() || !file.at_end() || size > limits::max_file_bytes) return damaged_capsule("its lengths");
  std::vector<uint8_t> plain(size);
  const size_t unpacked = ZSTD_decompress(plain.data(), plain.size(), packed.data(), packed.size());
  if (ZSTD_isError(unpacked) || unpacked != size || XXH3_64bits(plain.data(), plain.size()) != checksum)
    return damaged_capsule("its checksum");

  ByteReader r(plain);
  Capsule c;
  c.producer = r.text();
  c.note = r.text();
  read_binary(r, c.binary);
  option_fields(r, c);
  const auto kernarg = r.bytes();
  c.kernarg.assign(kernarg.begin(), kernarg.end());
  r.list(c.memory, [&](Capsule::Region& region) {
    region.name = r.text();
    r.number(region.address);
    r.number(region.writable);
    const auto contents = r.bytes();
    region.bytes.assign(contents.begin(), contents.end());
  });
  if (!r.ok() || !r.at_end() || !is_sound(c)) return damaged_capsule("its contents");
  return c;
}

std::optional<GuestMemory::Extent> CapsuleMemory::extent(uint64_t address) const {
  for (const Capsule::Region& r : capsule_->memory)
    if (address >= r.address && address - r.address < r.bytes.size())
      return Extent{r.address, r.bytes.size()};
  return {};
}

bool CapsuleMemory::read(uint64_t address, std::span<uint8_t> out) const {
  for (const Capsule::Region& r : capsule_->memory) {
    if (address < r.address || address - r.address > r.bytes.size() ||
        r.bytes.size() - (address - r.address) < out.size())
      continue;
    std::ranges::copy_n(r.bytes.begin() + static_cast<std::ptrdiff_t>(address - r.address),
                        static_cast<std::ptrdiff_t>(out.size()), out.begin());
    return true;
  }
  return false;
}

bool RecordingMemory::read(uint64_t address, std::span<uint8_t> out) const {
  if (!memory_->read(address, out)) return false;
  const std::lock_guard guard(lock_);
  reads_.push_back({"read", address, {out.begin(), out.end()}, false});
  return true;
}

std::vector<Capsule::Region> RecordingMemory::regions() const {
  std::vector<Capsule::Region> list;
  {
    const std::lock_guard guard(lock_);
    list = reads_;
  }
  // Of bytes that were read twice the later ones count.
  std::ranges::stable_sort(list, {}, &Capsule::Region::address);
  std::vector<Capsule::Region> joined;
  for (Capsule::Region& r : list) {
    if (joined.empty() || r.address > joined.back().address + joined.back().bytes.size()) {
      joined.push_back(std::move(r));
      continue;
    }
    auto& into = joined.back();
    const uint64_t offset = r.address - into.address;
    into.bytes.resize(std::max<size_t>(into.bytes.size(), offset + r.bytes.size()));
    std::ranges::copy(r.bytes, into.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  return joined;
}

Capsule capsule_of(const container::ShaderBinary& binary, const container::Kernel& kernel,
                   const CompileOptions& options) {
  Capsule c;
  c.producer = fmt::format("{} {}", version(), build_id());
  c.binary = binary;
  c.binary.kernels = {kernel};
  c.binary.symbols.clear();
  c.block = workgroup_of(kernel, options.block);
  c.seating = options.seating;
  c.subgroup_size = options.host.subgroup_size;
  c.subgroup_operations = options.host.subgroup_operations;
  c.dynamic_lds_bytes = options.dynamic_lds_bytes;
  c.partial_workgroups = options.partial_workgroups;
  return c;
}

Capsule capsule_of(const Launch& launch, const LaunchMemory& memory) {
  Capsule c = capsule_of(*launch.binary, *launch.kernel, {.block = launch.block});
  c.subgroup_size = 32;
  c.subgroup_operations = true;
  c.bound = true;
  c.grid = launch.grid;
  for (unsigned i = 0; i < 3; ++i) c.partial_workgroups[i] = launch.grid[i] % launch.block[i] != 0;
  c.dynamic_lds_bytes = lds_bytes(launch) - launch.kernel->descriptor.group_segment_fixed_size;
  c.kernarg = memory.regions()[LaunchMemory::kernarg].contents;
  c.kernarg_address = memory.address(LaunchMemory::kernarg);
  c.image_base = memory.image_base();
  for (size_t r = 0; r < memory.regions().size(); ++r) {
    const Region& region = memory.regions()[r];
    const bool kept = r == LaunchMemory::image || r == LaunchMemory::kernarg || r >= LaunchMemory::printf;
    if (kept && !region.contents.empty())
      c.memory.push_back({region.name, memory.address(r), region.contents, region.writable});
  }
  std::ranges::sort(c.memory, {}, &Capsule::Region::address);
  return c;
}

} // namespace lanewise::runtime
