#!/usr/bin/env bash
# Asks llama.cpp and Tessera plain questions with the same file, template and sampling, and prints the share of right answers of each.
#
#   scripts/measure/compare_answers.sh [--json] [--seeds 20] [--threads 2]
#
# The questions and the answers that are right stand in scripts/measure/plain_questions.jsonl. The model is SmolLM2-135M-Instruct in Q4_1.
# Each question is asked once a seed. docs/benchmarks.md says what counts as right, and how the interval of the difference is computed.
# llama.cpp is built as for scripts/measure/compare_peer.sh. Nothing is timed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"
source "$root/scripts/measure/lib/peer.sh"

flags=()
while (($# > 0)); do
  case $1 in
    --json) flags+=(--json); shift ;;
    --seeds | --threads)
      (($# >= 2)) || die "$1 needs a value"
      [[ $2 =~ ^[1-9][0-9]*$ ]] || die "$1: found $2, expected a whole number from 1 on"
      flags+=("$1" "$2")
      shift 2 ;;
    *) die "unknown argument $1; usage: scripts/measure/compare_answers.sh [--json] [--seeds N] [--threads N]" ;;
  esac
done

prepare_peer
model=$(model_path smollm2) || die "the model could not be fetched"
exec python3 "$root/scripts/measure/compare_answers.py" --peer "$peer/build/bin" --ours "$root/build/bin" --model "$model" \
  --questions "$root/scripts/measure/plain_questions.jsonl" "${flags[@]}"
