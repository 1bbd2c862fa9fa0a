#!/usr/bin/env bash
# Prints the five likeliest first tokens of an answer with their probabilities: of the FP32 reference path, the fast path and the npu path.
#
#   scripts/measure/first_tokens.sh [--prompt "What is the capital of France?"] [--peer] [--json]
#
# The model is SmolLM2-135M-Instruct in Q4_1, the prompt is a dialogue by its template, and probabilities are those at temperature 1. The
# fast path is computed with each set of kernels that this CPU has: their probabilities must be the same. --peer: also those of llama.cpp
# with the same file, and with a file of FP32 weights that llama.cpp's own llama-quantize makes of it (540 MB, removed at the end); it is
# built as for scripts/measure/compare_peer.sh. Nothing is timed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"
source "$root/scripts/measure/lib/peer.sh"

usage='usage: scripts/measure/first_tokens.sh [--prompt TEXT] [--peer] [--json]'
beside=false
flags=()
while (($# > 0)); do
  case $1 in
    --json) flags+=(--json); shift ;;
    --peer) beside=true; shift ;;
    --prompt)
      (($# >= 2)) || die "$1 needs a value; $usage"
      flags+=("$1=$2")
      shift 2 ;;
    *) die "unknown argument $1; $usage" ;;
  esac
done

if $beside; then prepare_peer; else "$root/scripts/build.sh" tessera_generate tessera_tokenize || die "our programs could not be built"; fi
model=$(model_path smollm2) || die "the model could not be fetched"
if $beside; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  run_logged "making FP32 weights" "$peer/quantize.log" \
    "$peer/build/bin/llama-quantize" --allow-requantize "$model" "$folder/f32.gguf" F32 ||
    die "llama-quantize could not make FP32 weights"
  flags+=(--peer "$peer/build/bin" --f32 "$folder/f32.gguf")
fi
python3 "$root/scripts/measure/first_tokens.py" --ours "$root/build/bin" --model "$model" "${flags[@]}"
