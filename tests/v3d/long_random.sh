#!/bin/sh
# Twenty thousand random programs through the allocator, the scheduler and all checks.
#   tests/v3d/long_random.sh BUILD_DIRECTORY [FIRST_SEED]
set -eu
build=${1:?build directory}
LANEWISE_V3D_RANDOM=20000 LANEWISE_V3D_SEED=${2:-1} "$build/tests/test_v3d" --gtest_filter='Random.*'
