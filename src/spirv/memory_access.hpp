// The frame that loads, stores and atomics share: one helper function for each kind of access, which asks
// whether the lane is active, and by the address' aperture where it lies.
#pragma once

#include "spirv/emitter.hpp"

namespace lanewise::spirv {

/// What a body does at an address in a known space (never flat). `data` are the operands behind `active`.
/// Returns the value's id, 0 if there is none.
struct AccessSite {
  Emitter& e;
  Code& c;
  ir::Space space;
  Expr address; ///< i64 in global memory, i32 elsewhere
  std::span<const Expr> data;
  ir::MemoryAccess access;
  ir::Type type; ///< of the result's components, or of the data
  unsigned components;
  bool unaligned = false; ///< a component may reach over the end of its word
  bool inside = false;    ///< of an array of words: all of the access is known to be inside it
  Expr words_behind{};    ///< words of LDS behind the address, if any
};
/// The 32-bit word that the access starts in.
[[nodiscard]] Expr word_index(const AccessSite& s);
using AccessBody = Id (*)(const AccessSite&);

/// Writes the call for memory operation `v`.
void write_access_call(Emitter& e, ir::Value v, Helper kind, bool ask_active, AccessBody body);

/// Word `index + plus` of global memory, or of LDS or scratch: there it is kept inside the array (what is
/// outside hits its last word), unless it is known to be `inside`.
[[nodiscard]] Id word_pointer(Emitter& e, Code& c, ir::Space space, Expr index, uint32_t plus = 0,
                              bool inside = false);
/// 64-bit unit of an LDS that is wide (Emitter::wide_lds).
[[nodiscard]] Id wide_lds_pointer(Emitter& e, Code& c, Expr byte_address);
/// Whether this site's words are parts of such units.
[[nodiscard]] inline bool is_wide(const AccessSite& s) { return s.space == ir::Space::lds && s.e.wide_lds(); }
/// A 32-bit word, `plus` words behind `index`; stores are of LDS or scratch only.
[[nodiscard]] Expr load_word(const AccessSite& s, Expr index, uint32_t plus);
void store_word(const AccessSite& s, Expr index, uint32_t plus, Expr word);
/// The bits of `mask` in a word of LDS or scratch become those of `bits`, which has no others.
void replace_bits(const AccessSite& s, Expr index, Expr bits, Expr mask);
/// Memory operands of an access of global memory, which the alignment follows.
[[nodiscard]] uint32_t memory_operands(const AccessSite& s);
/// A pointer into global memory.
[[nodiscard]] Id global_pointer(Emitter& e, Code& c, Expr address, Id pointee);

/// The kinds of ir::OpKind with a memory operation's handlers: load and store here, atomics in
/// emit_atomics.cpp.
void write_load_store(Emitter& e, ir::Value v, bool ask_active);
void write_atomic(Emitter& e, ir::Value v, bool ask_active);

} // namespace lanewise::spirv
