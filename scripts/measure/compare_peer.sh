#!/usr/bin/env bash
# Times llama.cpp and Tessera in alternation on the same file, with the same threads, and prints medians and ratios.
#
#   scripts/measure/compare_peer.sh [--json] [--models smollm2,gemma3] [--repetitions 5] [--threads 2] [--figures all] [--plots FOLDER]
#
# --models: smollm2, gemma3, and random-1b or random-4b, which tessera_random_model makes. --figures: some of prompt, generation,
# first_byte, limit (these four without the flag), depth, best, perplexity, attention, bandwidth, rows; or all. docs/benchmarks.md
# explains them. --plots: draws the curves of rows there.
# llama.cpp comes from the source distribution of the Python package llama-cpp-python, is built for this CPU (about five minutes, once) and
# kept in the cache. Nothing else should run meanwhile: the figures are wall-clock times.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"
source "$root/scripts/measure/lib/peer.sh"

models=smollm2,gemma3
figures=prompt,generation,first_byte,limit
flags=()
usage="usage: scripts/measure/compare_peer.sh [--json] [--models A,B] [--repetitions N] [--threads N] [--figures A,B] [--plots FOLDER]"
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

# Prints the path of the peer's Q4_0 file of a model, which the peer makes itself. Q4_0 is the 4-bit format with its fastest kernels.
quantized_path() {
  local name=$1 from=$2 path=$peer/$name.Q4_0.gguf
  if [[ ! -e $path || $from -nt $path ]]; then
    run_logged "quantizing $name to Q4_0" "$peer/quantize.log" \
      "$peer/build/bin/llama-quantize" --allow-requantize "$from" "$path.part" Q4_0 || return 1
    mv "$path.part" "$path"
  fi
  echo "$path"
}

# Prints the path of our own 4-bit file for the same comparison: the model with a head of Q4_1. A random model has such a small head
# already, so it is that model.
smaller_path() {
  local name=$1 from=$2 path=$cache/$name.Q4_1-head.gguf
  if [[ $name == random-* ]]; then
    path=$from
  elif [[ ! -e $path || $from -nt $path || $root/build/bin/tessera_quantize -nt $path ]]; then
    run_logged "giving $name a smaller head" "$cache/quantize.log" \
      "$root/build/bin/tessera_quantize" --head_format=Q4_1 "$from" "$path" || return 1
  fi
  echo "$path"
}

prepare_peer
pairs=()
for name in ${models//,/ }; do
  path=$(model_path "$name") || die "the model $name could not be fetched or made"
  pairs+=("$name=$path")
  if [[ ,$figures, =~ ,(all|best|perplexity), ]]; then
    quantized=$(quantized_path "$name" "$path") || die "the peer could not quantize $name"
    smaller=$(smaller_path "$name" "$path") || die "tessera_quantize failed on $name"
    flags+=(--quantized "$name=$quantized" --smaller "$name=$smaller")
  fi
done
exec python3 "$root/scripts/measure/compare_peer.py" --peer "$peer/build/bin" --ours "$root/build/bin" --figures "$figures" \
  "${flags[@]}" "${pairs[@]}"
