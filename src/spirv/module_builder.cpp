#include "spirv/module_builder.hpp"

#include "spirv/inline_calls.hpp"

#include <algorithm>

namespace lanewise::spirv {
namespace {

constexpr uint32_t kVersion16 = 0x0001'0600;
constexpr size_t kLongestInstruction = 0xffff;

void append(std::vector<uint32_t>& out, spv::Op op, std::initializer_list<uint32_t> operands) {
  append_instruction(out, op, std::span<const uint32_t>(operands.begin(), operands.size()));
}

std::vector<uint32_t> joined(std::initializer_list<uint32_t> head, std::span<const uint32_t> tail) {
  std::vector<uint32_t> all(head);
  all.insert(all.end(), tail.begin(), tail.end());
  return all;
}

bool has_result_type(spv::Op op) {
  return op >= spv::Op::OpConstantTrue && op <= spv::Op::OpConstantNull ? true : op == spv::Op::OpUndef;
}

/// Takes the instructions of a section out for which `is_void(op, instruction)`.
template <class F>
void filter(std::vector<uint32_t>& section, F&& is_void) {
  std::vector<uint32_t> rest;
  rest.reserve(section.size());
  for_each_instruction(section, [&](spv::Op op, std::span<const uint32_t> w) {
    if (!is_void(op, w)) rest.insert(rest.end(), w.begin(), w.end());
  });
  section = std::move(rest);
}

} // namespace

void append_instruction(std::vector<uint32_t>& words, spv::Op op, std::span<const uint32_t> operands) {
  words.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | static_cast<uint32_t>(op));
  words.insert(words.end(), operands.begin(), operands.end());
}

std::vector<uint32_t> literal_string(std::string_view text) {
  std::vector<uint32_t> words(text.size() / 4 + 1);
  for (size_t i = 0; i < text.size(); ++i)
    words[i / 4] |= static_cast<uint32_t>(static_cast<unsigned char>(text[i])) << (8 * (i % 4));
  return words;
}

void ModuleBuilder::capability(spv::Capability c) {
  if (std::ranges::find(capabilities_, c) == capabilities_.end()) capabilities_.push_back(c);
}

void ModuleBuilder::extension(std::string_view text) {
  auto words = literal_string(text);
  if (std::ranges::find(extensions_, words) == extensions_.end()) extensions_.push_back(std::move(words));
}

Id ModuleBuilder::glsl() {
  if (glsl_ == 0) glsl_ = new_id();
  return glsl_;
}

void ModuleBuilder::execution_mode(spv::ExecutionMode mode, std::initializer_list<uint32_t> literals) {
  const auto operands = joined({entry_, static_cast<uint32_t>(mode)}, literals);
  append_instruction(modes_, spv::Op::OpExecutionMode, operands);
}

void ModuleBuilder::local_size_constant(uint32_t number, uint32_t x) {
  const Id size = new_id();
  append(globals_, spv::Op::OpSpecConstant, {type_int(32), size, x});
  decorate(size, spv::Decoration::SpecId, {number});
  append(modes_, spv::Op::OpExecutionModeId,
         {entry_, static_cast<uint32_t>(spv::ExecutionMode::LocalSizeId), size, u32(1), u32(1)});
}

void ModuleBuilder::name(Id id, std::string_view text) {
  append_instruction(names_, spv::Op::OpName, joined({id}, literal_string(text)));
}

void ModuleBuilder::decorate(Id id, spv::Decoration d, std::initializer_list<uint32_t> literals) {
  append_instruction(decorations_, spv::Op::OpDecorate, joined({id, static_cast<uint32_t>(d)}, literals));
}

void ModuleBuilder::decorate_member(Id id, uint32_t member, spv::Decoration d,
                                    std::initializer_list<uint32_t> literals) {
  append_instruction(decorations_, spv::Op::OpMemberDecorate,
                     joined({id, member, static_cast<uint32_t>(d)}, literals));
}

Id ModuleBuilder::type_int(unsigned width) {
  if (width == 8) capability(spv::Capability::Int8);
  if (width == 16) capability(spv::Capability::Int16);
  if (width == 64) capability(spv::Capability::Int64);
  return type(spv::Op::OpTypeInt, {width, 0});
}

Id ModuleBuilder::type_float(unsigned width) {
  if (width == 16) capability(spv::Capability::Float16);
  if (width == 64) capability(spv::Capability::Float64);
  return type(spv::Op::OpTypeFloat, {width});
}

Id ModuleBuilder::type_array(Id element, uint32_t count, uint32_t stride) {
  const Id length = u32(count);
  const Id known = bound_;
  // The stride is part of the identity: it keeps laid-out arrays apart from the others.
  const Id id = unique(spv::Op::OpTypeArray, stride, {element, length});
  if (id == known && stride != 0) decorate(id, spv::Decoration::ArrayStride, {stride});
  return id;
}

Id ModuleBuilder::type_function(Id result, std::span<const Id> parameters) {
  return unique(spv::Op::OpTypeFunction, 0, joined({result}, parameters));
}

Id ModuleBuilder::constant(Id type, unsigned width, uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits), high = static_cast<uint32_t>(bits >> 32);
  if (width > 32) return unique(spv::Op::OpConstant, type, {low, high});
  return unique(spv::Op::OpConstant, type, {low});
}

Id ModuleBuilder::composite(Id type, std::span<const Id> parts) {
  return unique(spv::Op::OpConstantComposite, type, parts);
}

Id ModuleBuilder::new_struct(std::span<const Id> members) {
  const Id id = new_id();
  append_instruction(globals_, spv::Op::OpTypeStruct, joined({id}, members));
  return id;
}

Id ModuleBuilder::variable(Id pointer_type, spv::StorageClass c, Id initializer) {
  const Id id = new_id();
  if (initializer != 0)
    append(globals_, spv::Op::OpVariable, {pointer_type, id, static_cast<uint32_t>(c), initializer});
  else
    append(globals_, spv::Op::OpVariable, {pointer_type, id, static_cast<uint32_t>(c)});
  interface_.push_back(id);
  return id;
}

Id ModuleBuilder::unique(spv::Op op, Id result_type, std::span<const uint32_t> operands) {
  key_.assign({static_cast<uint32_t>(op), result_type});
  key_.insert(key_.end(), operands.begin(), operands.end());
  if (const auto it = unique_.find(key_); it != unique_.end()) return it->second;
  const Id id = new_id();
  const auto words = has_result_type(op) ? joined({result_type, id}, operands) : joined({id}, operands);
  append_instruction(globals_, op, words);
  unique_.emplace(key_, id);
  return id;
}

void ModuleBuilder::write_no_contraction(std::vector<uint32_t>& out) {
  constexpr auto kind = static_cast<uint32_t>(spv::Decoration::NoContraction);
  if (exact_.size() < 4) { // a group costs five words itself
    for (const Id id : exact_) append(out, spv::Op::OpDecorate, {id, kind});
    return;
  }
  const Id group = new_id();
  append(out, spv::Op::OpDecorate, {group, kind});
  append(out, spv::Op::OpDecorationGroup, {group});
  for (size_t i = 0; i < exact_.size(); i += kLongestInstruction - 2) {
    const size_t count = std::min(exact_.size() - i, kLongestInstruction - 2);
    append_instruction(out, spv::Op::OpGroupDecorate, joined({group}, std::span(exact_).subspan(i, count)));
  }
}

/// Helpers that are shorter in place of their calls go, with their names and types.
void ModuleBuilder::shorten_functions() {
  const std::unordered_set<Id> exact(exact_.begin(), exact_.end());
  const auto dropped = inline_short_calls(functions_, entry_, exact, [this] { return new_id(); });
  if (dropped.empty()) return;
  std::unordered_set<Id> types;
  for (const auto& words : functions_) types.insert(words[4]);
  filter(names_, [&](spv::Op, auto w) { return dropped.contains(w[1]); });
  filter(globals_,
         [&](spv::Op op, auto w) { return op == spv::Op::OpTypeFunction && !types.contains(w[1]); });
}

namespace {

/// Appends a function without its marks.
void append_unmarked(std::vector<uint32_t>& out, std::span<const uint32_t> function,
                     ModuleBuilder::Marks& marks) {
  std::pair<uint32_t, uint32_t> now{};
  for_each_instruction(function, [&](spv::Op op, std::span<const uint32_t> w) {
    if (op == ModuleBuilder::kMark) {
      now = {w[1], w[2]};
      return;
    }
    marks.push_back(now);
    out.insert(out.end(), w.begin(), w.end());
  });
}

} // namespace

std::vector<uint32_t> ModuleBuilder::finish(Marks* marks) {
  shorten_functions();
  size_t code = 0;
  for (const auto& words : functions_) code += words.size();
  std::vector<uint32_t> out{spv::MagicNumber, kVersion16, 0, 0, 0};
  out.reserve(code + globals_.size() + decorations_.size() + exact_.size() + 256);
  std::ranges::sort(capabilities_);
  for (const auto c : capabilities_) append(out, spv::Op::OpCapability, {static_cast<uint32_t>(c)});
  for (const auto& e : extensions_) append_instruction(out, spv::Op::OpExtension, e);
  if (glsl_ != 0)
    append_instruction(out, spv::Op::OpExtInstImport, joined({glsl_}, literal_string("GLSL.std.450")));
  append(out, spv::Op::OpMemoryModel,
         {static_cast<uint32_t>(spv::AddressingModel::PhysicalStorageBuffer64),
          static_cast<uint32_t>(spv::MemoryModel::GLSL450)});
  auto entry =
      joined({static_cast<uint32_t>(spv::ExecutionModel::GLCompute), entry_}, literal_string("main"));
  entry.insert(entry.end(), interface_.begin(), interface_.end());
  append_instruction(out, spv::Op::OpEntryPoint, entry);
  for (const auto* section : {&modes_, &names_, &decorations_})
    out.insert(out.end(), section->begin(), section->end());
  write_no_contraction(out);
  out.insert(out.end(), globals_.begin(), globals_.end());
  if (marks) {
    for_each_instruction(std::span(out).subspan(5), [&](spv::Op, auto) { marks->emplace_back(); });
    for (const auto& words : functions_) append_unmarked(out, words, *marks);
  } else {
    for (const auto& words : functions_) out.insert(out.end(), words.begin(), words.end());
  }
  out[3] = bound_;
  return out;
}

} // namespace lanewise::spirv
