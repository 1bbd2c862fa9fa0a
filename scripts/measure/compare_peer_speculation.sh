#!/usr/bin/env bash
# Times llama.cpp's drafts from n-grams and Tessera's drafts on the same prompts, and counts the texts that drafts changed.
#
#   scripts/measure/compare_peer_speculation.sh [--json] [--data FOLDER] [--categories A,B] [--texts 48] [--tokens 128] [--threads 2]
#                                       [--cpus 0,1] [--speculate auto]
#
# --data, --categories, --texts, --speculate: as for tessera_bench spec. --cpus: the CPUs on which all programs run.
# docs/speculation.md says what is compared. Nothing else should run meanwhile: the figures are wall-clock times.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"
source "$root/scripts/measure/lib/peer.sh"

flags=(--data "$root/tests/data/speculation")
while (($# > 0)); do
  case $1 in
    --json) flags+=(--json); shift ;;
    --data | --categories | --texts | --tokens | --threads | --cpus | --speculate)
      (($# >= 2)) || die "$1 needs a value"
      flags+=("$1" "$2")
      shift 2 ;;
    *) die "unknown argument $1; usage: scripts/measure/compare_peer_speculation.sh [--json] [--data FOLDER] [--texts N] [...]" ;;
  esac
done

prepare_peer
model=$(model_path smollm2) || die "the model could not be fetched"
exec python3 "$root/scripts/measure/compare_peer_speculation.py" --peer "$peer/build/bin" --ours "$root/build/bin" \
  --model "$model" "${flags[@]}"
