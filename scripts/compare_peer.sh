#!/usr/bin/env bash
# Times llama.cpp and Tessera in alternation on the same file, with the same threads, and prints medians and ratios.
#
#   scripts/compare_peer.sh [--json] [--models smollm2,gemma3] [--repetitions 5] [--threads 2] [--figures all] [--plots FOLDER]
#
# --models: smollm2, gemma3, and random-1b or random-4b, which tessera_random_model makes. --figures: some of prompt, generation,
# first_byte (these three without the flag), depth, best, perplexity, attention, bandwidth, rows; or all. docs/benchmarks.md explains
# them. --plots: draws the curves of rows there.
# llama.cpp comes out of the source distribution of the Python package llama-cpp-python, is built here for this CPU (about five
# minutes, once) and kept in the cache. Nothing else should run meanwhile: the figures are wall-clock times.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

models=smollm2,gemma3
figures=prompt,generation,first_byte
flags=()
usage="usage: scripts/compare_peer.sh [--json] [--models A,B] [--repetitions N] [--threads N] [--figures A,B] [--plots FOLDER]"
while (($# > 0)); do
  case $1 in
    --json) flags+=(--json); shift ;;
    --models | --repetitions | --threads | --figures | --plots)
      (($# >= 2)) || die "$1 needs a value"
      case $1 in
        --models) models=$2 ;;
        --figures) figures=$2 ;;
        *) flags+=("$1" "$2") ;;
      esac
      shift 2 ;;
    *) die "unknown argument $1; $usage" ;;
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
  local programs=(llama-bench llama-simple llama-quantize) program missing=0
  for program in "${programs[@]}"; do [[ -x $peer/build/bin/$program ]] || missing=1; done
  if ((missing == 0)); then
    say "peer: llama.cpp is there"
    return
  fi
  run_logged "building llama.cpp" "$peer/build.log" ninja -C "$peer/build" "${programs[@]}" || die "llama.cpp could not be built"
}

# Prints where the model is, which may have to be fetched or made.
model_path() {
  local name=$1 path
  if [[ $name != random-* ]]; then
    "$root/scripts/fetch_model.sh" "$name"
    return
  fi
  path=$cache/$name.Q4_0.gguf
  [[ -e $path ]] || run_logged "making $name" "$cache/$name.log" \
    "$root/build/bin/tessera_random_model" --shape "${name#random-}" --format Q4_0 --out "$path" || return 1
  echo "$path"
}

# Prints where the peer's Q4_0 file of a model is, which it makes itself. Q4_0 is the 4-bit format it has its fastest kernels for.
quantized_path() {
  local name=$1 from=$2 path=$peer/$name.Q4_0.gguf
  if [[ ! -e $path || $from -nt $path ]]; then
    run_logged "quantizing $name to Q4_0" "$peer/quantize.log" \
      "$peer/build/bin/llama-quantize" --allow-requantize "$from" "$path.part" Q4_0 || return 1
    mv "$path.part" "$path"
  fi
  echo "$path"
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
  path=$(model_path "$name") || die "the model $name could not be fetched or made"
  pairs+=("$name=$path")
  if [[ ,$figures, =~ ,(all|best|perplexity), ]]; then
    quantized=$(quantized_path "$name" "$path") || die "the peer could not quantize $name"
    flags+=(--quantized "$name=$quantized")
  fi
done
exec python3 "$root/scripts/compare_peer.py" --peer "$peer/build/bin" --ours "$root/build/bin" --figures "$figures" "${flags[@]}" "${pairs[@]}"
