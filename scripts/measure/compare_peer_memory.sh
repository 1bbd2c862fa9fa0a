#!/usr/bin/env bash
# Times llama.cpp and Tessera in alternation on a model that is larger than the memory they may use, and prints medians and ratios.
#
#   scripts/measure/compare_peer_memory.sh [--json] [--model random-4b] [--limits none,0.8,0.5,0.25] [--repetitions 5] [--threads 2]
#                                  [--tokens 16] [--peer_tokens 4] [--seconds 200]
#
# --model: one of those of compare_peer.sh. --limits: shares of the model's file; none: as much memory as there is. --tokens, --peer_tokens:
# tokens that ours and the peer generate; the peer may be slow. --seconds: a run that takes longer gives no result, and is not repeated.
# Every run is in a control group of its own, so the script needs the right to make one (root, or a delegated group). The model takes 2.4 GB
# of the cache, and packed as much again. docs/benchmarks.md says what is compared. Nothing else should run meanwhile.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"
source "$root/scripts/measure/lib/peer.sh"

model=random-4b
flags=()
while (($# > 0)); do
  case $1 in
    --json) flags+=(--json); shift ;;
    --model | --limits | --repetitions | --threads | --tokens | --peer_tokens | --seconds)
      (($# >= 2)) || die "$1 needs a value"
      if [[ $1 == --model ]]; then model=$2; else flags+=("$1" "$2"); fi
      shift 2 ;;
    *) die "unknown argument $1; usage: scripts/measure/compare_peer_memory.sh [--json] [--model NAME] [--limits A,B] [...]" ;;
  esac
done

# Faults that would end the script later are found before anything is fetched, built or made.
"$root/scripts/install_packages.sh" --tests || die "the packages are not all there"
check_model_name "$model"
python3 "$root/scripts/measure/compare_peer_memory.py" --check "${flags[@]}" || exit

prepare_peer
path=$(model_path "$model") || die "the model $model could not be fetched or made"
packed=${path%.gguf}.tsr
if [[ ! -e $packed || $path -nt $packed ]]; then
  run_logged "packing $model" "$cache/$model.pack.log" "$root/build/bin/tessera_pack" "$path" "$packed" || die "$path could not be packed"
fi
exec python3 "$root/scripts/measure/compare_peer_memory.py" --peer "$peer/build/bin" --ours "$root/build/bin" --gguf "$path" \
  --tsr "$packed" "${flags[@]}"
