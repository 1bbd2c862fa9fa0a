#!/usr/bin/env bash
# Builds everything and runs all tests and checks; the last line is "N passed, N failed".
#
#   scripts/test.sh [--quick | --sanitize | --fuzz | --arm64 | --avx512]
#
# --quick leaves out the app tests, the projects that use installed layers, the check that each header compiles alone, the one that
# every test file ran, sanitizers and fuzzing, and says so. --sanitize runs the unit tests under the sanitizers and no more, --fuzz
# each fuzz target for a minute and no more, --arm64 scripts/tests/test_arm64.sh and no more, --avx512 scripts/tests/test_avx512.sh
# and no more; no other run does the last two.
# Results lie in build/test_results.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/shell.sh"

quick=false
sanitize=false
fuzz=false
emulated=()
for argument in "$@"; do
  case $argument in
    --quick) quick=true ;;
    --sanitize) sanitize=true ;;
    --fuzz) fuzz=true ;;
    --arm64 | --avx512) emulated+=("${argument#--}") ;;
    *) die "unknown argument $argument; usage: scripts/test.sh [--quick | --sanitize | --fuzz | --arm64 | --avx512]" ;;
  esac
done
build=$root/build
results=$build/test_results
packages=()  # Flags of install_packages.sh.
if ! $quick; then packages+=(--sanitizers); fi
for name in "${emulated[@]}"; do packages+=("--$name"); done
rm -rf "$results"
mkdir -p "$results"

# Keeps the outcome of a step that is no GoogleTest, to be counted at the end.
record() { printf '%s\t%s\n' "$1" "$2" >>"$results/steps.tsv"; }

# How every run must end, however it goes.
finish() {
  echo
  count_tests_and_exit "" "$results"
}

# A step without which nothing that follows makes sense.
need() {
  local name=$1
  shift
  if ! stage "$name" "$@"; then
    record fail "$name"
    say "failed: the stage \"$name\" did not succeed, so the tests after it were not run"
    finish
  fi
}

check() {
  local script=$1 outcome=pass name
  name=$(basename "${1%.py}")
  shift
  "$root/scripts/$script" "$@" >&2 || outcome=fail
  record "$outcome" "$name"
  [[ $outcome == pass ]]
}

all_checks() {
  local status=0 name flags=()
  if $quick; then flags=(--no-compile); fi
  for name in layers libraries sizes readme words clean programs sleeps; do check "checks/check_$name.py" || status=1; done
  check checks/check_headers.py "${flags[@]}" || status=1
  return "$status"
}

# The tests in Python: one line "name (...) ... ok" a test. The interpreter is Debian's, for which its packages have the modules.
script_tests() {
  local file log status=0
  for file in "$root"/tests/*_test.py; do
    log=$results/$(basename "$file").log
    if run_logged "$(basename "$file")" "$log" /usr/bin/python3 "$file" -v; then :; else
      status=1
      grep -qE '\.\.\. (FAIL|ERROR)$' "$log" || record fail "$(basename "$file")"
    fi
    sed -nE 's/^(\w+) .*\.\.\. ok$/pass\t\1/p; s/^(\w+) .*\.\.\. (FAIL|ERROR)$/fail\t\1/p; s/^(\w+) .*\.\.\. skipped .*/skip\t\1/p' \
      "$log" >>"$results/steps.tsv"
  done
  return "$status"
}

# Runs the test programs of BUILD that ctest's FLAGS select, and leaves in FOLDER one JSON file of GoogleTest's a program and one
# JUnit file of ctest's.
run_tests() {
  local name=$1 build=$2 folder=$3
  shift 3
  mkdir -p "$folder"
  GTEST_OUTPUT=json:$folder/ run_logged "$name" "$folder/$name.log" \
    ctest --test-dir "$build" --output-on-failure --output-junit "$folder/$name.xml" --timeout 1200 -j "$(nproc)" "$@" && return
  # What a sanitizer found may stand far from the end.
  grep -m 1 -A 60 -E 'WARNING: ThreadSanitizer|ERROR: (Address|Leak)Sanitizer|runtime error:' "$folder/$name.log" >&2 || true
  [[ -f $folder/$name.xml ]] || record fail "$name ($folder): ctest did not come to its end"
  return 1
}

# All unit tests under the address and undefined-behaviour sanitizers; under the thread sanitizer those of base (threads, timeline),
# storage (reading ahead) and spec (a history that streams share), and of npu and runtime the files that cmake/TesseraSanitizers.cmake
# names; of npu's only those of many rows.
sanitizer_tests() {
  local layers=(base tensor quant npu storage text files model spec runtime)
  layers=("${layers[@]/#/tessera_}")
  stage "address build" "$root/scripts/build.sh" --build-dir "$root/build-asan" --type AddressSanitizer "${layers[@]/%/_tests}" &&
    stage "thread build" "$root/scripts/build.sh" --build-dir "$root/build-tsan" --type ThreadSanitizer \
      tessera_{base,npu,storage,spec,runtime}_tests || { record fail sanitizers; return; }
  stage "address tests" run_tests unit_tests "$root/build-asan" "$results/address" -LE '^(apps|fuzz)$' || true
  stage "thread tests" thread_tests || true
}

thread_tests() {
  local status=0
  run_tests unit_tests "$root/build-tsan" "$results/thread" -L '^(base|storage|spec)$' || status=1
  GTEST_FILTER='HostDevice.ManyRows*:HostAdapters.ManyRows*' \
    run_tests npu_tests "$root/build-tsan" "$results/thread" -L '^npu$' || status=1
  run_tests runtime_tests "$root/build-tsan" "$results/thread" -L '^runtime$' || status=1
  return "$status"
}

# Each target for so many seconds, after a check that the inputs reach the code.
fuzzing() {
  stage "fuzz coverage" check tests/fuzz_coverage.sh || true
  stage fuzzing "$root/scripts/tests/fuzz.sh" --seconds "$1" --results "$results/steps.tsv" || true
}

# Installs the packages and begins again where all other programs of this machine are hidden: nothing that follows may need one.
begin_with_named_programs() {
  local status=0
  need packages "$root/scripts/install_packages.sh" "${packages[@]}"
  TESSERA_STAGES_BEFORE=${stage_times[0]} "$root/scripts/tests/with_named_programs.sh" "${packages[@]}" -- "$0" "$@" || status=$?
  ((status == 125)) || exit "$status"
  record skip "only named programs"
}

if [[ -z ${TESSERA_STAGES_BEFORE:-} ]]; then
  begin_with_named_programs "$@"
else
  stage_times=("$TESSERA_STAGES_BEFORE")
  unset TESSERA_STAGES_BEFORE
  record pass "only named programs"
fi
if $sanitize || $fuzz || ((${#emulated[@]} > 0)); then
  if $sanitize; then
    need models fetch_models
    sanitizer_tests
  fi
  if $fuzz; then fuzzing 60; fi
  for name in "${emulated[@]}"; do stage "$name" "$root/scripts/tests/test_$name.sh" --results "$results/$name" || true; done
  finish
fi
need build "$root/scripts/build.sh"
need models fetch_models
stage checks all_checks || true
stage "script tests" script_tests || true
stage "unit tests" run_tests unit_tests "$build" "$results" -LE '^apps$' || true
if $quick; then
  stage_times+=("left out by --quick: app tests, consumers, each header compiling alone, every test file having run, sanitizers, fuzzing")
  finish
fi
stage consumers "$root/scripts/tests/test_consumers.sh" --results "$results/steps.tsv" || true
stage "app tests" run_tests app_tests "$build" "$results" -L '^apps$' || true
stage "all tests ran" check checks/check_tests_ran.py --results "$results" || true
sanitizer_tests
fuzzing 30
finish
