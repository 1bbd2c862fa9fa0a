#!/usr/bin/env bash
# Prints how large docs/examples/hello.cc is with Tessera linked into the program, and whether program and libraries need exceptions
# and RTTI.
#
#   scripts/measure/static_size.sh [--build-dir build]
#
# Installs the libraries that the target tessera_runtime_static has built, and builds hello.cc with each set of flags. `runs` is the program
# asking the small model of tests/golden.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"

build=$root/build
while (($# > 0)); do
  case $1 in
    --build-dir) build=$(realpath "${2:?--build-dir needs a folder}"); shift 2 ;;
    *) die "unknown argument $1; usage: scripts/measure/static_size.sh [--build-dir DIR]" ;;
  esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

install_libraries() {
  cmake --install "$build" --prefix "$work/installed" || return
  compgen -G "$work/installed/lib/libtessera_*.a"
}

# Prints a line of the table: what hello.cc became with FLAGS.
program() {
  local what=$1 program=$work/hello flags compiles=no links=- size=- needed=- runs=-
  shift
  flags=$(PKG_CONFIG_PATH=$work/installed/lib/pkgconfig pkg-config --static --cflags --libs tessera-runtime)
  # shellcheck disable=SC2086
  if g++ -std=c++20 -O2 "$@" -c "$root/docs/examples/hello.cc" -o "$work/hello.o" $flags 2>>"$work/log"; then compiles=yes; fi
  # shellcheck disable=SC2086
  if [[ $compiles == yes ]] && g++ "$@" "$work/hello.o" $flags -s -o "$program" 2>>"$work/log"; then links=yes; else links=no; fi
  if [[ $links == yes ]]; then
    size=$(awk -v bytes="$(stat -c %s "$program")" 'BEGIN { printf "%.1f", bytes / 1048576 }')
    needed=$(readelf -d "$program" | grep -c NEEDED || true)
    runs=no
    if "$program" "$root/tests/golden/tiny/llama.gguf" >"$work/text" 2>>"$work/log" && [[ -s $work/text ]]; then runs=yes; fi
  fi
  printf '%-38s %9s %6s %5s %13s %17s\n' "$what" "$compiles" "$links" "$runs" "$size" "$needed"
}

# Prints which of the libraries' files hold PATTERN outside of comments.
files_with() {
  local what=$1 pattern=$2 file found=()
  while IFS= read -r file; do
    if g++ -w -fpreprocessed -dD -E -P -x c++ "$root/$file" | grep -E "$pattern" >/dev/null; then found+=("$file"); fi
  done < <(cd "$root" && grep -lE "$pattern" "${files[@]}")
  printf '\n%d of %d files of the libraries %s\n' "${#found[@]}" "${#files[@]}" "$what"
  printf '  %s\n' "${found[@]}"
}

run_logged "installing" "$work/log" install_libraries ||
  die "no static libraries could be installed from $build; the target tessera_runtime_static builds them"
printf '%-38s %9s %6s %5s %13s %17s\n' "hello.cc" compiles links runs "MiB stripped" "shared libraries"
program "Tessera static, the rest shared"
program "  with -fno-exceptions" -fno-exceptions
program "  with -fno-rtti" -fno-rtti
program "  with both" -fno-exceptions -fno-rtti
program "all static" -static
mapfile -t files < <(cd "$root" && find base tensor quant npu storage model spec runtime -name '*.cc' -o -name '*.h' | sort)
files_with "use exceptions" '\btry *\{|\bcatch *\(|\bthrow +[a-z]'
files_with "use RTTI" '\bdynamic_cast *<|\btypeid *\('
