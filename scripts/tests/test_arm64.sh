#!/usr/bin/env bash
# Builds the libraries up to model for 64-bit Arm and runs their unit tests under an emulator, NEON kernels and tiny models included.
# The last line is "arm64: N passed, N failed".
#
#   scripts/tests/test_arm64.sh [--results FOLDER]
#
# --results: where GoogleTest's and ctest's files go, for scripts/lib/count_tests.py; build-arm64/test_results if not given.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"
source "$root/scripts/lib/emulated_tests.sh"

# Tests that an emulated process cannot pass: a limit on its memory also limits the emulator, a clock counts the emulator's time, the
# emulator does not pass on madvise, and mincore does not tell which pages of a file are in memory.
left_out=(
  ThreadPool.TakesFewerThreadsWhereTheSystemHasNoMore SettlingBytesTest.WithoutMemoryTheBytesStayTheFiles
  'AlignedBuffer.PreparedForDevices*' FileTest.CachedPagesStayInThePageCache
  BorrowedPagesTest.APageThatTheCacheLostIsFetched BorrowedPagesTest.BytesThatTheFileNoLongerHasAreNotThere
  'Tokenizer.*Quickly' 'Tokenizer.*InUnderTwoSeconds'
)
# The emulator cannot start an Arm program from within another one, so death tests fork instead.
export GTEST_DEATH_TEST_STYLE=fast

build_tests() {
  local sysroot
  "$root/scripts/install_packages.sh" --arm64 || return 1
  sysroot=$("$root/scripts/tests/arm64_sysroot.sh") || return 1
  "$root/scripts/build.sh" --tests --build-dir "$build" -DCMAKE_TOOLCHAIN_FILE="$root/cmake/arm64-toolchain.cmake" \
    -DTESSERA_ARM64_SYSROOT="$sysroot" -DTESSERA_LAYERS=model tessera_{base,tensor,quant,npu,storage,model}_tests
}

run_emulated_tests arm64 "$@"
