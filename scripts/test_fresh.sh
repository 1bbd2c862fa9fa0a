#!/usr/bin/env bash
# Proves that a clone works on a fresh Debian 12: makes one in a chroot and runs the README's two commands there, as root.
#
#   scripts/test_fresh.sh [--quick]                 (--quick: only scripts/quickstart.sh, twice, and a program that uses what it built)
#
# Tests the committed state. Takes from this machine only how to reach package sources (apt's sources and proxies, pip's settings,
# certificates, *_proxy). The mounts are in a mount namespace of their own and end with it, whatever happens.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/shell.sh"

quick=false
for argument in "$@"; do
  case $argument in
    --quick) quick=true ;;
    *) die "unknown argument $argument; usage: scripts/test_fresh.sh [--quick]" ;;
  esac
done
((EUID == 0)) || die "a chroot can only be made by root"
clone=/opt/tessera

"$root/scripts/install_packages.sh" --fresh || die "what makes a Debian cannot be installed"
work=$(mktemp -d)
chroot=$work/root
logs=$root/build/test_fresh
mkdir -p "$logs"
trap 'rm -rf --one-file-system "$work"' EXIT

make_chroot() {
  local sources
  mapfile -t sources < <(bookworm_sources)
  ((${#sources[@]} > 0)) || die "apt's sources on this machine name no bookworm"
  apt-config dump | grep -E '^Acquire::(https?|Retries|ForceIPv4)\b' >"$work/apt.conf" || true
  run_logged "making a Debian 12" "$logs/mmdebstrap.log" \
    mmdebstrap --mode=root --variant=minbase --aptopt="$work/apt.conf" bookworm "$chroot" "${sources[@]}" || die "mmdebstrap failed"
}

copy_settings() {
  local path
  for path in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs /usr/local/share/ca-certificates \
    "$HOME/.config/pip" "$HOME/.pip"; do
    [[ -e $path ]] || continue
    mkdir -p "$chroot$(dirname "$path")"
    cp -rL --no-target-directory "$path" "$chroot$path"
  done 2>/dev/null
}

# Runs COMMAND in the clone, with an environment that holds only what a login sets, the proxies and PIP_*.
inside() {
  local environment=(HOME="$HOME" PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8) entry
  while IFS= read -r -d '' entry; do
    if [[ $entry =~ ^(PIP_[A-Z_]+|[A-Za-z]+_proxy|[A-Z]+_PROXY)= ]]; then environment+=("$entry"); fi
  done < <(env -0)
  # shellcheck disable=SC2016
  env -i "${environment[@]}" unshare --mount --propagation=private bash -c '
    mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/run" || exit 99
    exec chroot "$0" bash -c '"'"'cd "$0" && exec "$@"'"'"' "$@"' "$chroot" "$clone" "$@" </dev/null
}

check_words() { [[ $(wc -w <"$1") -ge 3 ]] || die "quickstart printed no words: $(head -c 200 "$1")"; }

first_run() {
  inside scripts/quickstart.sh "Why is the sky blue?" >"$logs/quickstart.txt" 2> >(tee "$logs/quickstart.log" >&2) ||
    die "quickstart failed"
  check_words "$logs/quickstart.txt"
}

# The time of the first byte, by a reader of the pipe; the rest of the text follows it.
second_run() {
  local start=$EPOCHREALTIME took first
  coproc quickstart { inside scripts/quickstart.sh "Name three colours." 2>"$logs/second.log"; }
  local pid=$quickstart_PID output
  exec {output}<&"${quickstart[0]}"
  IFS= read -r -n 1 -u "$output" first || die "the second quickstart printed nothing: $(tail -n 3 "$logs/second.log")"
  took=$(seconds_since "$start")
  { printf '%s' "$first"; cat <&"$output"; } >"$logs/second.txt"
  wait "$pid" || die "the second quickstart failed: $(tail -n 3 "$logs/second.log")"
  check_words "$logs/second.txt"
  say "second quickstart: first word after $took s"
  ((${took%.*} < 2)) || die "the second quickstart's first word took $took s, expected less than 2 s"
}

# Installs what the first command has built, and builds and runs docs/examples/hello.cc as docs/packages.md says.
own_program() {
  local line
  for line in 'cmake --install build --prefix /opt/installed' \
    'cmake -S docs/examples -B /opt/hello -G Ninja -DCMAKE_PREFIX_PATH=/opt/installed && cmake --build /opt/hello' \
    '/opt/hello/hello "$(scripts/fetch_model.sh)" "Name three colours." >/opt/hello.txt'; do
    inside bash -c "$line" >"$logs/hello.log" 2>&1 || die "$line: $(tail -n 5 "$logs/hello.log")"
  done
  check_words "$chroot/opt/hello.txt"
}

whole_tests() {
  inside scripts/test.sh >"$logs/test.txt" 2> >(tee "$logs/test.log" >&2) || die "test.sh failed: $(tail -n 1 "$logs/test.txt")"
  tail -n 1 "$logs/test.txt" | grep -qE '^[1-9][0-9]* passed, 0 failed$' || die "test.sh ended with: $(tail -n 1 "$logs/test.txt")"
  cat "$logs/test.txt"
}

stage "fresh system" make_chroot
copy_settings
stage clone git clone --quiet "$root" "$chroot$clone"
stage quickstart first_run
stage "second run" second_run
stage "own program" own_program
if ! $quick; then stage tests whole_tests; fi
stage_table
say "a fresh Debian 12 runs what README says"
