#!/usr/bin/env bash
# Tests that each layer can be used alone: installs it with what it links and nothing else, and builds tests/consumer/LAYER against that, by
# CMake and by pkg-config, static and shared, and as a part of this tree, with the strictest warnings of g++ and clang as errors. Then it
# asks for layers that are not there. Prints one line per project.
#
# The same of a build of some targets: the files that the target tessera_generate builds, and base alone in a build folder of its own, are
# installed and used as README.md and docs/packages.md say, with docs/examples. The default model answers hello.cc.
#
#   scripts/tests/test_consumers.sh [--build-dir build] [--results FILE]
#
# Uses what is built already. --results: adds lines `pass|fail <tab> name` to FILE. Everything is done in a temporary folder, and nothing in
# it may name this tree or the build folder.
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

# The flags of a strict team. g++ 12 warns about its own std::string (GCC bug 105651).
strict="-Wall -Wextra -Wconversion -Werror"
strict_gcc="$strict -Wno-restrict"
clang=clang++-19

# Runs COMMAND in an environment where only the packages in PREFIX and those of the system can be found.
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

# Installs what LAYER needs and moves it to the folder LAYER/installed: a package must not depend on its path.
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

# PLACE: the folder with the installation, if not that of LAYER.
by_cmake() {
  local layer=$1 kind=$2 place=${3:-$1} shared=OFF
  local prefix=$work/$place/installed folder=$work/$place/by_cmake_$kind
  if [[ $kind == shared ]]; then shared=ON; fi
  cp -r "$root/tests/consumer/$layer" "$folder"
  with_packages "$prefix" cmake -S "$folder" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=$shared \
    -DCMAKE_CXX_FLAGS="$strict_gcc"
  with_packages "$prefix" ninja -C "$folder/build"
  is_apart "$folder"
  run_program "$layer" "$kind" "$folder/build/consumer"
}

# Fully static: a program without any shared library.
by_pkg_config() {
  local layer=$1 kind=$2 prefix=$work/$1/installed folder=$work/$1/by_pkg_config_$2 asked=(--cflags --libs) flags
  mkdir "$folder"
  if [[ $kind == static ]]; then asked+=(--static); fi
  flags=$(with_packages "$prefix" pkg-config "${asked[@]}" "tessera-$layer")
  if [[ $kind == static ]]; then flags+=" -static"; else flags+=" -Wl,-rpath,$prefix/lib"; fi
  cp "$root/tests/consumer/$layer/main.cc" "$folder"
  # shellcheck disable=SC2086
  g++ -std=c++20 $strict_gcc -MD -MF "$folder/consumer.d" "$folder/main.cc" $flags -o "$folder/consumer"
  is_apart "$folder"
  run_program "$layer" "$kind" "$folder/consumer"
}

# As docs/packages.md says: Tessera's archives, and the rest shared. With the assertions of the standard library, which change no layout.
by_archives() {
  local layer=$1 prefix=$work/$1/installed folder=$work/$1/by_archives flags archives
  mkdir "$folder"
  flags=$(with_packages "$prefix" pkg-config --cflags --libs "tessera-$layer")
  archives="-Wl,-Bstatic $(grep -oE -- '-ltessera_\w+' <<<"$flags" | paste -sd ' ') -Wl,-Bdynamic"
  flags=$(sed -E 's/-ltessera_\w+//g' <<<"$flags")
  # shellcheck disable=SC2086
  g++ -std=c++20 -D_GLIBCXX_ASSERTIONS $strict_gcc "$root/tests/consumer/$layer/main.cc" $archives $flags -o "$folder/consumer"
  run_program "$layer" static "$folder/consumer"
}

# Compiles all headers that LAYER installs in one file, by both compilers: none may include a file that is not installed, or cause a
# warning. Clang also compiles the consumer.
all_headers() {
  local layer=$1 prefix=$work/$1/installed flags all=$work/$1/all.cc
  flags=$(with_packages "$prefix" pkg-config --cflags "tessera-$layer")
  (cd "$prefix/include" && find tessera -path "*/$layer/*.h" -printf '#include "%p"\n' | sort) >"$all"
  # shellcheck disable=SC2086
  g++ -std=c++20 -fsyntax-only $strict_gcc $flags "$all"
  # shellcheck disable=SC2086
  "$clang" -std=c++20 -fsyntax-only $strict $flags "$all" "$root/tests/consumer/$layer/main.cc"
  echo "$(wc -l <"$all") headers"
}

# A header of LAYER, read as C++17, says what it needs instead of a page of errors.
asks_for_cpp20() {
  local layer=$1 prefix=$work/$1/installed flags first
  flags=$(with_packages "$prefix" pkg-config --cflags "tessera-$layer")
  first=$(sed -n 1p "$work/$layer/all.cc" 2>/dev/null || true)
  [[ -n $first ]] || first=$(cd "$prefix/include" && find tessera -path "*/$layer/*.h" -printf '#include "%p"\n' | sort | sed -n 1p)
  # shellcheck disable=SC2086
  if g++ -std=c++17 -fsyntax-only $flags -x c++ - <<<"$first" 2>"$work/$layer/cpp17.log"; then
    echo "C++17 was accepted"
    return 1
  fi
  grep -m 1 -oE '#error.*C\+\+20.*' "$work/$layer/cpp17.log" || { sed -n 1,5p "$work/$layer/cpp17.log"; return 1; }
}

# If several files define a function, the linker keeps any one of the copies. So functions that are compiled for an instruction set must
# have it in their names, or a CPU without that instruction set may run them.
kernels_are_apart() {
  nm -AC "$work"/runtime/installed/lib/libtessera_*.a 2>/dev/null |
    sed -nE 's/.*_(avx2|avx512|neon)\.cc\.o:[0-9a-f]+ [WVu] //p' >"$work/shared_functions.txt"
  if grep -vE 'Avx2|Avx512|Neon' "$work/shared_functions.txt"; then return 1; fi
  [[ -s $work/shared_functions.txt ]]
  echo "$(wc -l <"$work/shared_functions.txt") functions name their instruction set"
}

# x86 code that wrote to the wide registers has to clear their upper halves before it returns: SSE code that follows may be twenty times
# slower. Compilers do so, but for some tail calls.
uppers_are_cleared() {
  objdump -dC --no-show-raw-insn "$work"/runtime/installed/lib/libtessera_*.a >"$work/code.txt"
  awk -v OFS=': ' '
    function end_function() { if (wide && !clears) { print name, "no vzeroupper"; ++faults } functions += wide; wide = clears = 0 }
    /^[0-9a-f]+ <.*>:$/ { end_function(); name = $0 }
    /%[yz]mm([0-9]|1[0-5])([^0-9]|$)/ { wide = 1 }
    /\tvzero(upper|all)/ { clears = 1 }
    END { end_function(); if (faults) exit 1; print functions " functions clear the wide registers" }' "$work/code.txt"
}

# A project that contains this tree compiles every consumer with strict warnings, and gets no tests and no installation. It does not link,
# since that would build the layers again. ABSEIL: statements before the tree is added, for a project with an Abseil of its own.
in_a_tree() {
  local folder=$work/in_a_tree_$1 abseil=$2 layer objects=()
  mkdir "$folder"
  {
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(in_a_tree LANGUAGES CXX)\n%s\n' "$abseil"
    printf 'set(TESSERA_LAYERS runtime)\nadd_subdirectory("%s" tessera)\n' "$root"
    for layer in "${layers[@]}"; do
      printf 'add_library(%s_consumer OBJECT "%s")\n' "$layer" "$root/tests/consumer/$layer/main.cc"
      printf 'target_link_libraries(%s_consumer PRIVATE tessera::%s)\n' "$layer" "$layer"
      # shellcheck disable=SC2086
      printf 'target_compile_options(%s_consumer PRIVATE %s)\n' "$layer" "$strict_gcc"
    done
  } >"$folder/CMakeLists.txt"
  cmake -S "$folder" -B "$folder/build" -G Ninja
  mapfile -t objects < <(ninja -C "$folder/build" -t targets all | sed -nE 's/^(CMakeFiles\/\w+_consumer\.dir\/.*\.o): .*/\1/p')
  ((${#objects[@]} == ${#layers[@]}))
  ninja -C "$folder/build" "${objects[@]}"
  for layer in "${layers[@]}"; do
    # shellcheck disable=SC2086
    "$clang" -std=c++20 -fsyntax-only $strict -I "$folder/build/tessera/include" "$root/tests/consumer/$layer/main.cc"
  done
  if ninja -C "$folder/build" -t targets all | grep -E '_tests|tessera_apps'; then return 1; fi
  if grep -rq 'tessera-base' "$folder"/build/tessera/cmake_install.cmake; then echo "would install Tessera"; return 1; fi
  echo "compiled ${#objects[@]} programs"
}

# Statements by which a project brings its own Abseil, as targets that it builds and that are in no export set.
own_abseil() {
  local target
  for target in $(grep -ohE 'absl::\w+' "$root/CMakeLists.txt" | sort -u); do
    printf 'add_library(own_%s INTERFACE)\nadd_library(%s ALIAS own_%s)\n' "${target#absl::}" "$target" "${target#absl::}"
  done
}

# Installs what README's first command builds: a copy of the build folder has only the files that ninja makes for tessera_generate, all
# libraries of runtime among them, and no other.
first_command() {
  local copy=$work/first/build prefix=$work/first/installed at made layer
  at=$(sed -n 's/^CMAKE_CACHEFILE_DIR:INTERNAL=//p' "$build/CMakeCache.txt")
  mkdir -p "$copy/bin" "$copy/CMakeFiles"
  mapfile -t made < <(ninja -C "$build" -t inputs tessera_generate | grep -E '^libtessera_\w+\.(a|so)')
  ((${#made[@]} > 0))
  cp "${made[@]/#/$build/}" "$build/cmake_install.cmake" "$copy"
  cp "$build/bin/tessera_generate" "$copy/bin"
  cp -r "$build/CMakeFiles/Export" "$copy/CMakeFiles"
  cp -r "$build/package" "$build/moved" "$copy"
  grep -rlF "$at" "$copy" --include='*.cmake' | xargs sed -i "s|$at|$copy|g"
  cmake --install "$copy" --prefix "$prefix"
  is_apart "$prefix"
  for layer in "${layers[@]}"; do [[ -f $prefix/lib/libtessera_$layer.a ]]; done
  [[ $(cd "$prefix/bin" && echo *) == tessera_generate ]]
  if compgen -G "$prefix/lib/*.so*"; then return 1; fi
  echo "$(find "$prefix/include" -name '*.h' | wc -l) headers, $(find "$prefix/lib" -name '*.a' | wc -l) static libraries"
}

# docs/examples/hello.cc, built against that installation, writes the text that tessera_generate writes.
hello() {
  local prefix=$work/first/installed folder=$work/first/hello question="Name three colours." expected found
  cp -r "$root/docs/examples" "$folder"
  with_packages "$prefix" cmake -S "$folder" -B "$folder/build" -G Ninja -DCMAKE_CXX_FLAGS="$strict_gcc"
  with_packages "$prefix" ninja -C "$folder/build"
  found=$(with_packages "$prefix" "$folder/build/hello" "$model" "$question")
  expected=$(with_packages "$prefix" "$prefix/bin/tessera_generate" --model "$model" --prompt "$question" --n_predict 64 --temperature 0)
  if [[ -z $found || $found != "$expected" ]]; then printf 'found %s\nexpected %s\n' "$found" "$expected"; return 1; fi
  echo "${found//$'\n'/ }"
}

# Builds hello.cc by pkg-config, where only static libraries are installed.
hello_by_pkg_config() {
  local prefix=$work/first/installed flags
  flags=$(with_packages "$prefix" pkg-config --static --cflags --libs tessera-runtime)
  # shellcheck disable=SC2086
  g++ -std=c++20 $strict_gcc "$root/docs/examples/hello.cc" $flags -o "$work/first/hello_by_pkg_config"
  "$work/first/hello_by_pkg_config" "$work/model.gguf" | wc -c
}

# base alone, from an empty build folder: installing is refused before the target is built, and then there is no kind but that one.
base_alone() {
  local folder=$work/base_alone
  cmake -S "$root" -B "$folder/build" -G Ninja -DTESSERA_LAYERS=base -DTESSERA_TESTS=OFF
  if cmake --install "$folder/build" --prefix "$folder/prefix" >"$folder/log" 2>&1; then echo "installed nothing"; return 1; fi
  grep -qF "base was not built: build one of the targets tessera_base_static" "$folder/log"
  ninja -C "$folder/build" tessera_base_static
  cmake --install "$folder/build" --prefix "$folder/installed"
  by_cmake base static base_alone
}

# Sets `folder` to a configured project with the lines of docs/examples/EXAMPLE but those with WITHOUT, and LAYER in place of quant.
project_around() {
  local example=$1 layer=$2 without=${3:-nothing}
  folder=$(mktemp -d -p "$work")
  cp "$root/tests/consumer/$layer/main.cc" "$folder"
  ln -s "$root" "$folder/tessera"
  sed "/$without/d; s/quant/$layer/" "$root/docs/examples/$example/CMakeLists.txt" >"$folder/CMakeLists.txt"
  cmake -S "$folder" -B "$folder/build" -G Ninja -DFETCHCONTENT_SOURCE_DIR_TESSERA="$root" \
    -DTESSERA_REPOSITORY="file://$root" -DTESSERA_COMMIT=HEAD
}

# The default target of such a project builds the static libraries of LAYER and of the layers that it links, and no more of Tessera.
builds_no_more() {
  local layer built expected
  project_around "$@"
  built=$(ninja -C "$folder/build" -t commands all | grep -oE 'tessera_\w+\.dir|libtessera_\w+\.\w+|\btessera_\w+_tests\b' | sort -u)
  expected=$(for layer in $(closure "$2"); do printf 'tessera_%s_objects.dir\nlibtessera_%s.a\n' "$layer" "$layer"; done | sort -u)
  if [[ $built != "$expected" ]]; then printf 'would build\n%s\nexpected\n%s\n' "$built" "$expected"; return 1; fi
  grep -c '^libtessera' <<<"$built"
}

# Such a project, built and run.
builds_and_runs() {
  project_around "$@"
  ninja -C "$folder/build"
  "$folder/build/program"
}

installed_programs() {
  cmake --install "$build" --prefix "$work/apps" --component apps
  is_apart "$work/apps"
  with_packages "$work/apps" "$work/apps/bin/tessera_generate" --version
}

# Where LAYER is installed, CMake must refuse STATEMENTS with an error that contains TEXT.
refused() {
  local prefix=$work/$1/installed statements=$2 text=$3 folder
  folder=$(mktemp -d -p "$work")
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(refused LANGUAGES CXX)\n%s\n' "$statements" >"$folder/CMakeLists.txt"
  if with_packages "$prefix" cmake -S "$folder" -B "$folder/build" -G Ninja >"$folder/log" 2>&1; then
    echo "CMake accepted $statements; expected: $text"
    return 1
  fi
  tr -s ' \n' ' ' <"$folder/log" | grep -oF "$text" || { cat "$folder/log"; return 1; }
}

# Runs FUNCTION as the project NAME, in the background, as many at once as there are cores. The last line of its log has the result.
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
model=$("$root/scripts/fetch_model.sh") || die "the default model could not be fetched; the line above tells why"
for layer in "${layers[@]}"; do project "$layer, installed" install_layer "$layer"; done
project "first command, installed" first_command
project "base alone, installed" base_alone
wait
project "hello" hello
project "hello, pkg-config" hello_by_pkg_config
project "fetched, built" builds_and_runs fetch_content base
project "fetched, no more" builds_no_more fetch_content quant
project "subdirectory, no more" builds_no_more subdirectory quant
project "subdirectory, all layers" builds_no_more subdirectory quant TESSERA_LAYERS
for layer in "${layers[@]}"; do
  for kind in static shared; do
    project "$layer, CMake, $kind" by_cmake "$layer" "$kind"
    project "$layer, pkg-config, $kind" by_pkg_config "$layer" "$kind"
  done
  project "$layer, all headers" all_headers "$layer"
  project "$layer, C++17" asks_for_cpp20 "$layer"
done
project "quant, archives" by_archives quant
project "kernels, apart" kernels_are_apart
project "kernels, uppers" uppers_are_cleared
project "programs, installed" installed_programs
project "all, in a tree" in_a_tree plain ""
project "all, own Abseil" in_a_tree abseil "$(own_abseil)"
project "refused, unknown" refused storage "find_package(tessera REQUIRED COMPONENTS nonsense)" \
  "found component nonsense, expected some of base, tensor, quant, npu, storage, text, files, model, spec, runtime"
project "refused, not installed" refused storage "find_package(tessera REQUIRED COMPONENTS quant)" "installed are: base, storage"
project "refused, no such layer" refused base_alone "find_package(tessera REQUIRED COMPONENTS runtime)" \
  "Build the target tessera_runtime_static, for which TESSERA_LAYERS must be empty or name runtime"
project "refused, kind not built" refused first "find_package(tessera REQUIRED COMPONENTS runtime shared)" \
  "tessera::runtime was not built as shared: build the target tessera_runtime_shared"
project "refused, no kind built" refused base_alone "set(BUILD_SHARED_LIBS ON)
find_package(tessera REQUIRED)" "no layer was built as shared: build the target tessera_shared"
project "refused, both kinds" refused base "find_package(tessera REQUIRED COMPONENTS base static shared)" \
  "found the components static and shared, expected one of them"
project "refused, two kinds" refused base "find_package(tessera REQUIRED COMPONENTS base static)
find_package(tessera REQUIRED COMPONENTS base shared)" "this project has tessera::base as static"
project "refused, missing package" refused storage "set(ENV{PKG_CONFIG_PATH} \"\")
set(ENV{PKG_CONFIG_LIBDIR} /nowhere)
find_package(tessera REQUIRED COMPONENTS storage)" "knows no module libglog (on Debian: apt-get install pkg-config libgoogle-glog-dev)"
mkdir -p "$work/other_abseil/absl/base"
printf '#define ABSL_OPTION_USE_INLINE_NAMESPACE 1\n#define ABSL_OPTION_INLINE_NAMESPACE_NAME lts_20990101\n' \
  >"$work/other_abseil/absl/base/options.h"
project "refused, other Abseil" refused base "add_library(absl::status INTERFACE IMPORTED)
target_include_directories(absl::status INTERFACE $work/other_abseil)
find_package(tessera REQUIRED COMPONENTS base)" "found an Abseil with the inline namespace lts_20990101, expected"
project "refused, later version" refused base "find_package(tessera 9 REQUIRED)" \
  "considered but not accepted"
wait
cat "$work/outcomes.tsv" >>"$results"
failed=$(grep -c ^fail "$work/outcomes.tsv" || true)
say "consumers: $(grep -c ^pass "$work/outcomes.tsv") passed, $failed failed"
((failed == 0))
