# Sourced after shell.sh by the scripts that time llama.cpp: builds it in $peer, once, and names models.
#
#   source "$root/scripts/lib/shell.sh"
#   source "$root/scripts/measure/lib/peer.sh"
#   prepare_peer; "$peer/build/bin/llama-bench" --help
#   path=$(model_path random-1b)
#
# scripts/fetch_peer_source.sh fetches it; it is built for this CPU.

peer=$cache/peer

# A build for another CPU is removed. An interrupted build goes on from where it was, and a build with fewer programs gets the others.
build_peer() {
  source=$("$root/scripts/fetch_peer_source.sh") || die "llama.cpp's source could not be fetched"
  # A build for one CPU may not run on another: the cache may have moved.
  local built_for
  built_for="$source, $(grep -m1 '^model name' /proc/cpuinfo || uname -m), $(g++ -dumpfullversion 2>/dev/null || true)"
  if [[ $(cat "$peer/built_for" 2>/dev/null) != "$built_for" ]]; then
    rm -rf "$peer/build" "$peer/built_for"
    echo "$built_for" >"$peer/built_for"
  fi
  local programs=(llama-bench llama-batched-bench llama-simple llama-speculative-simple llama-quantize llama-server) program missing=0
  for program in "${programs[@]}"; do [[ -x $peer/build/bin/$program ]] || missing=1; done
  if ((missing == 0)); then
    say "peer: llama.cpp is there"
    return
  fi
  # GCC 12 drops stores to the configuration of AMX tiles that its intrinsic then loads: llama.cpp crashes without these flags.
  local flags=()
  if grep -qw amx_tile /proc/cpuinfo; then flags=("-DCMAKE_CXX_FLAGS=-fno-dse -fno-tree-dse"); fi
  run_logged "configuring llama.cpp" "$peer/configure.log" cmake -S "$source" -B "$peer/build" -G Ninja "${flags[@]}" \
    -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF \
    -DLLAMA_BUILD_SERVER=ON -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_BUILD_APP=OFF ||
    die "cmake could not configure llama.cpp"
  run_logged "building llama.cpp" "$peer/build.log" ninja -C "$peer/build" "${programs[@]}" || die "llama.cpp could not be built"
}

# A program of ours that uses the peer's library, for what none of the peer's programs can do: attention times passes, logits prints them.
build_peer_program() {
  local program=$peer/build/bin/$1 from=$root/scripts/measure/lib/peer_$1.cc
  [[ $program -nt $from && $program -nt $peer/build/src/libllama.a ]] && return
  local ggml=$peer/build/ggml/src
  run_logged "building llama.cpp's $1" "$peer/$1.log" \
    g++ -O2 -std=c++17 -I "$source/include" -I "$source/ggml/include" "$from" -o "$program" "$peer/build/src/libllama.a" \
    "$ggml/libggml.a" "$ggml/libggml-cpu.a" "$ggml/libggml-base.a" -fopenmp -lpthread -ldl || die "$from could not be built"
}

# Checked before anything is built.
check_model_name() {
  [[ $1 =~ ^(smollm2|gemma3|random-[a-z0-9]+)$ ]] || die "found the model $1, expected smollm2, gemma3 or random-SHAPE such as random-1b"
}

# Prints the path of the model, after fetching or making it if needed.
model_path() {
  local name=$1 path
  if [[ $name != random-* ]]; then
    "$root/scripts/fetch_model.sh" "$name"
    return
  fi
  path=$cache/$name.Q4_0.gguf
  [[ -e $path ]] || run_logged "making $name" "$cache/$name.log" \
    "$root/build/bin/tessera_random_model" --shape "${name#random-}" --format Q4_0 --out "$path" || return 1
  echo "$path"
}

# Prepares the packages, the peer and our own programs; other scripts that do the same wait.
prepare_peer() {
  local lock program
  "$root/scripts/install_packages.sh" --tests || die "the packages are not all there"
  mkdir -p "$cache/peer"
  exec {lock}>"$cache/.peer.lock"
  flock "$lock"
  build_peer
  for program in attention logits; do build_peer_program "$program"; done
  flock -u "$lock"
  "$root/scripts/build.sh" tessera_{apps,bench,lab}_all || die "our programs could not be built"
}
