#!/usr/bin/env bash
# Builds Tessera (Release): all targets, or those named.
#
#   scripts/build.sh [--build-dir build] [--type Release] [-DNAME=VALUE...] [TARGET...]
#
# The types with sanitizers (cmake/TesseraSanitizers.cmake) are built by clang++-19. Where ccache has a folder, ~/.cache/ccache or
# CCACHE_DIR, compiled objects are kept there, for other clones too; without one nothing is kept.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/shell.sh"

build=$root/build
type=Release
definitions=()
targets=()
while (($# > 0)); do
  case $1 in
    --build-dir) build=${2:?--build-dir needs a folder}; shift 2 ;;
    --build-dir=*) build=${1#*=}; shift ;;
    --type) type=${2:?--type needs a build type}; shift 2 ;;
    -D?*=*) definitions+=("$1"); shift ;;
    -*) die "unknown flag $1; usage: scripts/build.sh [--build-dir DIR] [--type TYPE] [-DNAME=VALUE...] [TARGET...]" ;;
    *) targets+=("$1"); shift ;;
  esac
done

mkdir -p "$build"
if [[ -d ${CCACHE_DIR:-${HOME:-}/.cache/ccache} ]] && command -v ccache >/dev/null; then
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1  # The same object serves every clone.
  definitions+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
# Once configured, ninja itself runs cmake again when a CMakeLists.txt or the list of sources changes.
if [[ ! -f $build/build.ninja ]]; then
  if [[ $type == *Sanitizer ]]; then definitions+=(-DCMAKE_CXX_COMPILER=clang++-19); fi
  run_logged "configuring" "$build/configure.log" \
    cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE="$type" "${definitions[@]}" || die "cmake could not configure $build"
fi
run_logged "building" "$build/build.log" ninja -C "$build" "${targets[@]}" || die "the build stopped at an error"
say "build: up to date in $build"
