// Writes SPIR-V 1.6 modules: sections in their order, types and constants once each. It knows the binary
// format, not Lanewise's IR. Output depends on the order of calls only.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <spirv/unified1/GLSL.std.450.h>
#include <spirv/unified1/spirv.hpp11>

namespace lanewise::spirv {

using Id = uint32_t; ///< 0 is "none"

/// Appends one instruction to a stream of words.
void append_instruction(std::vector<uint32_t>& words, spv::Op op, std::span<const uint32_t> operands);
/// A literal string, zero-terminated and padded to words.
[[nodiscard]] std::vector<uint32_t> literal_string(std::string_view text);

class ModuleBuilder {
 public:
  [[nodiscard]] Id new_id() { return bound_++; }

  // -- declarations
  // ---------------------------------------------------------------------------------------------
  void capability(spv::Capability c); ///< once each
  void extension(std::string_view name);
  [[nodiscard]] Id glsl(); ///< the import of GLSL.std.450
  void execution_mode(spv::ExecutionMode mode, std::initializer_list<uint32_t> literals = {});
  /// LocalSizeId: x is the specialization constant of this number, with this default; y and z are 1.
  void local_size_constant(uint32_t number, uint32_t x);
  void entry_point(Id function) { entry_ = function; }
  void name(Id id, std::string_view text);
  void decorate(Id id, spv::Decoration d, std::initializer_list<uint32_t> literals = {});
  void decorate_member(Id id, uint32_t member, spv::Decoration d,
                       std::initializer_list<uint32_t> literals = {});
  /// NoContraction. A decoration group holds them all: one word for each, not three.
  void no_contraction(Id id) { exact_.push_back(id); }

  // -- types and constants: the same request gives the same id
  // ------------------------------------------------------
  [[nodiscard]] Id type(spv::Op op, std::initializer_list<uint32_t> operands) {
    return unique(op, 0, operands);
  }
  [[nodiscard]] Id type_void() { return type(spv::Op::OpTypeVoid, {}); }
  [[nodiscard]] Id type_bool() { return type(spv::Op::OpTypeBool, {}); }
  [[nodiscard]] Id type_int(unsigned width);   ///< unsigned; declares the capability that the width needs
  [[nodiscard]] Id type_float(unsigned width); ///< likewise
  [[nodiscard]] Id type_vector(Id element, uint32_t count) {
    return type(spv::Op::OpTypeVector, {element, count});
  }
  [[nodiscard]] Id type_pointer(spv::StorageClass c, Id pointee) {
    return type(spv::Op::OpTypePointer, {static_cast<uint32_t>(c), pointee});
  }
  /// `stride` 0 leaves the layout open, as Workgroup and Private memory want it.
  [[nodiscard]] Id type_array(Id element, uint32_t count, uint32_t stride);
  [[nodiscard]] Id type_function(Id result, std::span<const Id> parameters);
  [[nodiscard]] Id constant_bool(bool v) {
    return unique(v ? spv::Op::OpConstantTrue : spv::Op::OpConstantFalse, type_bool(), {});
  }
  /// Of an integer or float type of `width` bits; `bits` above the width must be zero.
  [[nodiscard]] Id constant(Id type, unsigned width, uint64_t bits);
  [[nodiscard]] Id u32(uint32_t v) { return constant(type_int(32), 32, v); }
  [[nodiscard]] Id u64(uint64_t v) { return constant(type_int(64), 64, v); }
  [[nodiscard]] Id null(Id type) { return unique(spv::Op::OpConstantNull, type, {}); }
  [[nodiscard]] Id undef(Id type) { return unique(spv::Op::OpUndef, type, {}); }
  [[nodiscard]] Id composite(Id type, std::span<const Id> parts);
  /// A struct is new at each request, as its decorations are its own.
  [[nodiscard]] Id new_struct(std::span<const Id> members);
  /// A module-scope variable; it becomes part of the entry point's interface. `initializer` 0: none.
  [[nodiscard]] Id variable(Id pointer_type, spv::StorageClass c, Id initializer = 0);

  /// Adds a whole function, OpFunction to OpFunctionEnd.
  void function(std::vector<uint32_t> words) { functions_.push_back(std::move(words)); }

  /// Stands in the words of functions until the module is finished: what follows comes from (owner, value).
  static constexpr spv::Op kMark = spv::Op::OpLine;
  /// For each instruction of the module the mark in front of it, or zeros.
  using Marks = std::vector<std::pair<uint32_t, uint32_t>>;

  /// The module. Call it once, at the end. `marks`: the functions have marks, which go there and not into the
  /// module.
  [[nodiscard]] std::vector<uint32_t> finish(Marks* marks = nullptr);

 private:
  struct KeyHash {
    size_t operator()(const std::vector<uint32_t>& key) const {
      uint64_t h = 0xcbf29ce484222325ull;
      for (const uint32_t w : key) h = (h ^ w) * 0x100000001b3ull;
      return static_cast<size_t>(h ^ h >> 32);
    }
  };
  Id unique(spv::Op op, Id result_type, std::span<const uint32_t> operands);
  Id unique(spv::Op op, Id result_type, std::initializer_list<uint32_t> operands) {
    return unique(op, result_type, std::span<const uint32_t>(operands.begin(), operands.size()));
  }
  void write_no_contraction(std::vector<uint32_t>& out);
  void shorten_functions();

  Id bound_ = 1, glsl_ = 0, entry_ = 0;
  std::vector<spv::Capability> capabilities_;
  std::vector<std::vector<uint32_t>> extensions_;
  std::vector<uint32_t> modes_, names_, decorations_, globals_, interface_, exact_;
  std::vector<std::vector<uint32_t>> functions_;
  std::vector<uint32_t> key_;
  std::unordered_map<std::vector<uint32_t>, Id, KeyHash> unique_;
};

} // namespace lanewise::spirv
