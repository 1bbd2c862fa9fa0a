#!/usr/bin/env bash
# Builds the libraries up to runtime by clang and runs their unit tests on any x86-64 CPU with AVX2, AVX-512 VNNI kernels included: each
# of their instructions is made of AVX2's (tests/fakes/avx512). The last line is "avx512: N passed, N failed".
#
#   scripts/test_avx512.sh [--results FOLDER]
#
# --results: where GoogleTest's and ctest's files go, for scripts/count_tests.py; build-avx512/test_results if not given.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build=$root/build-avx512
results=$build/test_results
while (($# > 0)); do
  case $1 in
    --results) results=${2:?--results needs a folder}; shift 2 ;;
    *) die "unknown argument $1; usage: scripts/test_avx512.sh [--results FOLDER]" ;;
  esac
done

# Texts of whole models: minutes of emulation, for what tiny models show to the bit.
left_out='Models/*'

build_tests() {
  local layers=(base tensor quant npu storage model runtime) model
  "$root/scripts/install_packages.sh" --avx512 || return 1
  for model in smollm2 gemma3; do "$root/scripts/fetch_model.sh" "$model" >/dev/null || return 1; done  # Tests of model read them.
  layers=("${layers[@]/#/tessera_}")
  "$root/scripts/build.sh" --build-dir "$build" -DCMAKE_CXX_COMPILER=clang++-19 -DTESSERA_EMULATE_AVX512=ON -DTESSERA_LAYERS=runtime \
    "${layers[@]/%/_tests}" || return 1
  # Or all tests would leave the path out, and pass.
  "$build/bin/tessera_tensor_tests" --gtest_filter=Lanes.Avx512GivesThePortableBits | grep ' OK .*Avx512' >/dev/null ||
    { say "failed: $build does not find its emulated path"; return 1; }
}

run_tests() {
  GTEST_OUTPUT=json:$results/ GTEST_FILTER=-$left_out run_logged "avx512 unit tests" "$results/unit_tests.log" \
    ctest --test-dir "$build" --output-on-failure --output-junit "$results/unit_tests.xml" --timeout 1200 -j "$(nproc)" -LE '^fuzz$'
}

rm -rf "$results"
mkdir -p "$results"
if stage "avx512 build" build_tests; then stage "avx512 tests" run_tests || true
else printf 'fail\tavx512 build\n' >"$results/steps.tsv"; fi
echo "not run: $left_out"
count_tests_and_exit "avx512: " "$results"
