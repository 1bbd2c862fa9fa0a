#!/usr/bin/env bash
# Builds the libraries up to model for 64-bit Arm and runs their unit tests under an emulator, NEON kernels and tiny models included.
# The last line is "arm64: N passed, N failed".
#
#   scripts/test_arm64.sh [--results FOLDER]
#
# --results: where GoogleTest's and ctest's files go, for scripts/count_tests.py; build-arm64/test_results if not given.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build=$root/build-arm64
results=$build/test_results
while (($# > 0)); do
  case $1 in
    --results) results=${2:?--results needs a folder}; shift 2 ;;
    *) die "unknown argument $1; usage: scripts/test_arm64.sh [--results FOLDER]" ;;
  esac
done

# What an emulated process cannot show: a limit on its memory is one on the emulator's, too, and a clock counts the emulator's time.
left_out=(
  ThreadPool.TakesFewerThreadsWhereTheSystemHasNoMore
  'Tokenizer.*Quickly' 'Tokenizer.*InUnderTwoSeconds'
)

build_tests() {
  local layers=(base tensor quant npu storage model) sysroot model
  "$root/scripts/install_packages.sh" --arm64 || return 1
  sysroot=$("$root/scripts/arm64_sysroot.sh") || return 1
  for model in smollm2 gemma3; do "$root/scripts/fetch_model.sh" "$model" >/dev/null || return 1; done  # Tests of model read them.
  layers=("${layers[@]/#/tessera_}")
  "$root/scripts/build.sh" --build-dir "$build" -DCMAKE_TOOLCHAIN_FILE="$root/cmake/arm64-toolchain.cmake" \
    -DTESSERA_ARM64_SYSROOT="$sysroot" -DTESSERA_LAYERS=model "${layers[@]/%/_tests}"
}

# The emulator cannot start an Arm program from within one, so death tests fork in place of that.
run_tests() {
  GTEST_DEATH_TEST_STYLE=fast GTEST_OUTPUT=json:$results/ GTEST_FILTER=-$(IFS=:; echo "${left_out[*]}") \
    run_logged "arm64 unit tests" "$results/unit_tests.log" ctest --test-dir "$build" --output-on-failure \
    --output-junit "$results/unit_tests.xml" --timeout 1200 -j "$(nproc)" -LE '^fuzz$'
}

rm -rf "$results"
mkdir -p "$results"
if stage "arm64 build" build_tests; then stage "arm64 tests" run_tests || true
else printf 'fail\tarm64 build\n' >"$results/steps.tsv"; fi
echo "not run: ${left_out[*]}"
count_tests_and_exit "arm64: " "$results"
