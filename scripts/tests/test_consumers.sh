#!/usr/bin/env bash
# Proves that each layer is a product: installs it with what it links and nothing else, and builds tests/consumer/LAYER against that,
# by CMake and by pkg-config, static and shared; then asks for what is not there. One line a project.
#
#   scripts/tests/test_consumers.sh [--build-dir build] [--results FILE]
#
# Takes what is built; does not build. --results: adds lines `pass|fail <tab> name` to FILE. All happens in a temporary folder, and
# nothing in it may name this tree or the build folder.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"

build=$root/build
results=/dev/null
while (($# > 0)); do
  case $1 in
    --build-dir) build=$(realpath "${2:?--build-dir needs a folder}"); shift 2 ;;
    --results) results=$(realpath "${2:?--results needs a file}"); shift 2 ;;
    *) die "unknown argument $1; usage: scripts/tests/test_consumers.sh [--build-dir DIR] [--results FILE]" ;;
  esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t layers < <(cd "$root/tests/consumer" && printf '%s\n' */ | tr -d /)

# Runs COMMAND in an environment that knows the packages in PREFIX, and none of this machine's but the system's.
with_packages() {
  local prefix=$1
  shift
  env -i PATH="$PATH" HOME="$work" CMAKE_PREFIX_PATH="$prefix" PKG_CONFIG_PATH="$prefix/lib/pkgconfig" "$@"
}

# The layers that LAYER links, and LAYER, as its package says.
closure() {
  local below needs=$build/package/tessera-$1-needs.cmake
  for below in $(grep '^set(needs ' "$needs" | grep -oP 'tessera::\K\w+'); do closure "$below"; done
  echo "$1"
}

# Fails if anything in FOLDER names this tree or the build folder.
is_apart() {
  if grep -rlF -e "$root/" -e "$build/" "$1"; then
    echo "the files above name $root or $build"
    return 1
  fi
}

# What LAYER needs, in the folder LAYER/installed: a package does not know where it lies, so it is moved there.
install_layer() {
  local folder=$work/$1 component
  for component in $(closure "$1" | sort -u); do cmake --install "$build" --prefix "$folder/prefix" --component "$component"; done
  mv "$folder/prefix" "$folder/installed"
  is_apart "$folder/installed"
  (cd "$folder/installed/lib" && echo libtessera_*.a)
}

# The project's program uses the kind of library it asked for and prints one line.
run_program() {
  local layer=$1 kind=$2 program=$3 uses=static
  if readelf -d "$program" | grep -q "NEEDED.*\[libtessera_$layer\.so"; then uses=shared; fi
  [[ $uses == "$kind" ]] || { echo "the program uses the $uses library of $layer, expected the $kind one"; return 1; }
  with_packages "$work/$layer/installed" "$program" "$work/model.gguf"
}

by_cmake() {
  local layer=$1 kind=$2 prefix=$work/$1/installed folder=$work/$1/by_cmake_$2 shared=OFF
  if [[ $kind == shared ]]; then shared=ON; fi
  cp -r "$root/tests/consumer/$layer" "$folder"
  with_packages "$prefix" cmake -S "$folder" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=$shared
  with_packages "$prefix" ninja -C "$folder/build"
  is_apart "$folder"
  run_program "$layer" "$kind" "$folder/build/consumer"
}

# Static means all of it: a program without any shared library.
by_pkg_config() {
  local layer=$1 kind=$2 prefix=$work/$1/installed folder=$work/$1/by_pkg_config_$2 asked=(--cflags --libs) flags
  mkdir "$folder"
  if [[ $kind == static ]]; then asked+=(--static); fi
  flags=$(with_packages "$prefix" pkg-config "${asked[@]}" "tessera-$layer")
  if [[ $kind == static ]]; then flags+=" -static"; else flags+=" -Wl,-rpath,$prefix/lib"; fi
  cp "$root/tests/consumer/$layer/main.cc" "$folder"
  # shellcheck disable=SC2086
  g++ -std=c++20 -MD -MF "$folder/consumer.d" "$folder/main.cc" $flags -o "$folder/consumer"
  is_apart "$folder"
  run_program "$layer" "$kind" "$folder/consumer"
}

# All headers that LAYER installs, in one file: none includes what is not installed.
all_headers() {
  local layer=$1 prefix=$work/$1/installed flags
  flags=$(with_packages "$prefix" pkg-config --cflags "tessera-$layer")
  find "$prefix/include/tessera/$layer" -name '*.h' -printf "#include \"tessera/$layer/%P\"\n" | sort >"$work/$layer/all.cc"
  # shellcheck disable=SC2086
  g++ -std=c++20 -fsyntax-only $flags "$work/$layer/all.cc"
  echo "$(wc -l <"$work/$layer/all.cc") headers"
}

# An older standard is refused in one sentence, before anything else that a compiler does not understand.
older_standard() {
  local layer=$1 prefix=$work/$1/installed flags first
  flags=$(with_packages "$prefix" pkg-config --cflags "tessera-$layer")
  find "$prefix/include/tessera/$layer" -name '*.h' -printf "#include \"tessera/$layer/%P\"\n" | sort >"$work/$layer/older.cc"
  # shellcheck disable=SC2086
  if g++ -std=c++17 -fsyntax-only $flags "$work/$layer/older.cc" 2>"$work/$layer/older.log"; then
    echo "g++ -std=c++17 compiles the headers of $layer"
    return 1
  fi
  first=$(grep -m 1 'error' "$work/$layer/older.log")
  if [[ $first != *"#error"*"need C++20"* ]]; then
    echo "found: $first"
    return 1
  fi
  echo "refused"
}

# Of functions that several files define, the linker keeps any one. So those compiled for an instruction set must name it, or a CPU
# without it may meet them.
kernels_are_apart() {
  nm -AC "$work"/runtime/installed/lib/libtessera_*.a 2>/dev/null |
    sed -nE 's/.*_(avx2|avx512|neon)\.cc\.o:[0-9a-f]+ [WVu] //p' >"$work/shared_functions.txt"
  if grep -vE 'Avx2|Avx512|Neon' "$work/shared_functions.txt"; then return 1; fi
  [[ -s $work/shared_functions.txt ]]
  echo "$(wc -l <"$work/shared_functions.txt") functions name their instruction set"
}

# A project that has this tree as a part of it compiles against a layer, and gets no tests. Linking would build the layer again.
in_a_tree() {
  local folder=$work/in_a_tree
  mkdir "$folder"
  cp "$root/tests/consumer/base/main.cc" "$folder"
  cat >"$folder/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(in_a_tree LANGUAGES CXX)
set(TESSERA_LAYERS base)
add_subdirectory("$root" tessera EXCLUDE_FROM_ALL)
add_executable(consumer main.cc)
target_link_libraries(consumer PRIVATE tessera::base)
EOF
  cmake -S "$folder" -B "$folder/build" -G Ninja
  ninja -C "$folder/build" CMakeFiles/consumer.dir/main.cc.o
  if ninja -C "$folder/build" -t targets all | grep -E "_tests|tessera_(tensor|quant)"; then return 1; fi
  echo "compiled"
}

installed_programs() {
  cmake --install "$build" --prefix "$work/apps" --component apps
  is_apart "$work/apps"
  with_packages "$work/apps" "$work/apps/bin/tessera_generate" --version
}

# Where LAYER is installed, CMake refuses STATEMENTS and says TEXT.
refused() {
  local prefix=$work/$1/installed statements=$2 text=$3 folder
  folder=$(mktemp -d -p "$work")
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(refused LANGUAGES CXX)\n%s\n' "$statements" >"$folder/CMakeLists.txt"
  if with_packages "$prefix" cmake -S "$folder" -B "$folder/build" >"$folder/log" 2>&1; then
    echo "CMake accepted $statements; expected: $text"
    return 1
  fi
  tr -s ' \n' ' ' <"$folder/log" | grep -oF "$text" || { cat "$folder/log"; return 1; }
}

# Runs FUNCTION as the project NAME, in the background, as many at once as there are cores. The last line of its log tells.
project() {
  local name=$1 start=$EPOCHREALTIME outcome=pass log line
  shift
  while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || true; done
  {
    log=$(mktemp -p "$work")
    "$@" >"$log" 2>&1 &
    wait $! || outcome=fail
    printf '%s\tconsumer %s\n' "$outcome" "$name" >>"$work/outcomes.tsv"
    if [[ $outcome == fail ]]; then tail -n 40 "$log" >&2; fi
    printf -v line '%-28s %s  %6s s  %s' "$name" "$outcome" "$(seconds_since "$start")" "$(tail -n 1 "$log")"
    say "$line"
  } &
}

cp "$root/tests/golden/tiny/llama.gguf" "$work/model.gguf"
for layer in "${layers[@]}"; do project "$layer, installed" install_layer "$layer"; done
wait
for layer in "${layers[@]}"; do
  for kind in static shared; do
    project "$layer, CMake, $kind" by_cmake "$layer" "$kind"
    project "$layer, pkg-config, $kind" by_pkg_config "$layer" "$kind"
  done
  project "$layer, all headers" all_headers "$layer"
  project "$layer, C++17" older_standard "$layer"
done
project "kernels, apart" kernels_are_apart
project "programs, installed" installed_programs
project "base, in a tree" in_a_tree
project "refused, unknown" refused storage "find_package(tessera REQUIRED COMPONENTS nonsense)" \
  "found component nonsense, expected some of base, tensor, quant, npu, storage, model, spec, runtime"
project "refused, not installed" refused storage "find_package(tessera REQUIRED COMPONENTS quant)" "installed are: base, storage"
project "refused, both kinds" refused base "find_package(tessera REQUIRED COMPONENTS base static shared)" \
  "found the components static and shared, expected one of them"
project "refused, two kinds" refused base "find_package(tessera REQUIRED COMPONENTS base static)
find_package(tessera REQUIRED COMPONENTS base shared)" "this project has tessera::base as static"
project "refused, later version" refused base "find_package(tessera 9 REQUIRED)" \
  "considered but not accepted"
wait
cat "$work/outcomes.tsv" >>"$results"
failed=$(grep -c ^fail "$work/outcomes.tsv" || true)
say "consumers: $(grep -c ^pass "$work/outcomes.tsv") passed, $failed failed"
((failed == 0))
