#!/bin/sh
# Twenty thousand random programs through the allocator, the scheduler and all checks, on two cores.
#   tests/v3d/long_random.sh BUILD_DIRECTORY [FIRST_SEED]
# A program that fails is printed with its seed.
set -eu
build=${1:?build directory}
first=${2:-1}
part() {
  LANEWISE_V3D_RANDOM=10000 LANEWISE_V3D_SEED=$1 "$build/tests/test_v3d" --gtest_filter='Random.*'
}
part "$first" &
second=$!
part "$((first + 10000))"
wait "$second"
