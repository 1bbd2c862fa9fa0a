#!/usr/bin/env bash
# Makes a folder with Debian's arm64 libraries, to build and run programs for 64-bit Arm against, and prints its path.
#
#   scripts/tests/arm64_sysroot.sh
#
# The folder is in the cache ($TESSERA_CACHE, default ~/.cache/tessera) and is made once. Nothing is installed: apt works on a state of its
# own, with this machine's sources and proxies, and finds the packages on which the libraries depend. Needs no root.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"
(($# == 0)) || die "unknown argument $1; usage: scripts/tests/arm64_sysroot.sh"

mapfile -t packages < <("$root/scripts/install_packages.sh" --libraries)
packages+=(libc6-dev libstdc++6)
sysroot=$cache/arm64/sysroot
if [[ -f $sysroot/packages && $(<"$sysroot/packages") == "${packages[*]}" ]]; then
  echo "$sysroot"
  exit 0
fi
mkdir -p "$cache/arm64" || die "cannot make the folder $cache/arm64; set TESSERA_CACHE to one that can be written"
work=$(mktemp -d "$cache/arm64/new.XXXXXX")
trap 'rm -rf "$work"' EXIT

apt=(apt-get -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root -o Debug::NoLocking=true
  -o Dir::State="$work" -o Dir::State::status="$work/status" -o Dir::Cache="$work"
  -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/sources")
mkdir -p "$work"/{sources,lists/partial,archives/partial,sysroot}
: >"$work/status"  # No package is installed in there.
mapfile -t sources < <(bookworm_sources)
((${#sources[@]} > 0)) || die "apt's sources on this machine name no bookworm"
cp "${sources[@]}" "$work/sources"
log=$cache/arm64/sysroot.log
run_logged "arm64 package lists" "$log" "${apt[@]}" update || die "apt could not read its sources for arm64"
run_logged "fetching arm64 libraries" "$log" "${apt[@]}" install --download-only --no-install-recommends "${packages[@]}" ||
  die "apt could not fetch ${packages[*]} for arm64"
for package in "$work"/archives/*.deb; do dpkg-deb --extract "$package" "$work/sysroot"; done
# Absolute links must point into the sysroot.
find "$work/sysroot" -type l -lname '/*' -printf '%p\t%l\n' | while IFS=$'\t' read -r link target; do
  ln -sfnr "$work/sysroot$target" "$link"
done
echo "${packages[*]}" >"$work/sysroot/packages"
rm -rf "$sysroot"
mv "$work/sysroot" "$sysroot"
say "arm64 libraries: in $sysroot"
echo "$sysroot"
