#!/usr/bin/env bash
# Measures what the build costs: builds all targets, or those named, from nothing and without a cache of compiled objects, and prints CPU
# seconds by group of targets, the 20 dearest objects with seconds and memory, and the disk that the build takes.
#
#   scripts/measure/build_cost.sh [--check] [--headers] [--incremental] [--no-build] [--build-dir build-cost] [TARGET...]
#
# --check: the exit code is 1 if an object took more than 30 s of CPU or 700 MB of memory. CPU seconds grow on a busy machine.
# --headers: also the CPU seconds of the ten public headers that cost most, each compiled alone; takes minutes.
# --incremental: also the seconds of a build after a change of runtime/engine/core.h, of runtime/scheduler/stream.h and
# of runtime/scheduler/stream.cc.
# --no-build: reads the table of the last run instead of building.
#
# BUILD-DIR/cost.tsv keeps a line per command of the build, as scripts/measure/compile_cost.py writes it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"
source "$root/scripts/lib/compile_jobs.sh"

build=$root/build-cost
compile=true
flags=()
targets=()
while (($# > 0)); do
  case $1 in
    --check | --headers) flags+=("$1"); shift ;;
    --incremental) flags+=(--touch runtime/engine/core.h --touch runtime/scheduler/stream.h --touch runtime/scheduler/stream.cc); shift ;;
    --no-build) compile=false; shift ;;
    --build-dir) build=$(realpath "${2:?--build-dir needs a folder}"); shift 2 ;;
    -*) die "unknown flag $1; the first lines of scripts/measure/build_cost.sh say what it takes" ;;
    *) targets+=("$1"); shift ;;
  esac
done
table=$build/cost.tsv

if $compile; then
  [[ ! -e $build || -f $build/CMakeCache.txt || -f $table ]] || die "$build: found no build folder, expected one that may be removed"
  rm -rf "$build"
  mkdir -p "$build"
  launcher="$(command -v python3);-SE;$root/scripts/measure/compile_cost.py;$table"
  definitions=(-DCMAKE_BUILD_TYPE=Release -DTESSERA_TESTS=ON -DTESSERA_TOGETHER=ON "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher"
    "-DCMAKE_CXX_LINKER_LAUNCHER=$launcher")
  run_logged "configuring" "$build/configure.log" cmake -S "$root" -B "$build" -G Ninja "${definitions[@]}" ||
    die "cmake could not configure $build"
  run_logged "building" "$build/build.log" ninja -C "$build" -j "$(compile_jobs)" "${targets[@]}" || die "the build stopped at an error"
fi
[[ -f $table ]] || die "$table: found no table, expected one of an earlier run without --no-build"
python3 "$root/scripts/measure/build_cost.py" --jobs "$(compile_jobs)" "${flags[@]}" -- "$build" "${targets[@]}"
