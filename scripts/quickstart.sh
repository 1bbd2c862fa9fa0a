#!/usr/bin/env bash
# From a fresh Debian 12 to an answer: installs packages, builds, fetches the default model and asks it.
#
#   scripts/quickstart.sh "Why is the sky blue?" [--n_predict 64, or any other flag of build/bin/tessera_generate]
#
# Safe to run again: steps that are done are not repeated. The answer goes to stdout, everything else to stderr.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/shell.sh"

prompt="Why is the sky blue? Answer in one short paragraph."
if (($# > 0)) && [[ $1 != -* ]]; then
  prompt=$1
  shift
fi

"$root/scripts/install_packages.sh" || die "the packages are not all there, so nothing was built; the line above tells why"
"$root/scripts/build.sh" tessera_apps_all || die "the programs could not be built; the lines above tell why"
model=$("$root/scripts/fetch_model.sh") || die "the default model could not be fetched; the line above tells why"
say "answering: $prompt"
exec "$root/build/bin/tessera_generate" --model "$model" --prompt "$prompt" "$@"
