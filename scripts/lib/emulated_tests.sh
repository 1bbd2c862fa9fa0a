# Sourced by the scripts that run unit tests of instructions that this CPU lacks, behind shell.sh: their flags, stages and last line.
#
#   left_out=('Suite.Test')                # What is not run, as GoogleTest's filters name it.
#   build_tests() { ninja -C "$build"; }   # Builds the test programs in $build.
#   run_emulated_tests arm64 "$@"          # Ends the script.

# Runs what build_tests built, with an emulator if its build names one.
run_tests() {
  GTEST_OUTPUT=json:$results/ GTEST_FILTER=-$(IFS=:; echo "${left_out[*]}") \
    run_logged "$name unit tests" "$results/unit_tests.log" ctest --test-dir "$build" --output-on-failure \
    --output-junit "$results/unit_tests.xml" --timeout 1200 -j "$(nproc)" -LE '^fuzz$'
}

run_emulated_tests() {
  local name=$1 build=$root/build-$1
  local results=$build/test_results
  shift
  while (($# > 0)); do
    case $1 in
      --results) results=${2:?--results needs a folder}; shift 2 ;;
      *) die "unknown argument $1; usage: scripts/test_$name.sh [--results FOLDER]" ;;
    esac
  done
  rm -rf "$results"
  mkdir -p "$results"
  if fetch_models && stage "$name build" build_tests; then stage "$name tests" run_tests || true
  else printf 'fail\t%s build\n' "$name" >"$results/steps.tsv"; fi
  echo "not run: ${left_out[*]}"
  count_tests_and_exit "$name: " "$results"
}
