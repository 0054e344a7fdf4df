// The errors of the public API are those of every room.
#pragma once

#include "lanewise/error.hpp"
