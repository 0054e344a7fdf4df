#!/bin/sh
# Compiles kernels.cl for the emulator's tests (clang 19, ROCm device libraries; both Debian packages).
set -e
cd "$(dirname "$0")"
lib=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode
build() {
  out=$1
  shift
  clang-19 -target amdgcn-amd-amdhsa -mcpu=gfx1030 -x cl -cl-std=CL2.0 --rocm-device-lib-path=$lib "$@" kernels.cl -o "$out"
  llvm-strip-19 --strip-unneeded "$out" 2>/dev/null || true
  zstd -q -19 -f --rm "$out"
}
build w32.co -O3
build w64.co -O3 -mwavefrontsize64
build w32_O0.co -O0
build w32_v5.co -O1 -mcode-object-version=5
