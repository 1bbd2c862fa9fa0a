#!/usr/bin/env bash
# Times a model that is larger than the memory it may use, written with a draft model and without, beside llama.cpp with the same draft.
#
#   scripts/measure/compare_lever.sh [--json] [--limits 0.25,0.5,0.8] [--drafts 4,8,16] [--texts 1] [--tokens 64] [--peer_tokens 4]
#                            [--threads 2] [--seconds 400] [--gguf FILE --tsr FILE --draft FILE]
#
# --limits: shares of the model's file; none: as much memory as there is. --drafts: most tokens of a draft of llama.cpp, the best of which
# counts. --texts: of each of four sets. --tokens: of each text; --peer_tokens: of llama.cpp without a draft. --seconds: a run that takes
# longer gives no result, and is not repeated. --gguf, --tsr, --draft: the model, the same packed, and its draft, in place of those that
# the script makes once: a model of four billion parameters with the text of SmolLM2, lever-4b.gguf and lever-4b.tsr, 4.8 GB together, and
# SmolLM2 in 4 bits, lever-draft.gguf. They lie in the cache, $TESSERA_CACHE or ~/.cache/tessera, as does llama.cpp, which is fetched and
# built in peer; our own programs are built in build. Missing Debian packages are installed first. Every run is in a control group of its
# own, so the script needs the right to make one (root, or a delegated group). docs/benchmarks.md says what is compared. Nothing else
# should run meanwhile.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"
source "$root/scripts/measure/lib/peer.sh"

gguf='' tsr='' draft=''
flags=()
while (($# > 0)); do
  case $1 in
    --json) flags+=(--json); shift ;;
    --limits | --drafts | --texts | --tokens | --peer_tokens | --threads | --seconds | --gguf | --tsr | --draft)
      (($# >= 2)) || die "$1 needs a value"
      case $1 in
        --gguf) gguf=$2 ;;
        --tsr) tsr=$2 ;;
        --draft) draft=$2 ;;
        *) flags+=("$1" "$2") ;;
      esac
      shift 2 ;;
    *) die "unknown argument $1; usage: scripts/measure/compare_lever.sh [--json] [--limits A,B] [--drafts A,B] [...]" ;;
  esac
done
own=$gguf$tsr$draft
[[ -z $own || ( -n $gguf && -n $tsr && -n $draft ) ]] || die "found some of --gguf, --tsr and --draft, expected all of them or none"
for path in ${own:+"$gguf" "$tsr" "$draft"}; do [[ -f $path ]] || die "$path: found no file, expected a model"; done

# Faults that would end the script later are found before anything is fetched, built or made.
"$root/scripts/install_packages.sh" --tests || die "the packages are not all there"
python3 "$root/scripts/measure/compare_lever.py" --check "${flags[@]}" || exit

prepare_peer
make_model() {
  local what=$1 path=$2
  shift 2
  [[ -e $path ]] || run_logged "making $what" "$cache/lever.log" "$@" || die "$path could not be made"
}
if [[ -z $own ]]; then
  small=$(model_path smollm2) || die "the model could not be fetched"
  draft=$cache/lever-draft.gguf gguf=$cache/lever-4b.gguf tsr=$cache/lever-4b.tsr
  make_model "the draft" "$draft" "$root/build/bin/tessera_quantize" --format=Q4_0 --head_format=Q4_0 "$small" "$draft"
  make_model "the model" "$gguf" "$root/build/bin/tessera_random_model" --around="$draft" --shape=4b --out="$gguf"
  make_model "the packed model" "$tsr" "$root/build/bin/tessera_pack" "$gguf" "$tsr"
fi
exec python3 "$root/scripts/measure/compare_lever.py" --peer "$peer/build/bin" --ours "$root/build/bin" --gguf "$gguf" --tsr "$tsr" \
  --draft "$draft" --data "$root/tests/data/speculation" "${flags[@]}"
