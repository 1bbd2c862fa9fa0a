#!/usr/bin/env bash
# Runs the tests of the libraries up to runtime with AVX-512 VNNI kernels on any x86-64 CPU with AVX2: each AVX-512 instruction is made
# of AVX2's (tests/fakes/avx512). It is also the Release build by clang. The last line is "avx512: N passed, N failed".
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

build_tests() {
  local layers=(base tensor quant npu storage model runtime) model
  "$root/scripts/install_packages.sh" --avx512 || return 1
  for model in smollm2 gemma3; do "$root/scripts/fetch_model.sh" "$model" >/dev/null || return 1; done  # Tests of model read them.
  layers=("${layers[@]/#/tessera_}")
  "$root/scripts/build.sh" --build-dir "$build" -DCMAKE_CXX_COMPILER=clang++-19 -DTESSERA_EMULATE_AVX512=ON -DTESSERA_LAYERS=runtime \
    "${layers[@]/%/_tests}"
}

# A path that is not found is skipped by all tests alike.
find_path() { "$build/bin/tessera_tensor_tests" --gtest_filter=Lanes.Avx512GivesThePortableBits | grep -q '  OK .*Avx512'; }

run_tests() {
  GTEST_OUTPUT=json:$results/ run_logged "avx512 unit tests" "$results/unit_tests.log" \
    ctest --test-dir "$build" --output-on-failure --output-junit "$results/unit_tests.xml" --timeout 1200 -j "$(nproc)" -LE '^fuzz$'
}

rm -rf "$results"
mkdir -p "$results"
if stage "avx512 build" build_tests && stage "avx512 is found" find_path; then stage "avx512 tests" run_tests || true
else printf 'fail\tavx512 build\n' >"$results/steps.tsv"; fi
count_tests_and_exit "avx512: " "$results"
