#!/usr/bin/env bash
# Computes the logits of tiny models with llama.cpp and with Tessera, and prints how far each is from a plain forward pass in FP64.
#
#   scripts/measure/compare_peer_logits.sh [--json]
#
# The models and the FP64 logits are those of tests/golden/forward.jsonl: four architectures, each optional tensor there and not there.
# docs/numerics.md says what is compared. llama.cpp is built as for scripts/measure/compare_peer.sh. Nothing is timed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"
source "$root/scripts/measure/lib/peer.sh"

flags=()
while (($# > 0)); do
  case $1 in
    --json) flags+=(--json); shift ;;
    *) die "unknown argument $1; usage: scripts/measure/compare_peer_logits.sh [--json]" ;;
  esac
done

prepare_peer
"$root/scripts/build.sh" --tests tessera_forward_models || die "what makes the models could not be built"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$root/build/bin/tessera_forward_models" "$folder" || die "the models could not be made"
python3 "$root/scripts/measure/compare_peer_logits.py" --peer "$peer/build/bin" --ours "$root/build/bin" --models "$folder" \
  --cases "$root/tests/golden/forward.jsonl" "${flags[@]}"
