# Sourced after shell.sh by the scripts that test instructions which this CPU lacks: their flags, stages and last line.
#
#   left_out=('Suite.Test')                # Tests that are not run, as GoogleTest's filters name them.
#   build_tests() { ninja -C "$build"; }   # Builds the test programs in $build.
#   run_emulated_tests arm64 "$@"          # Ends the script.

# Runs the programs that build_tests built, with an emulator if their build names one.
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
      *) die "unknown argument $1; usage: scripts/tests/test_$name.sh [--results FOLDER]" ;;
    esac
  done
  rm -rf "$results"
  mkdir -p "$results"
  if fetch_models && stage "$name build" build_tests; then stage "$name tests" run_tests || true
  else printf 'fail\t%s build\n' "$name" >"$results/steps.tsv"; fi
  echo "not run: ${left_out[*]}"
  count_tests_and_exit "$name: " "$results"
}
