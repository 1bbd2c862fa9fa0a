#!/usr/bin/env bash
# From a fresh Debian 12 to an answer: installs packages, builds tessera_generate, fetches the default model and asks it.
#
#   scripts/quickstart.sh "Why is the sky blue?" [--n_predict 64, or any other flag of build/bin/tessera_generate]
#
# Takes minutes, and says how many at the start; 3 GiB of memory are enough. scripts/build.sh builds the other programs and the libraries.
# Safe to run again: steps that are done are not repeated. The answer goes to stdout, everything else to stderr.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/shell.sh"

prompt="Why is the sky blue? Answer in one short paragraph."
if (($# > 0)) && [[ $1 != -* ]]; then
  prompt=$1
  shift
fi
generate=$root/build/bin/tessera_generate

# Says how long the steps take on 2 cores, as stage_seconds.tsv has them.
announce() {
  say "$(awk -F'\t' '
    $1 ~ /^first / { sum += $2; steps = steps (steps ? ", " : "") substr($1, 7) sprintf(" %.1f", $2 / 60) }
    END { printf "the first run takes about %d minutes on 2 cores (%s)", sum / 60 + 0.5, steps }' "$root/scripts/lib/stage_seconds.tsv")"
}

first_packages() { "$root/scripts/install_packages.sh"; }
first_program() { "$root/scripts/build.sh" tessera_generate; }
first_model() { model=$("$root/scripts/fetch_model.sh"); }

if [[ ! -x $generate ]]; then announce; fi
stage "first packages" first_packages || die "the packages are not all there, so nothing was built; the lines above tell why"
stage "first program" first_program || die "tessera_generate could not be built; the lines above tell why"
stage "first model" first_model || die "the default model could not be fetched; the lines above tell why"
say "answering: $prompt"
exec "$generate" --model "$model" --prompt "$prompt" "$@"
