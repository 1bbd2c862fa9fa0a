#!/usr/bin/env bash
# Builds everything and runs all tests and checks; the last line is "N passed, N failed".
#
#   scripts/test.sh [--all | --clang | --sanitize | --fuzz | --arm64 | --avx512]
#
# Without a flag: the test programs, the tests in Python and the checks; on 2 quiet cores under 30 minutes from nothing, under 13 again.
# --all: after those a second part, together under 50 minutes: projects that use installed layers, headers that compile alone, a build by
# clang without warnings and precompiled headers, sanitizers and fuzzing, for as many layers as fit.
# Each other flag runs its tests and no more, and all of them: --clang those of every library, --sanitize those of every library under the
# address sanitizer and those in which threads meet under the thread sanitizer, --fuzz each fuzz target for a minute, --arm64
# scripts/tests/test_arm64.sh, --avx512 scripts/tests/test_avx512.sh. No other run does the last two. Other commands, in no run here:
# scripts/tests/test_small_memory.sh, scripts/test_fresh.sh and scripts/measure/build_cost.sh.
#
# The times of the stages stand beside the expected ones (scripts/lib/stage_seconds.tsv), below the 20 slowest tests. Results lie in
# build/test_results.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/shell.sh"

usage="scripts/test.sh [--all | --clang | --sanitize | --fuzz | --arm64 | --avx512]"
all=false
parts=()
for argument in "$@"; do
  case $argument in
    --all) all=true ;;
    --clang | --sanitize | --fuzz | --arm64 | --avx512) parts+=("${argument#--}") ;;
    *) die "unknown argument $argument; usage: $usage" ;;
  esac
done
if $all && ((${#parts[@]} > 0)); then die "found --all and --${parts[0]}, expected one of them; usage: $usage"; fi

# The layers and targets of a part: with --all the first list of each pair, which fits into its minutes. Clang compiles the layers whose
# bits depend on a compiler, bytes from files meet the address sanitizer, and the threads of base, storage and spec the thread sanitizer.
libraries=(base tensor quant npu storage text files model spec runtime)
clang_layers=(base tensor quant npu)
address_layers=(storage text files)
thread_layers=(base storage spec)
fuzz_targets=(json lines tsr flash template gguf split tokenizer tiles safetensors adapter packed history tree costs judge)
fuzz_seconds=5
sanitized_kernels=OFF  # No test of theirs is among those layers.
if ! $all; then
  clang_layers=("${libraries[@]}")
  address_layers=("${libraries[@]}")
  thread_layers=(base npu storage spec runtime)
  fuzz_targets=()  # All.
  fuzz_seconds=60
  sanitized_kernels=ON
fi

build=$root/build
results=$build/test_results
packages=(--tests)  # Flags of install_packages.sh.
if $all || ((${#parts[@]} > 0)); then packages+=(--sanitizers); fi
for part in "${parts[@]}"; do [[ $part != arm64 && $part != avx512 ]] || packages+=("--$part"); done
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

# A build whose failure leaves out TESTS, a stage that needs the build.
stage_after() {
  local name=$1 tests=$2
  shift 2
  if stage "$name" "$@"; then stage "${tests//_/ }" "$tests" || true; else record fail "$name"; fi
}

check() {
  local script=$1 outcome=pass name start=$EPOCHREALTIME
  name=$(basename "${1%.*}")
  shift
  "$root/scripts/$script" "$@" >&2 || outcome=fail
  record "$outcome" "$name"$'\t'"$(seconds_since "$start")"
  [[ $outcome == pass ]]
}

# As many at once as there are CPUs.
all_checks() {
  local status=0 name running=()
  for name in words prose names layers sizes libraries readme clean programs sleeps headers weak_symbols; do
    if ((${#running[@]} >= $(nproc))); then
      wait "${running[0]}" || status=1
      running=("${running[@]:1}")
    fi
    check "checks/check_$name.py" --no-compile &
    running+=($!)
  done
  for name in "${running[@]}"; do wait "$name" || status=1; done
  return "$status"
}

# The interpreter is Debian's, for which its packages have the modules.
script_tests() {
  run_logged "tests in Python" "$results/script_tests.log" \
    /usr/bin/python3 "$root/scripts/lib/run_python_tests.py" "$results" "$root"/tests/*_test.py
}

# Builds, and fails if a compiler or a linker has warned of a file that is not the system's.
build_without_warnings() {
  "$root/scripts/build.sh" "$@" || return
  if grep 'warning:' "$build/build.log" | grep -m 10 -v '^/usr/' >&2; then
    say "failed: the build has warnings, expected none; $build/build.log has all"
    return 1
  fi
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

# The labels of LAYERS as ctest's flag -L takes them.
labels() { (IFS='|'; echo "^($*)$"); }

# The targets that build the tests of LAYERS.
test_targets() { printf 'tessera_%s_tests\n' "$@"; }

# By clang, with warnings as errors, without precompiled headers and each source alone: so each source includes what it needs. The
# warnings left out are about g++'s flags and headers.
clang_part() {
  mapfile -t targets < <(test_targets "${clang_layers[@]}")
  stage_after "clang build" clang_tests "$root/scripts/build.sh" --tests --build-dir "$root/build-clang" -DCMAKE_CXX_COMPILER=clang++-19 \
    -DTESSERA_PCH=OFF -DTESSERA_TOGETHER=OFF -DCMAKE_COMPILE_WARNING_AS_ERROR=ON \
    "-DCMAKE_CXX_FLAGS=-Wno-unknown-warning-option -Wno-deprecated-declarations" "${targets[@]}"
}

clang_tests() {
  local status=0
  run_tests clang_tests "$root/build-clang" "$results/clang" -L "$(labels "${clang_layers[@]}")" || status=1
  check checks/check_weak_symbols.py --build "$root/build-clang" || status=1
  return "$status"
}

address_part() {
  mapfile -t targets < <(test_targets "${address_layers[@]}")
  stage_after "address build" address_tests "$root/scripts/build.sh" --tests --build-dir "$root/build-asan" --type AddressSanitizer \
    -DTESSERA_SANITIZED_KERNELS="$sanitized_kernels" "${targets[@]}"
}

address_tests() { run_tests address_tests "$root/build-asan" "$results/address" -L "$(labels "${address_layers[@]}")"; }

# cmake/TesseraSanitizers.cmake names the test files that are built; only the tests of many rows run of those of npu.
thread_part() {
  mapfile -t targets < <(test_targets "${thread_layers[@]}")
  stage_after "thread build" thread_tests "$root/scripts/build.sh" --tests --build-dir "$root/build-tsan" --type ThreadSanitizer \
    -DTESSERA_SANITIZED_KERNELS="$sanitized_kernels" "${targets[@]}"
}

thread_tests() {
  local status=0 layers=" ${thread_layers[*]} "
  if [[ $layers == *" npu "* ]]; then
    GTEST_FILTER='HostDevice.ManyRows*:HostAdapters.ManyRows*' \
      run_tests npu_tests "$root/build-tsan" "$results/thread" -L '^npu$' || status=1
  fi
  read -ra layers <<<"${layers/ npu / }"
  run_tests thread_tests "$root/build-tsan" "$results/thread" -L "$(labels "${layers[@]}")" || status=1
  return "$status"
}

# Each target for so many seconds, after a check that the inputs reach the code.
fuzz_part() {
  stage "fuzz coverage" check tests/fuzz_coverage.sh || true
  stage fuzzing "$root/scripts/tests/fuzz.sh" --seconds "$fuzz_seconds" --results "$results/steps.tsv" "${fuzz_targets[@]}" || true
}

first_part() {
  need build build_without_warnings --tests
  need models fetch_models
  stage checks all_checks || true
  stage "unit tests" run_tests unit_tests "$build" "$results" -LE "$(labels apps bench lab)" || true
  stage "app tests" run_tests app_tests "$build" "$results" -L "$(labels apps bench lab)" || true
  stage "script tests" script_tests || true
  stage "all tests ran" check checks/check_tests_ran.py --results "$results" || true
}

second_part() {
  stage consumers "$root/scripts/tests/test_consumers.sh" --results "$results/steps.tsv" || true
  clang_part
  stage "headers alone" check checks/check_headers.py --build "$build" --build "$root/build-clang" || true
  address_part
  thread_part
  fuzz_part
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
for part in "${parts[@]}"; do
  case $part in
    fuzz) fuzz_part ;;
    arm64 | avx512) stage "$part" "$root/scripts/tests/test_$part.sh" --results "$results/$part" || true ;;
    clang | sanitize)
      need models fetch_models
      if [[ $part == clang ]]; then clang_part; else address_part; thread_part; fi ;;
  esac
done
if ((${#parts[@]} > 0)); then finish; fi
first_part
if $all; then second_part; fi
finish
