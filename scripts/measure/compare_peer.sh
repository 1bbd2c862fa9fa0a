#!/usr/bin/env bash
# Times llama.cpp and Tessera in alternation on the same file, with the same threads, and prints medians and ratios.
#
#   scripts/measure/compare_peer.sh [--json] [--models smollm2,gemma3] [--repetitions 5] [--threads 2] [--figures all] [--plots FOLDER]
#   scripts/measure/compare_peer.sh --engines openvino,onnxruntime [--json] [--models A,B] [--repetitions 5] [--threads 2]
#
# --models: smollm2, gemma3, and random-1b or random-4b, which tessera_random_model makes. --figures: some of prompt, generation,
# first_byte, limit (these four without the flag), depth, best, perplexity, attention, bandwidth, texts, rows; or all. docs/benchmarks.md
# explains them. --plots: draws the curves of rows there. --engines: instead, one row per engine and model, each engine on its best
# 4-bit form of the model: Tessera, llama.cpp and those that are named, with bits per weight, perplexity and memory beside the speeds.
# llama.cpp comes from the source distribution of the Python package llama-cpp-python, is built for this CPU (about five minutes, once) and
# kept in the cache; OpenVINO GenAI and onnxruntime-genai come from the Python registry (six gigabytes). Nothing else should run
# meanwhile: the figures are wall-clock times.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"
source "$root/scripts/measure/lib/peer.sh"
source "$root/scripts/measure/lib/other_engines.sh"

models=smollm2,gemma3
figures=prompt,generation,first_byte,limit
engines=
flags=()
usage="usage: scripts/measure/compare_peer.sh [--json] [--models A,B] [--repetitions N] [--threads N] "
usage+="[--figures A,B] [--plots FOLDER] | --engines A,B"
while (($# > 0)); do
  case $1 in
    --json) flags+=(--json); shift ;;
    --models | --repetitions | --threads | --figures | --plots | --engines)
      (($# >= 2)) || die "$1 needs a value"
      case $1 in
        --models) models=$2 ;;
        --figures) figures=$2 ;;
        --engines) engines=$2 ;;
        *) flags+=("$1" "$2") ;;
      esac
      shift 2 ;;
    *) die "unknown argument $1; $usage" ;;
  esac
done
for engine in ${engines//,/ }; do
  [[ $engine == openvino || $engine == onnxruntime ]] || die "--engines: found $engine, expected some of openvino, onnxruntime"
done
[[ -z $engines || "${flags[*]}" != *--plots* ]] || die "--plots belongs to figures, not to --engines"

# Prints the path of the peer's Q4_0 file of a model, which the peer makes itself. Q4_0 is the 4-bit format with its fastest kernels, for
# the head, too: left alone, the peer gives a head that shares the embedding's table 6 or 8 bits.
quantized_path() {
  local name=$1 from=$2 path=$peer/$name.Q4_0-head.gguf
  if [[ ! -e $path || $from -nt $path ]]; then
    run_logged "quantizing $name to Q4_0" "$peer/quantize.log" "$peer/build/bin/llama-quantize" --allow-requantize \
      --token-embedding-type q4_0 --output-tensor-type q4_0 "$from" "$path.part" Q4_0 || return 1
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

# One row per engine and model. Each form's path goes into a file of JSON, NAME: {"model": ..., ENGINE: ...}.
compare_engines() {
  local name path quantized smaller folder engine forms=() entry
  prepare_other_engines
  for name in ${models//,/ }; do
    path=$(model_path "$name") || die "the model $name could not be fetched or made"
    quantized=$(quantized_path "$name" "$path") || die "the peer could not quantize $name"
    smaller=$(smaller_path "$name" "$path") || die "tessera_quantize failed on $name"
    folder=$(other_forms "$name" "$path" "$engines") || die "$name could not be made for the other engines"
    entry="\"$name\": {\"model\": \"$path\", \"tessera\": \"$smaller\", \"llama.cpp\": \"$quantized\""
    for engine in ${engines//,/ }; do entry+=", \"$engine\": \"$folder/$engine\""; done
    forms+=("$entry}")
  done
  local IFS=,
  echo "{${forms[*]}}" >"$peer/forms.json"
  exec python3 "$root/scripts/measure/compare_engines.py" --peer "$peer/build/bin" --ours "$root/build/bin" --python "$other_python" \
    --forms "$peer/forms.json" "${flags[@]}"
}

prepare_peer
if [[ -n $engines ]]; then compare_engines; fi
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
