// Programs for lane demand, each beside the number of selects that go and that stay.
#pragma once

#include "../ir/image_text.hpp"

#include <array>
#include <ostream>
#include <string>
#include <string_view>

namespace lanewise::tests {

struct DemandCase {
  const char* name;
  const char* body; ///< after the common beginning, which ends inside block b0
  unsigned goes, stays;
  friend void PrintTo(const DemandCase& c, std::ostream* out) { *out << c.name; }
};

// %e: lanes of the wave; %m: inside %e; %n: inside %m; %o: overlaps %m. %new, %old: values; %p: an address.
inline constexpr const char* kDemandBegin = R"(function "t" wave32 lds 4096 scratch 0 {
b0:
  %id = i32 input.local_id_x
  %wg = uniform i32 input.workgroup_id_x
  %p = uniform i64 input.kernarg_ptr
  %x = i32 load.global.4 %p, u1 true
  %y = i32 load.global.4 %p, u1 true
  %new = i32 add %x, i32 7
  %old = i32 mul %y, i32 3
  %e = u1 input.initial_exec
  %c = u1 ult %x, %y
  %m = u1 and %e, %c
  %d = u1 eq %x, i32 5
  %n = u1 and %m, %d
  %o = u1 and %e, %d
  %a = i32 shl %id, i32 2
)";

inline constexpr DemandCase kDemandCases[] = {
    {"choices by one compare of data that do not lead to each other", R"(
  %k = u1 eq %x, i32 9
  %s = i32 select %k, %new, %old
  %t = i32 select %k, %old, %new
  %r = i32 xor %s, %t
  store.lds.4 %a, u1 true, %r
  ret
})",
     0, 2},
    {"a choice that leads to one by the same compare", R"(
  %k = u1 eq %x, i32 9
  %s = i32 select %k, %new, %old
  %t = i32 add %s, i32 1
  %r = i32 select %k, %t, %y
  store.lds.4 %a, u1 true, %r
  ret
})",
     1, 1},
    {"the same without anything between", R"(
  %k = u1 eq %x, i32 9
  %s = i32 select %k, %new, %old
  %r = i32 select %k, %s, %y
  store.lds.4 %a, u1 true, %r
  ret
})",
     1, 1},
    {"a choice that leads to one by a compare that says the same and more", R"(
  %k = u1 ule %x, %id
  %l = u1 ult %x, %id
  %s = i32 select %k, %new, %old
  %t = i32 add %s, i32 1
  %r = i32 select %l, %t, %y
  store.lds.4 %a, u1 true, %r
  ret
})",
     1, 1},
    {"read under its own mask", R"(
  %s = i32 select %m, %new, %old
  store.lds.4 %a, %m, %s
  ret
})",
     1, 0},
    {"read under a narrower mask", R"(
  %s = i32 select %m, %new, %old
  store.lds.4 %a, %n, %s
  ret
})",
     1, 0},
    {"an else side that is skipped when it has no lanes leaves nothing to ask of the then side", R"(
  %then = i32 select %m, %new, %old
  %no = u1 not %c
  %else = u1 and %e, %no
  %skip = uniform u1 any %else
  cond_br %skip, b1, b2
b1: from b0
  %s = i32 select %else, %y, %then
  br b2
b2: from b0, b1
  %r = i32 phi %then, %s
  %both = u1 or %m, %else
  store.lds.4 %a, %both, %r
  ret
})",
     1, 1},
    {"the same where the branch is on another mask", R"(
  %then = i32 select %m, %new, %old
  %no = u1 not %c
  %else = u1 and %e, %no
  %skip = uniform u1 any %n
  cond_br %skip, b1, b2
b1: from b0
  %s = i32 select %else, %y, %then
  br b2
b2: from b0, b1
  %r = i32 phi %then, %s
  %both = u1 or %m, %else
  store.lds.4 %a, %both, %r
  ret
})",
     0, 2},
    {"read under a wider mask", R"(
  %s = i32 select %m, %new, %old
  store.lds.4 %a, %e, %s
  ret
})",
     0, 1},
    {"read under a mask that only overlaps", R"(
  %s = i32 select %m, %new, %old
  store.lds.4 %a, %o, %s
  ret
})",
     0, 1},
    {"read only where the mask is off", R"(
  %off = u1 not %m
  %s = i32 select %m, %new, %old
  store.lds.4 %a, %off, %s
  ret
})",
     1, 0},
    {"old lanes flow into the next write, which is read under the mask", R"(
  %s = i32 select %m, %new, %old
  %t = i32 add %s, i32 1
  %u = i32 select %m, %t, %s
  store.lds.4 %a, %m, %u
  ret
})",
     2, 0},
    {"old lanes flow into the next write, which is read everywhere", R"(
  %s = i32 select %m, %new, %old
  %t = i32 add %s, i32 1
  %u = i32 select %m, %t, %s
  store.lds.4 %a, %e, %u
  ret
})",
     0, 2},
    {"a sample with explicit level under the mask", R"(
  %s = i32 select %m, %new, %old
  %t = i32 image_sample.2d.lod.mask1 %image, %m, %x, %y, %s
  store.lds.4 %a, %e, %t
  ret
})",
     1, 0},
    {"the same under a narrower mask", R"(
  %s = i32 select %m, %new, %old
  %t = i32 image_sample.2d.zero.mask1 %image, %n, %x, %s
  store.lds.4 %a, %e, %t
  ret
})",
     1, 0},
    {"the same under a wider mask", R"(
  %s = i32 select %m, %new, %old
  %t = i32 image_sample.2d.zero.mask1 %image, %e, %x, %s
  store.lds.4 %a, %e, %t
  ret
})",
     0, 1},
    {"a sample in more lanes than its result is read in", R"(
  %s = i32 select %m, %new, %old
  %t = i32 image_sample.2d.zero.mask1 %image, %e, %x, %s
  store.lds.4 %a, %m, %t
  ret
})",
     1, 0},
    {"a sample that brings its derivatives", R"(
  %s = i32 select %m, %new, %old
  %t = i32 image_sample.2d.grad.mask1 %image, %m, %s, %x, %y, %s, %x, %y
  store.lds.4 %a, %e, %t
  ret
})",
     1, 0},
    {"a sample with implicit level reads its neighbours, on or off", R"(
  %s = i32 select %m, %new, %old
  %t = i32 image_sample_implicit.2d.mask1 %image, %m, %x, %s
  store.lds.4 %a, %m, %t
  ret
})",
     0, 1},
    {"a sample with implicit level whose result is read in other lanes only", R"(
  %off = u1 not %m
  %s = i32 select %m, %new, %old
  %t = i32 image_sample_implicit.2d.bias.mask1 %image, %e, %s, %x, %y
  store.lds.4 %a, %off, %t
  ret
})",
     0, 1},
    {"a sample with implicit level that nobody reads", R"(
  %s = i32 select %m, %new, %old
  %t = i32 image_sample_implicit.2d.mask1 %image, %m, %x, %s
  %r = i32 select %m, %t, %s
  store.lds.4 %a, %n, %new
  ret
})",
     2, 0},
    {"what a sample with implicit level gave, read under the mask", R"(
  %t = i32 image_sample_implicit.2d.mask1 %image, %m, %x, %y
  %s = i32 select %m, %t, %old
  store.lds.4 %a, %m, %s
  ret
})",
     1, 0},
    {"an export under the mask", R"(
  %s = i32 select %m, %new, %old
  export.mrt0.done.vm %m, %s, %s, %x, %y
  ret
})",
     1, 0},
    {"an export under a wider mask", R"(
  %s = i32 select %m, %new, %old
  export.param0 %e, %s, %s, %x, %y
  ret
})",
     0, 1},
    {"an export under a narrower mask, of two halves", R"(
  %s = i32 select %m, %new, %old
  export.mrt0.compressed %n, %x, %s
  ret
})",
     1, 0},
    {"who exports is seen everywhere", R"(
  %s = i32 select %m, %new, %old
  %z = u1 ult %s, %x
  export.pos0 %z, %x, %x, %x, %y
  ret
})",
     0, 1},
    {"helper lanes: the quad's mask for a sample, the pixels' for the export", R"(
  %live = u1 and %e, %d
  %s = i32 select %e, %new, %old
  %t = i32 image_sample_implicit.2d.mask1 %image, %e, %x, %s
  %u = i32 select %live, %t, %old
  export.mrt0.vm %live, %u, %u, %u, %u
  ret
})",
     1, 1},
    {"helper lanes that a sample with explicit level reads", R"(
  %live = u1 and %e, %d
  %s = i32 select %live, %new, %old
  %t = i32 image_sample.2d.zero.mask1 %image, %e, %x, %s
  %w = i32 dpp.quad_perm.0x1b %t
  export.mrt0.vm %live, %w, %w, %w, %w
  ret
})",
     0, 1},
    {"a chain of ten writes collapses in one run", R"(
  %s0 = i32 select %m, %new, %old
  %t1 = i32 add %s0, i32 1
  %s1 = i32 select %m, %t1, %s0
  %t2 = i32 add %s1, i32 1
  %s2 = i32 select %m, %t2, %s1
  %t3 = i32 add %s2, i32 1
  %s3 = i32 select %m, %t3, %s2
  %t4 = i32 add %s3, i32 1
  %s4 = i32 select %m, %t4, %s3
  %t5 = i32 add %s4, i32 1
  %s5 = i32 select %m, %t5, %s4
  %t6 = i32 add %s5, i32 1
  %s6 = i32 select %m, %t6, %s5
  %t7 = i32 add %s6, i32 1
  %s7 = i32 select %m, %t7, %s6
  %t8 = i32 add %s7, i32 1
  %s8 = i32 select %m, %t8, %s7
  %t9 = i32 add %s8, i32 1
  %s9 = i32 select %m, %t9, %s8
  store.lds.4 %a, %m, %s9
  ret
})",
     10, 0},
    {"readlane of a constant lane sees lanes outside", R"(
  %s = i32 select %m, %new, %old
  %r = uniform i32 read_lane %s, i32 3
  store.lds.4 %a, %m, %r
  ret
})",
     0, 1},
    {"readfirstlane of the mask itself sees lane 0 when the mask is empty", R"(
  %s = i32 select %m, %new, %old
  %r = uniform i32 read_first %s, %m
  store.lds.4 %a, %m, %r
  ret
})",
     0, 1},
    {"readfirstlane of a mask that the branch found not empty", R"(
  %s = i32 select %m, %new, %old
  %q = uniform u1 any %n
  cond_br %q, b1, b2
b1: from b0
  %r = uniform i32 read_first %s, %m
  store.lds.4 %a, %m, %r
  br b2
b2: from b0, b1
  ret
})",
     1, 0},
    {"readfirstlane behind the branch that skipped", R"(
  %s = i32 select %m, %new, %old
  %q = uniform u1 any %n
  cond_br %q, b1, b2
b1: from b0
  br b2
b2: from b0, b1
  %r = uniform i32 read_first %s, %m
  store.lds.4 %a, %m, %r
  ret
})",
     0, 1},
    {"readfirstlane of all work-items", R"(
  %s = i32 select %e, %new, %old
  %r = uniform i32 read_first %s, %e
  store.lds.4 %a, %e, %r
  ret
})",
     1, 0},
    {"readfirstlane in a loop that goes on while a lane is left", R"(
  %q0 = uniform u1 any %m
  cond_br %q0, b1, b3
b1: from b0
  br b2
b2: from b1, b2
  %live = u1 phi %m, %next
  %l = i32 load.lds.4 %a, %live
  %s = i32 select %live, %l, %old
  %r = uniform i32 read_first %s, %live
  %z = u1 ne %l, %r
  %next = u1 and %live, %z
  store.lds.4 %a, %live, %r
  %q = uniform u1 any %next
  cond_br %q, b2, b3
b3: from b0, b2
  ret
})",
     1, 0},
    {"the same where the loop may be entered without a lane", R"(
  br b1
b1: from b0, b1
  %live = u1 phi %m, %next
  %l = i32 load.lds.4 %a, %live
  %s = i32 select %live, %l, %old
  %r = uniform i32 read_first %s, %live
  %z = u1 ne %l, %r
  %next = u1 and %live, %z
  store.lds.4 %a, %live, %r
  %q = uniform u1 any %next
  cond_br %q, b1, b2
b2: from b1
  ret
})",
     0, 1},
    {"the same where the loop goes on for another mask", R"(
  %q0 = uniform u1 any %m
  cond_br %q0, b1, b3
b1: from b0
  br b2
b2: from b1, b2
  %live = u1 phi %m, %next
  %l = i32 load.lds.4 %a, %live
  %s = i32 select %live, %l, %old
  %r = uniform i32 read_first %s, %live
  %z = u1 ne %l, %r
  %next = u1 and %live, %z
  store.lds.4 %a, %live, %r
  %q = uniform u1 any %z
  cond_br %q, b2, b3
b3: from b0, b2
  ret
})",
     0, 1},
    {"DPP reads neighbours", R"(
  %s = i32 select %m, %new, %old
  %r = i32 dpp.quad_perm.0x1b %s
  store.lds.4 %a, %m, %r
  ret
})",
     0, 1},
    {"DPP reads only lanes of a constant mask", R"(
  %low = u1 lane_bit i32 0xf
  %s = i32 select %low, %new, %old
  %r = i32 dpp.quad_perm.0x1b %s
  store.lds.4 %a, %low, %r
  ret
})",
     1, 0},
    {"DPP that keeps out lanes that are off reads only lanes of the mask", R"(
  %s = i32 select %m, %new, %old
  %k = u1 dpp.row_shr.0x1 %m
  %r = i32 dpp.row_shr.0x1 %s
  %z = i32 select %k, %r, i32 0
  store.lds.4 %a, %e, %z
  ret
})",
     1, 1},
    {"the same with a mask that came from other lanes", R"(
  %s = i32 select %m, %new, %old
  %k = u1 dpp.row_shr.0x2 %m
  %r = i32 dpp.row_shr.0x1 %s
  %z = i32 select %k, %r, i32 0
  store.lds.4 %a, %e, %z
  ret
})",
     0, 2},
    {"permute that keeps out lanes that are off", R"(
  %s = i32 select %m, %new, %old
  %k = u1 permute %m, %x
  %r = i32 permute %s, %x
  %z = i32 select %k, %r, i32 0
  store.lds.4 %a, %e, %z
  ret
})",
     1, 1},
    {"the same by another index", R"(
  %s = i32 select %m, %new, %old
  %k = u1 permute %m, %y
  %r = i32 permute %s, %x
  %z = i32 select %k, %r, i32 0
  store.lds.4 %a, %e, %z
  ret
})",
     0, 2},
    {"a mask that another turn of the loop was asked for", R"(
  br b1
b1: from b0, b1
  %live = u1 phi %m, %next
  %i = i32 phi %x, %i2
  %r = i32 phi %old, %s
  %g = i32 phi i32 0, %y2
  %k = u1 dpp.row_shr.0x1 %live
  %z = i32 select %k, %g, i32 0
  store.lds.4 %a, %e, %z
  %t = i32 add %i, i32 5
  %s = i32 select %live, %t, %r
  %y2 = i32 dpp.row_shr.0x1 %s
  %i2 = i32 sub %i, i32 1
  %nz = u1 ne %i, i32 0
  %next = u1 and %live, %nz
  %q = uniform u1 any %next
  cond_br %q, b1, b2
b2: from b1
  ret
})",
     0, 2},
    {"permute may read any lane", R"(
  %s = i32 select %m, %new, %old
  %r = i32 permute %s, %x
  store.lds.4 %a, %m, %r
  ret
})",
     0, 1},
    {"a ballot used as a number", R"(
  %s = i32 select %m, %new, %old
  %b = u1 ult %s, i32 9
  %w = uniform i32 ballot %b
  store.lds.4 %a, %m, %w
  ret
})",
     0, 1},
    {"a compare under the same mask", R"(
  %s = i32 select %m, %new, %old
  %b = u1 ult %s, i32 9
  %k = u1 and %m, %b
  store.lds.4 %a, %k, %x
  ret
})",
     1, 0},
    {"masks of its own compare, both orders of the operands", R"(
  %s = i32 select %m, %new, %old
  %b = u1 ult %s, i32 9
  %k = u1 and %b, %m
  %nb = u1 not %b
  %l = u1 and %m, %nb
  store.lds.4 %a, %k, %x
  store.lds.4 %a, %l, %x
  ret
})",
     1, 0},
    {"two compares that hide each other hide nothing from a ballot", R"(
  %s = i32 select %m, %new, %old
  %t = i32 select %m, %old, %new
  %b = u1 ult %s, i32 9
  %d2 = u1 ult %t, i32 9
  %k = u1 and %b, %d2
  store.lds.4 %a, %k, %x
  ret
})",
     0, 2},
    {"a branch condition from it", R"(
  %s = i32 select %m, %new, %old
  %b = u1 ult %s, i32 9
  %q = uniform u1 any %b
  cond_br %q, b1, b2
b1: from b0
  store.lds.4 %a, %m, %x
  br b2
b2: from b0, b1
  ret
})",
     0, 1},
    {"a branch condition from it under the mask", R"(
  %s = i32 select %m, %new, %old
  %b = u1 ult %s, i32 9
  %k = u1 and %m, %b
  %q = uniform u1 any %k
  cond_br %q, b1, b2
b1: from b0
  store.lds.4 %a, %m, %x
  br b2
b2: from b0, b1
  ret
})",
     1, 0},
    {"the value is an active operand", R"(
  %s = u1 select %m, %d, %c
  store.lds.4 %a, %s, %x
  ret
})",
     0, 1},
    {"a guarded load's address", R"(
  %s = i32 select %m, %new, %old
  %l = i32 load.lds.4 %s, %m
  store.lds.4 %a, %e, %l
  ret
})",
     1, 0},
    {"a guarded atomic's data, and an atomic under a wider mask", R"(
  %s = i32 select %m, %new, %old
  %l = i32 atomic.add.lds.4 %a, %m, %s
  %t = i32 select %m, %old, %new
  %k = i32 atomic.add.lds.4 %a, %e, %t
  ret
})",
     1, 1},
    {"then and else together cover the mask", R"(
  %nm = u1 not %c
  %else = u1 and %e, %nm
  %s = i32 select %m, %new, %old
  %t = i32 select %else, %x, %s
  %both = u1 or %m, %else
  store.lds.4 %a, %both, %t
  ret
})",
     1, 1},
    {"a phi with its own mask", R"(
  %q = uniform u1 any %m
  cond_br %q, b1, b2
b1: from b0
  %s = i32 select %m, %new, %old
  br b2
b2: from b0, b1
  %f = i32 phi %old, %s
  store.lds.4 %a, %m, %f
  ret
})",
     1, 0},
    {"a phi with a wider mask", R"(
  %q = uniform u1 any %m
  cond_br %q, b1, b2
b1: from b0
  %s = i32 select %m, %new, %old
  br b2
b2: from b0, b1
  %f = i32 phi %old, %s
  store.lds.4 %a, %e, %f
  ret
})",
     0, 1},
    {"the way into a join decides under which mask a phi is read", R"(
  %s = i32 select %n, %new, %old
  %q = uniform u1 eq %wg, i32 0
  cond_br %q, b1, b2
b1: from b0
  %t = i32 select %n, %old, %new
  br b2
b2: from b0, b1
  %p2 = u1 phi %m, %n
  %f = i32 phi %s, %t
  store.lds.4 %a, %p2, %f
  ret
})",
     1, 1},
    {"a restored mask: exec through a phi, or-ed with what was saved", R"(
  %s = i32 select %e, %new, %old
  %q = uniform u1 any %m
  cond_br %q, b1, b2
b1: from b0
  %k = u1 and %m, %d
  br b2
b2: from b0, b1
  %f = u1 phi %m, %k
  %r = u1 or %f, %e
  store.lds.4 %a, %r, %s
  ret
})",
     1, 0},
    {"written in a loop and read in it under the same mask", R"(
  br b1
b1: from b0, b1
  %live = u1 phi %m, %next
  %i = i32 phi %x, %i2
  %r = i32 phi %old, %s
  %t = i32 add %i, i32 5
  %s = i32 select %live, %t, %r
  store.lds.4 %a, %live, %s
  %i2 = i32 sub %i, i32 1
  %z = u1 ne %i, i32 0
  %next = u1 and %live, %z
  %q = uniform u1 any %next
  cond_br %q, b1, b2
b2: from b1
  ret
})",
     1, 0},
    {"written in a loop, read in a later iteration by a lane that revived", R"(
  br b1
b1: from b0, b1
  %live = u1 phi %m, %next
  %i = i32 phi %x, %i2
  %r = i32 phi %old, %s
  store.lds.4 %a, %live, %r
  %t = i32 add %i, i32 5
  %s = i32 select %live, %t, %r
  %i2 = i32 sub %i, i32 1
  %z = u1 ne %i, i32 0
  %next = u1 and %e, %z
  %q = uniform u1 any %next
  cond_br %q, b1, b2
b2: from b1
  ret
})",
     0, 1},
    {"written in a loop, read in the next iteration by lanes that stayed", R"(
  br b1
b1: from b0, b1
  %live = u1 phi %m, %next
  %i = i32 phi %x, %i2
  %r = i32 phi %old, %s
  store.lds.4 %a, %live, %r
  %t = i32 add %i, i32 5
  %s = i32 select %live, %t, %r
  %i2 = i32 sub %i, i32 1
  %z = u1 ne %i, i32 0
  %next = u1 and %live, %z
  %q = uniform u1 any %next
  cond_br %q, b1, b2
b2: from b1
  ret
})",
     1, 0},
    {"written in a loop, read after it by all lanes that entered", R"(
  br b1
b1: from b0, b1
  %live = u1 phi %m, %next
  %i = i32 phi %x, %i2
  %r = i32 phi %old, %s
  %t = i32 add %i, i32 5
  %s = i32 select %live, %t, %r
  %i2 = i32 sub %i, i32 1
  %z = u1 ne %i, i32 0
  %next = u1 and %live, %z
  %q = uniform u1 any %next
  cond_br %q, b1, b2
b2: from b1
  store.lds.4 %a, %m, %s
  ret
})",
     0, 1},
    {"a value made before the loop under the entering mask, read inside", R"(
  %s = i32 select %m, %new, %old
  br b1
b1: from b0, b1
  %live = u1 phi %m, %next
  %i = i32 phi %x, %i2
  store.lds.4 %a, %live, %s
  %i2 = i32 sub %i, i32 1
  %z = u1 ne %i, i32 0
  %next = u1 and %live, %z
  %q = uniform u1 any %next
  cond_br %q, b1, b2
b2: from b1
  ret
})",
     1, 0},
    {"read after a loop by the lanes that have left it, none at first", R"(
  %s = i32 select %m, %new, %old
  br b1
b1: from b0, b1
  %left = u1 phi u1 false, %gone
  %in = u1 phi %m, %stay
  %l = i32 load.lds.4 %a, %in
  %k = u1 slt %l, i32 9
  %leave = u1 and %in, %k
  %gone = u1 or %left, %leave
  %ngone = u1 not %gone
  %stay = u1 and %in, %ngone
  %any = uniform u1 any %stay
  cond_br %any, b1, b2
b2: from b1
  store.lds.4 %a, %gone, %s
  ret
})",
     1, 0},
    {"the same with other lanes among those that have left", R"(
  %s = i32 select %m, %new, %old
  br b1
b1: from b0, b1
  %left = u1 phi %o, %gone
  %in = u1 phi %m, %stay
  %l = i32 load.lds.4 %a, %in
  %k = u1 slt %l, i32 9
  %leave = u1 and %in, %k
  %gone = u1 or %left, %leave
  %ngone = u1 not %gone
  %stay = u1 and %in, %ngone
  %any = uniform u1 any %stay
  cond_br %any, b1, b2
b2: from b1
  store.lds.4 %a, %gone, %s
  ret
})",
     0, 1},
    {"the same with a loop mask that turns out wider", R"(
  %s = i32 select %m, %new, %old
  br b1
b1: from b0, b1
  %live = u1 phi %m, %next
  %i = i32 phi %x, %i2
  store.lds.4 %a, %live, %s
  %i2 = i32 sub %i, i32 1
  %z = u1 ne %i, i32 0
  %w = u1 or %live, %o
  %next = u1 and %w, %z
  %q = uniform u1 any %next
  cond_br %q, b1, b2
b2: from b1
  ret
})",
     0, 1},
    {"a proof that leans on another loop's mask that turns out wider", R"(
  %s = i32 select %m, %new, %old
  br b1
b1: from b0, b3
  %outer = u1 phi %m, %wide
  %i = i32 phi %x, %i2
  br b2
b2: from b1, b2
  %inner = u1 phi %outer, %next
  %j = i32 phi %i, %j2
  store.lds.4 %a, %inner, %s
  %j2 = i32 sub %j, i32 1
  %z = u1 ne %j, i32 0
  %next = u1 and %inner, %z
  %q = uniform u1 any %next
  cond_br %q, b2, b3
b3: from b2
  %i2 = i32 sub %i, i32 1
  %wide = u1 or %outer, %o
  %q2 = uniform u1 any %wide
  cond_br %q2, b1, b4
b4: from b3
  ret
})",
     0, 1},
    {"a mask computed in an earlier iteration is another mask", R"(
  br b1
b1: from b0, b1
  %before = u1 phi %m, %now
  %i = i32 phi %x, %i2
  %r = i32 phi %old, %s
  %lt = u1 slt %i, i32 0
  %now = u1 and %e, %lt
  %t = i32 add %i, i32 5
  %s = i32 select %now, %t, %r
  store.lds.4 %a, %before, %s
  %i2 = i32 sub %i, i32 1
  %q = uniform u1 any %now
  cond_br %q, b1, b2
b2: from b1
  ret
})",
     0, 1},
    {"lane < n prefixes and constant lane sets", R"(
  %below8 = u1 ult %id0, i32 8
  %s = i32 select %below8, %new, %old
  %set = u1 lane_bit i32 0x3c
  store.lds.4 %a, %set, %s
  ret
})",
     1, 0},
    {"a mask that comes back from its own word", R"(
  %s = i32 select %e, %new, %old
  %w = uniform i32 ballot %m
  %back = u1 lane_bit %w
  store.lds.4 %a, %back, %s
  ret
})",
     1, 0},
    {"a mask that comes back from a changed word", R"(
  %s = i32 select %e, %new, %old
  %w = uniform i32 ballot %m
  %w2 = uniform i32 add %w, i32 1
  %back = u1 lane_bit %w2
  store.lds.4 %a, %back, %s
  ret
})",
     0, 1},
    {"the full mask in its arithmetic form", R"(
  %sh = i32 and %id0, i32 31
  %w = i32 lshr i32 -1, %sh
  %one = i32 and %w, i32 1
  %full = u1 ne %one, i32 0
  %s = i32 select %full, %new, %old
  store.lds.4 %a, %e, %s
  ret
})",
     1, 0},
    {"compares of one pair imply each other", R"(
  %lt = u1 slt %x, %y
  %le = u1 sle %x, %y
  %gt = u1 slt %y, %x
  %s = i32 select %le, %new, %old
  store.lds.4 %a, %lt, %s
  %t = i32 select %le, %new, %old
  store.lds.4 %a, %gt, %t
  ret
})",
     2, 0},
};

/// Statements of the case go behind the common beginning; %id0 is the lane's index, %image the descriptors of
/// an image and a sampler.
inline std::string demand_program(const DemandCase& c) {
  std::string text = kDemandBegin;
  if (std::string_view(c.body).find("%id0") != std::string_view::npos) text += "  %id0 = i32 lane_id\n";
  return ir::testing::with_image(text + (c.body + 1) + "\n");
}

} // namespace lanewise::tests
