#!/usr/bin/env bash
# Runs COMMAND as on a bare Debian that has the packages of scripts/install_packages.sh and no others: what programs this machine has
# besides are hidden from it, also where it looks for them by their paths.
#
#   scripts/tests/with_named_programs.sh [--tests] [--sanitizers] [--arm64] [--avx512] -- COMMAND [ARGUMENT...]
#
# The flags are those of install_packages.sh; their packages must be there. Takes root and overlayfs: where nothing can be hidden, the
# exit code is 125. Programs are hidden in a mount namespace, which ends with COMMAND; nothing can be installed in there.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"

flags=()
while (($# > 0)) && [[ $1 != -- ]]; do
  case $1 in
    --tests | --sanitizers | --arm64 | --avx512) flags+=("$1"); shift ;;
    *) die "unknown argument $1; usage: scripts/tests/with_named_programs.sh [--tests] [--sanitizers] [--arm64] [--avx512] -- COMMAND" ;;
  esac
done
(($# > 1)) || die "found no command, expected one behind --"
shift

# Runs in the namespace. LACKING lists what to hide, as debian_programs.py prints it; LAYERS takes what is changed.
hide_and_run() {
  local lacking=$1 layers=$2 folder path target
  shift 2
  local folders=(/usr/bin /usr/sbin)
  for folder in /usr/local/bin /usr/local/sbin; do [[ ! -d $folder ]] || folders+=("$folder"); done
  mount -t tmpfs none "$layers" || exit 125
  for folder in "${folders[@]}"; do
    mkdir -p "$layers$folder"/{upper,work}
    mount -t overlay none -o "lowerdir=$folder,upperdir=$layers$folder/upper,workdir=$layers$folder/work" "$folder" || exit 125
  done
  while IFS=$'\t' read -r path target; do
    rm -rf -- "$path"
    [[ -z $target ]] || ln -s "$target" "$path"
  done <"$lacking"
  for folder in "${folders[@]}"; do mount -o remount,ro "$folder"; done
  umount --lazy "$layers"
  PATH=/usr/sbin:/usr/bin:/sbin:/bin exec "$@"
}

unshare --mount true 2>/dev/null || { say "no program can be hidden here: unshare --mount is not allowed"; exit 125; }
lacking=$(mktemp)
layers=$(mktemp -d)
trap 'rm -f "$lacking"; rmdir "$layers" 2>/dev/null || true' EXIT
python3 "$root/scripts/lib/debian_programs.py" "${flags[@]}" >"$lacking" || die "dpkg does not say which programs belong to which package"
unshare --mount --propagation=private bash -c "$(declare -f hide_and_run)"$'\nhide_and_run "$@"' bash "$lacking" "$layers" "$@"
