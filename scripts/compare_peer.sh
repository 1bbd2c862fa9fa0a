#!/usr/bin/env bash
# Times llama.cpp and Tessera in alternation on the same file, with the same threads, and prints medians and ratios.
#
#   scripts/compare_peer.sh [--json] [--models smollm2,gemma3] [--repetitions 5] [--threads 2]
#
# llama.cpp comes out of the source distribution of the Python package llama-cpp-python, is built here for this CPU (about five
# minutes, once) and kept in the cache. Nothing else should run meanwhile: the figures are wall-clock times.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

models=smollm2,gemma3
flags=()
while (($# > 0)); do
  case $1 in
    --json) flags+=(--json); shift ;;
    --models | --repetitions | --threads)
      (($# >= 2)) || die "$1 needs a value"
      if [[ $1 == --models ]]; then models=$2; else flags+=("$1" "$2"); fi
      shift 2 ;;
    *) die "unknown argument $1; usage: scripts/compare_peer.sh [--json] [--models A,B] [--repetitions N] [--threads N]" ;;
  esac
done

version=0.3.36
sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
peer=$cache/peer
# A build for one CPU may not run on another: the cache may have moved.
built_for="llama-cpp-python $version, $(grep -m1 '^model name' /proc/cpuinfo || uname -m), $(g++ -dumpfullversion 2>/dev/null || true)"

fetch_source() {
  local archive=llama_cpp_python-$version.tar.gz
  mkdir -p "$peer"
  if [[ $(sha256sum "$peer/$archive" 2>/dev/null) != "$sha256 "* ]]; then
    run_logged "fetching llama.cpp" "$peer/fetch.log" python3 -m pip download --disable-pip-version-check --no-deps \
      --no-binary llama-cpp-python --dest "$peer" "llama-cpp-python==$version" || die "pip could not download llama-cpp-python $version"
    [[ $(sha256sum "$peer/$archive") == "$sha256 "* ]] || die "$peer/$archive has another SHA-256 than the expected $sha256"
  fi
  rm -rf "$peer/source"
  mkdir "$peer/source"
  tar -xzf "$peer/$archive" -C "$peer/source" --strip-components=3 "llama_cpp_python-$version/vendor/llama.cpp"
}

# The file built_for is written once configured; an interrupted build goes on from there.
build_peer() {
  if [[ $(cat "$peer/built_for" 2>/dev/null) != "$built_for" ]]; then
    fetch_source
    rm -rf "$peer/build" "$peer/built_for"
    run_logged "configuring llama.cpp" "$peer/configure.log" cmake -S "$peer/source" -B "$peer/build" -G Ninja \
      -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF \
      -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF || die "cmake could not configure llama.cpp"
    echo "$built_for" >"$peer/built_for"
  fi
  if [[ -x $peer/build/bin/llama-bench && -x $peer/build/bin/llama-simple ]]; then
    say "peer: llama.cpp is there"
    return
  fi
  run_logged "building llama.cpp" "$peer/build.log" ninja -C "$peer/build" llama-bench llama-simple || die "llama.cpp could not be built"
}

"$root/scripts/install_packages.sh" || die "the packages are not all there"
mkdir -p "$cache/peer"
exec {lock}>"$cache/.peer.lock"
flock "$lock"
build_peer
flock -u "$lock"
"$root/scripts/build.sh" tessera_apps_all || die "our programs could not be built"
pairs=()
for name in ${models//,/ }; do
  path=$("$root/scripts/fetch_model.sh" "$name") || die "the model $name could not be fetched"
  pairs+=("$name=$path")
done
exec python3 "$root/scripts/compare_peer.py" --peer "$peer/build/bin" --ours "$root/build/bin" "${flags[@]}" "${pairs[@]}"
