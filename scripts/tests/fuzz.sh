#!/usr/bin/env bash
# Runs the fuzz targets under the address and undefined-behaviour sanitizers, two at a time, and prints one line per target.
#
#   scripts/tests/fuzz.sh [--seconds 60] [--build-dir build-asan] [--no-build] [--results FILE] [TARGET...]
#   scripts/tests/fuzz.sh --total                                           the sum of all runs so far
#
# Targets: gguf, split, tokenizer, template, loader, tsr, history, tree, costs, session, tiles, profile, safetensors, head, forecasts,
# reward.
# --results appends a line "pass|fail <tab> fuzz_TARGET" each, as scripts/lib/count_tests.py reads them.
#
# A target begins with its seeds, tests/fuzz/corpus/TARGET and what earlier runs found worth keeping, and works in
# build-asan/fuzz/TARGET. An input that breaks a promise is kept there, and the exit code is 1. docs/fuzzing.md has more.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"

build=$root/build-asan
seconds=60
compile=true
total=false
results=/dev/null
targets=()
while (($# > 0)); do
  case $1 in
    --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
    --build-dir) build=${2:?--build-dir needs a folder}; shift 2 ;;
    --results) results=${2:?--results needs a file}; shift 2 ;;
    --no-build) compile=false; shift ;;
    --total) total=true; shift ;;
    gguf | split | tokenizer | template | loader | tsr | history | tree | costs | session | tiles | profile | safetensors | head | \
        forecasts | reward)
      targets+=("$1"); shift ;;
    *) die "unknown argument $1; the first lines of scripts/tests/fuzz.sh say what it takes" ;;
  esac
done
if ((${#targets[@]} == 0)); then
  targets=(gguf split tokenizer template loader tsr history tree costs session tiles profile safetensors head forecasts reward)
fi

# Most bytes of an input, and MiB of the largest single allocation: a few times what the input's size may justify.
declare -A longest=([gguf]=2048 [split]=4096 [tokenizer]=512 [template]=512 [loader]=32768 [tsr]=8193 [history]=512 [tree]=512 [costs]=2048
  [session]=8192 [tiles]=2048 [profile]=8192 [safetensors]=2048 [head]=8192
  [forecasts]=8192 [reward]=8192)
declare -A allocation=([gguf]=1 [split]=1 [tokenizer]=4 [template]=4 [loader]=16 [tsr]=1 [history]=1 [tree]=1 [costs]=1 [session]=16
  [tiles]=4 [profile]=1 [safetensors]=1 [head]=1 [forecasts]=1 [reward]=1)

# One target, alone on its core. Appends "executions seconds edges findings" to the target's history.
fuzz() {
  local target=$1 work=$build/fuzz/$1 status=0 dictionary=() executions edges findings
  rm -rf "$work/seeds"
  mkdir -p "$work/corpus"
  "$build/bin/tessera_replay_$target" --write_seeds "$work/seeds"
  if [[ $target =~ ^(gguf|split|loader)$ ]]; then dictionary=(-dict="$root/tests/fuzz/gguf.dict"); fi
  if [[ $target =~ ^(costs|profile|safetensors|head)$ ]]; then dictionary=(-dict="$root/tests/fuzz/$target.dict"); fi
  if [[ $target =~ ^(forecasts|reward)$ ]]; then dictionary=(-dict="$root/tests/fuzz/safetensors.dict"); fi
  local start=$EPOCHSECONDS
  ASAN_OPTIONS=quarantine_size_mb=32:malloc_context_size=1 \
    "$build/bin/tessera_fuzz_$target" -max_total_time="$seconds" -max_len="${longest[$target]}" -malloc_limit_mb="${allocation[$target]}" \
    -rss_limit_mb=1024 -timeout=5 -print_final_stats=1 -artifact_prefix="$work/" "${dictionary[@]}" \
    "$work/corpus" "$work/seeds" "$root/tests/fuzz/corpus/$target" >"$work/log" 2>&1 </dev/null || status=$?
  executions=$(sed -nE 's/^stat::number_of_executed_units: //p' "$work/log")
  edges=$(sed -nE 's/.* cov: ([0-9]+) .*/\1/p' "$work/log" | tail -n 1)
  findings=$(grep -c 'Test unit written to ' "$work/log") || true
  echo "${executions:-0} $((EPOCHSECONDS - start)) ${edges:-0} $findings" >>"$work/history"
  printf '%s\tfuzz_%s\n' "$( ((status == 0)) && echo pass || echo fail)" "$target" >>"$results"
  return "$status"
}

# The result of a target's last run, or of all its runs. Edges: branches of the code.
table() {
  local lines=$1 target
  printf '%-10s %14s %9s %9s %7s %9s\n' target executions seconds exec/s edges findings
  for target in "${targets[@]}"; do
    if [[ ! -f $build/fuzz/$target/history ]]; then continue; fi
    tail -n "$lines" "$build/fuzz/$target/history" | awk -v target="$target" '
      { executions += $1; seconds += $2; if ($3 > edges) edges = $3; findings += $4 }
      END { printf "%-10s %14d %9d %9d %7d %9d\n", target, executions, seconds, executions / (seconds ? seconds : 1), edges, findings }'
  done
}

if $total; then
  table +1
  exit 0
fi
if $compile; then
  "$root/scripts/build.sh" --tests --build-dir "$build" --type AddressSanitizer \
    "${targets[@]/#/tessera_fuzz_}" "${targets[@]/#/tessera_replay_}"
fi

status=0
running=()
for target in "${targets[@]}"; do
  if ((${#running[@]} >= 2)); then
    wait "${running[0]}" || status=1
    running=("${running[@]:1}")
  fi
  say "fuzzing $target for $seconds s; log: $build/fuzz/$target/log"
  fuzz "$target" &
  running+=($!)
done
for job in "${running[@]}"; do wait "$job" || status=1; done
table 1

for target in "${targets[@]}"; do
  while read -r finding; do
    grep -m 3 -E 'Check failed|ERROR: |runtime error' "$build/fuzz/$target/log" >&2 || true
    say "finding: $finding"
    say "replay:  $build/bin/tessera_replay_$target --only $finding"
  done < <(sed -nE 's/.*Test unit written to //p' "$build/fuzz/$target/log")
done
exit "$status"
