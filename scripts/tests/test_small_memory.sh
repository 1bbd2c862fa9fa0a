#!/usr/bin/env bash
# Shows that a machine with 3 GiB of memory builds tessera_generate and answers by it: does both in a control group with that limit, in a
# build folder of its own, from nothing and without a cache of compiled objects. Prints the most memory that each step held.
#
#   scripts/tests/test_small_memory.sh [--mebibytes 3072] [--build-dir build-small] [TARGET]
#
# TARGET: builds this target instead, and asks nothing. Takes the right to make control groups, and about as long as scripts/quickstart.sh;
# scripts/test.sh does not run this. Swap counts as memory.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"

build=$root/build-small
mebibytes=3072
target=tessera_generate
while (($# > 0)); do
  case $1 in
    --build-dir) build=$(realpath "${2:?--build-dir needs a folder}"); shift 2 ;;
    --mebibytes) mebibytes=${2:?--mebibytes needs a number}; shift 2 ;;
    -*) die "unknown argument $1; usage: scripts/tests/test_small_memory.sh [--mebibytes 3072] [--build-dir build-small] [TARGET]" ;;
    *) target=$1; shift ;;
  esac
done
[[ $mebibytes =~ ^[1-9][0-9]*$ ]] || die "--mebibytes: found $mebibytes, expected a whole number from 1 on"
[[ ! -e $build || -f $build/CMakeCache.txt ]] || die "$build: found no build folder, expected one that may be removed"
rm -rf "$build"

# Runs COMMAND in the group. Its last lines are in LOG.
limited() {
  local name=$1 log=$2
  shift 2
  mkdir -p "$(dirname "$log")"
  CCACHE_DIR=$build/none run_logged "$name" "$log" python3 "$root/scripts/measure/lib/run_in_group.py" "$mebibytes" "$@" || return
  tail -n 1 "$log"
}

model=$("$root/scripts/fetch_model.sh")
stage "small build" limited "building in $mebibytes MiB" "$build/small_build.log" "$root/scripts/build.sh" --build-dir "$build" "$target" ||
  die "$target could not be built in $mebibytes MiB"
if [[ $target == tessera_generate ]]; then
  stage "small answer" limited "answering in $mebibytes MiB" "$build/small_answer.log" "$build/bin/tessera_generate" --model "$model" \
    --prompt "Why is the sky blue?" --n_predict 16 || die "there was no answer in $mebibytes MiB"
fi
stage_table
