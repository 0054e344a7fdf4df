#!/bin/sh
# Makes the code objects of this folder again (Debian's clang-14 and clang-19): make.sh OUT
set -e
here=$(dirname "$(realpath "$0")"); out=${1:?usage: make.sh OUT}; mkdir -p "$out"; cd "$out"
common="-target amdgcn-amd-amdhsa -x cl -cl-std=CL2.0 -nogpulib -cl-kernel-arg-info -O2 -w $here/kernels.cl"
clang-14 $common -mcpu=gfx1030 -mcode-object-version=3 -o v3_w32.co
clang-19 $common -mcpu=gfx1030 -mcode-object-version=4 -o v4_w32.co
clang-19 $common -mcpu=gfx1030 -mcode-object-version=5 -DWITH_CALLS -o v5_w32.co
clang-19 $common -mcpu=gfx1030 -mcode-object-version=5 -mwavefrontsize64 -o v5_w64.co
clang-19 $common -mcpu=gfx1031 -mcode-object-version=5 -o gfx1031.co
clang-19 $common -mcpu=gfx906 -mcode-object-version=5 -o gfx906.co
clang-19 $common -mcpu=gfx1030 -mcode-object-version=6 -o v6.co
llvm-mc-19 -triple=amdgcn-amd-amdhsa -mcpu=gfx1030 --amdhsa-code-object-version=5 -filetype=obj "$here/got.s" -o got.o
ld.lld-19 -shared got.o -o got.co && rm got.o
printf host > host
clang-offload-bundler-19 -type=o -targets=host-x86_64-unknown-linux,hip-amdgcn-amd-amdhsa--gfx906,hipv4-amdgcn-amd-amdhsa--gfx1030,hipv4-amdgcn-amd-amdhsa--gfx1031 \
  -input=host -input=gfx906.co -input=v5_w64.co -input=gfx1031.co -output=bundle.hipfb
rm host
for f in *.co *.hipfb; do zstd -q -19 --rm -f "$f"; done
