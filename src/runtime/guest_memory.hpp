// GuestMemory is part of the public API.
#pragma once

#include "lanewise/guest_memory.hpp"

namespace lanewise::runtime {

using lanewise::GuestMemory;

} // namespace lanewise::runtime
