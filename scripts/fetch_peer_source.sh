#!/usr/bin/env bash
# Fetches the source of llama.cpp into the cache ($TESSERA_CACHE, default ~/.cache/tessera), checks its SHA-256 and prints its folder.
#
#   scripts/fetch_peer_source.sh
#
# It comes from the source distribution of the Python package llama-cpp-python, by pip with the settings of this machine. Tests read chat
# templates (models/templates), vocabularies with their texts and tokens (models/ggml-vocab-*) and the package gguf (gguf-py) in it;
# scripts/measure builds it. The folder appears under its name only when it is whole. Several runs at once wait for each other.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/shell.sh"

(($# == 0)) || die "unknown argument $1; usage: scripts/fetch_peer_source.sh"
version=0.3.36
sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
peer=$cache/peer
source=$peer/source-$version
archive=llama_cpp_python-$version.tar.gz

if [[ ! -d $source ]]; then
  mkdir -p "$peer" || die "cannot make the folder $peer; set TESSERA_CACHE to one that can be written"
  exec {lock}>"$cache/.peer_source.lock"
  flock "$lock"
fi
if [[ ! -d $source ]]; then
  work=$peer/.fetching  # Only this run uses it: it holds the lock.
  trap 'rm -rf "$work"' EXIT
  rm -rf "$work"
  mkdir "$work"
  if [[ $(sha256sum "$peer/$archive" 2>/dev/null) == "$sha256 "* ]]; then mv "$peer/$archive" "$work"; else
    TMPDIR=$work run_logged "fetching llama.cpp's source" "$work/log" python3 -m pip download --disable-pip-version-check --no-deps \
      --no-cache-dir --no-binary llama-cpp-python --dest "$work" "llama-cpp-python==$version" ||
      die "pip could not download llama-cpp-python $version; its messages stand above"
    [[ $(sha256sum "$work/$archive") == "$sha256 "* ]] || die "$archive has another SHA-256 than the expected $sha256"
  fi
  mkdir "$work/source"
  tar -xzf "$work/$archive" -C "$work/source" --strip-components=3 "llama_cpp_python-$version/vendor/llama.cpp"
  mv "$work/source" "$source"
fi
say "peer: the source of llama-cpp-python $version is there"
echo "$source"
