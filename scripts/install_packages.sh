#!/usr/bin/env bash
# Installs the Debian packages that building and running the programs needs. Does nothing (in a few milliseconds) if all are there.
#
#   scripts/install_packages.sh [--tests] [--sanitizers] [--arm64] [--avx512] [--fresh] [--list | --libraries]
#
# --tests: also the packages of the tests and the checks, of measurements beside other engines, and a cache of compiled objects.
# --sanitizers: --tests, and the compiler of the builds with sanitizers, which only scripts/test.sh and scripts/tests/fuzz.sh need.
# --arm64: --tests, and the cross compiler and the emulator of scripts/tests/test_arm64.sh.
# --avx512: --tests, and the compiler and the emulated instructions of scripts/tests/test_avx512.sh.
# --fresh: also the package that makes the Debian of scripts/test_fresh.sh.
# --list: installs nothing and prints their names, one per line. Every program that scripts and tests start is in these packages or in
# every Debian: scripts/checks/check_programs.py checks the scripts, and scripts/test.sh hides all other programs from what it runs.
# --libraries: installs nothing and prints the packages of libraries, those of tests included, one per line.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/shell.sh"

libraries=(
  libabsl-dev libgoogle-glog-dev libgflags-dev      # base of every layer and app
  libutf8proc-dev nlohmann-json3-dev libeigen3-dev  # tokenizers, JSON, reference operators
  liburing-dev libprotobuf-dev                      # reading from flash, manifests and profiles
  libedit-dev                                       # lines typed at a terminal
  libseccomp-dev                                    # a sandbox for code that models wrote; tests
)
packages=(
  g++ cmake ninja-build pkg-config protobuf-compiler   # build; protoc runs on this machine, whatever the target
  "${libraries[@]}"
  python3 python3-pip ca-certificates                  # fetching models
)
test_libraries=(
  libgtest-dev                                         # tests in C++
)
test_packages=(
  "${test_libraries[@]}"
  git                                                  # which files the checks read; a build without git knows no commit
  ccache                                               # compiled objects for the next build
  unicode-data                                         # what scripts/make_unicode_table.py reads
  python3-numpy                                        # tests: numbers of block formats
  python3-jinja2                                       # tests: the texts of chat templates
  tmux                                                 # tests: dialogues at a terminal
)
tests=false
further=()
list=false
for argument in "$@"; do
  case $argument in
    --tests) tests=true ;;
    --sanitizers) tests=true; further+=(clang-19 libclang-rt-19-dev llvm-19) ;;        # sanitizers, fuzzing and its coverage
    --arm64) tests=true; further+=(g++-aarch64-linux-gnu qemu-user) ;;
    --avx512) tests=true; further+=(clang-19 libsimde-dev) ;;
    --fresh) further+=(mmdebstrap) ;;
    --list) list=true ;;
    --libraries) printf '%s\n' "${libraries[@]}" "${test_libraries[@]}"; exit 0 ;;
    *) die "unknown argument $argument; the first lines of scripts/install_packages.sh say what it takes" ;;
  esac
done
if $tests; then packages+=("${test_packages[@]}"); fi
packages+=("${further[@]}")
if $list; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

missing_packages() {
  local -A installed=()
  local name state
  while read -r name state; do
    if [[ $state == installed ]]; then installed[$name]=1; fi
  done < <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null)
  for name in "${packages[@]}"; do
    if [[ -z ${installed[$name]:-} ]]; then echo "$name"; fi
  done
}

command -v dpkg-query >/dev/null || die "this is not a Debian system; install the counterparts of: ${packages[*]}"
mapfile -t missing < <(missing_packages)
if ((${#missing[@]} == 0)); then
  say "packages: all there"
  exit 0
fi
((EUID == 0)) || die "packages are missing and only root can install them: apt-get install ${missing[*]}"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -y -o DPkg::Lock::Timeout=300)
# An update that fails in part (one source of many) may be enough; the installation shows it.
run_logged "updating the package lists" "$log" "${apt[@]}" update || true
run_logged "installing ${#missing[@]} packages" "$log" "${apt[@]}" install --no-install-recommends "${missing[@]}" ||
  die "apt-get could not install ${missing[*]}; its messages stand above"
say "packages: installed ${missing[*]}"
