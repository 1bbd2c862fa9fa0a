#!/usr/bin/env bash
# Builds Tessera (Release): all programs and libraries, or the targets named.
#
#   scripts/build.sh [--tests] [--build-dir build] [--type Release] [-DNAME=VALUE...] [TARGET...]
#
# --tests: the tests, too; a build folder that has tests once keeps them.
#
# Sources of a folder are compiled together, as cmake/TesseraTogether.cmake says; with -DTESSERA_TOGETHER=OFF each alone, which is faster
# after a change of one source. The types with sanitizers (cmake/TesseraSanitizers.cmake) are built by clang++-19. Where ccache has a
# folder, ~/.cache/ccache or CCACHE_DIR, compiled objects are kept there, for other clones too, and each source is compiled alone; without
# one nothing is kept. As many files are compiled at once as there are CPUs and as the memory allows (scripts/lib/compile_jobs.sh).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/shell.sh"
source "$root/scripts/lib/compile_jobs.sh"

build=$root/build
tests=false
how=(-DTESSERA_TOGETHER=ON)
definitions=()
targets=()
while (($# > 0)); do
  case $1 in
    --tests) definitions+=(-DTESSERA_TESTS=ON); tests=true; shift ;;
    --build-dir) build=${2:?--build-dir needs a folder}; shift 2 ;;
    --build-dir=*) build=${1#*=}; shift ;;
    --type) definitions+=(-DCMAKE_BUILD_TYPE="${2:?--type needs a build type}"); shift 2 ;;
    -D?*=*) definitions+=("$1"); shift ;;
    -*) die "unknown flag $1; usage: scripts/build.sh [--tests] [--build-dir DIR] [--type TYPE] [-DNAME=VALUE...] [TARGET...]" ;;
    *) targets+=("$1"); shift ;;
  esac
done

# Whether the build folder is configured as -DNAME=VALUE says. CMake keeps the compiler's whole path.
is_configured() {
  local name=${1#-D} value=${1#*=} found
  found=$(sed -nE "s/^${name%%=*}:[A-Z]+=//p" "$build/CMakeCache.txt")
  [[ $found == "$value" || $found == */"$value" ]]
}

# Once configured, ninja itself runs cmake again when a CMakeLists.txt or the list of sources changes.
needs_configuring() {
  local definition
  for definition in "${definitions[@]}"; do is_configured "$definition" || return 0; done
  return 1
}

mkdir -p "$build"
if [[ -d ${CCACHE_DIR:-${HOME:-}/.cache/ccache} ]] && command -v ccache >/dev/null; then
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1  # The same object serves every clone.
  how=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
if [[ ! -f $build/build.ninja ]]; then
  if ! $tests; then definitions=(-DTESSERA_TESTS=OFF "${definitions[@]}"); fi
  if [[ " ${definitions[*]} " == *Sanitizer\ * ]]; then definitions=(-DCMAKE_CXX_COMPILER=clang++-19 "${definitions[@]}"); fi
  definitions=("${how[@]}" -DCMAKE_BUILD_TYPE=Release "${definitions[@]}")
fi
if [[ ! -f $build/build.ninja ]] || needs_configuring; then
  run_logged "configuring" "$build/configure.log" cmake -S "$root" -B "$build" -G Ninja "${definitions[@]}" ||
    die "cmake could not configure $build"
fi
run_logged "building" "$build/build.log" ninja -C "$build" -j "$(compile_jobs)" "${targets[@]}" || die "the build stopped at an error"
say "build: up to date in $build"
