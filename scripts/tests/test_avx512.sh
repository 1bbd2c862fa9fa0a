#!/usr/bin/env bash
# Builds the libraries up to runtime by clang and runs their unit tests on any x86-64 CPU with AVX2, AVX-512 VNNI kernels included:
# each of their instructions is made of AVX2's (tests/fakes/avx512). The last line is "avx512: N passed, N failed".
#
#   scripts/tests/test_avx512.sh [--results FOLDER]
#
# --results: where GoogleTest's and ctest's files go, for scripts/lib/count_tests.py; build-avx512/test_results if not given.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"
source "$root/scripts/lib/emulated_tests.sh"

# Texts of whole models take minutes of emulation, and tiny models show the same to the bit.
left_out=('Models/*')

build_tests() {
  "$root/scripts/install_packages.sh" --avx512 || return 1
  "$root/scripts/build.sh" --tests --build-dir "$build" -DCMAKE_CXX_COMPILER=clang++-19 -DTESSERA_EMULATE_AVX512=ON \
    -DTESSERA_LAYERS=runtime tessera_{base,tensor,quant,npu,storage,model,spec,runtime}_tests || return 1
  # Without this check all tests could skip the path, and pass.
  "$build/bin/tessera_tensor_tests" --gtest_filter=Lanes.Avx512GivesThePortableBits | grep ' OK .*Avx512' >/dev/null ||
    { say "failed: $build does not find its emulated path"; return 1; }
}

run_emulated_tests avx512 "$@"
