#!/usr/bin/env bash
# Fetches the Python package tokenizers into the cache ($TESSERA_CACHE, default ~/.cache/tessera) and prints the folder to import it from.
#
#   scripts/fetch_tokenizers.sh
#
# Tests compare tokens with it. It comes by pip with the settings of this machine, without the packages it could download models with.
# The folder appears under its name only when it is whole. Several runs at once wait for each other.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/shell.sh"

(($# == 0)) || die "unknown argument $1; usage: scripts/fetch_tokenizers.sh"
version=0.23.3
folder=$cache/python/tokenizers-$version

if [[ ! -d $folder ]]; then
  mkdir -p "$cache/python" || die "cannot make the folder $cache/python; set TESSERA_CACHE to one that can be written"
  exec {lock}>"$cache/.tokenizers.lock"
  flock "$lock"
fi
if [[ ! -d $folder ]]; then
  work=$cache/python/.fetching-tokenizers  # Only this run uses it: it holds the lock.
  trap 'rm -rf "$work"' EXIT
  rm -rf "$work"
  mkdir "$work"
  TMPDIR=$work run_logged "fetching tokenizers" "$work/log" python3 -m pip install --disable-pip-version-check --no-deps --no-cache-dir \
    --only-binary tokenizers --target "$work/package" "tokenizers==$version" ||
    die "pip could not install tokenizers $version; its messages stand above"
  mv "$work/package" "$folder"
fi
say "tokenizers $version is there"
echo "$folder"
