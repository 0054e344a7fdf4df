// How the command's process gets its memory.
#pragma once

namespace lanewise::cli {

/// Recompiling touches tens of megabytes once. With glibc's defaults most of that arrives in pages of 4 KiB
/// from fresh mappings, and where page faults are dear (virtual machines) they cost more than the
/// recompilation itself. Lets the heap grow in one piece, keep what was freed, and use huge pages for its
/// first part. Call it first in main(); does nothing with another C library.
void prepare_heap();

} // namespace lanewise::cli
