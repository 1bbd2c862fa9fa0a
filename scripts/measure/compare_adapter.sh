#!/usr/bin/env bash
# Writes texts by the same adapter with llama.cpp and with Tessera, and prints both, and whether they are the same.
#
#   scripts/measure/compare_adapter.sh MODEL ADAPTER_FOLDER --prompt TEXT [--prompt TEXT ...] [--n_predict 80] [--threads 2] [--json]
#   scripts/measure/compare_adapter.sh MODEL ADAPTER_FOLDER --data FILE [--texts 10] [...]
#
# The folder is PEFT's; llama.cpp gets a GGUF file that scripts/train/adapter_to_gguf.py makes of it. --data: dialogues, one per line.
# llama.cpp is built as for scripts/measure/compare_peer.sh. Nothing is timed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"
source "$root/scripts/measure/lib/peer.sh"

usage="usage: scripts/measure/compare_adapter.sh MODEL ADAPTER_FOLDER --prompt TEXT | --data FILE [...]"
(($# >= 2)) && [[ $1 != --* && $2 != --* ]] || die "found no model and adapter; $usage"
model=$1 adapter=$2
shift 2
[[ -f $model ]] || die "$model: found no file, expected a GGUF model"
[[ -d $adapter ]] || die "$adapter: found no folder, expected that of a PEFT adapter"
flags=()
while (($# > 0)); do
  case $1 in
    --json) flags+=(--json); shift ;;
    --prompt | --data | --texts | --n_predict | --threads)
      (($# >= 2)) || die "$1 needs a value"
      flags+=("$1" "$2")
      shift 2 ;;
    *) die "unknown argument $1; $usage" ;;
  esac
done

prepare_peer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 "$root/scripts/train/adapter_to_gguf.py" --model "$model" --adapter "$adapter" --out "$folder/adapter.gguf" ||
  die "the adapter could not be written as GGUF"
python3 "$root/scripts/measure/compare_adapter.py" --peer "$peer/build/bin" --ours "$root/build/bin" --model "$model" \
  --adapter "$adapter" --gguf "$folder/adapter.gguf" "${flags[@]}"
