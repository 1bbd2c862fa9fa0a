#!/usr/bin/env bash
# Runs the fuzz targets under the address and undefined-behaviour sanitizers, two at a time, and prints one line per target.
#
#   scripts/tests/fuzz.sh [--seconds 60] [--runs N] [--jobs 2] [--build-dir build-asan] [--no-build] [--results FILE] [TARGET...]
#   scripts/tests/fuzz.sh --total                                           the sum of all runs so far
#
# Targets: the X of each tests/fuzz/X_fuzz.cc; all of them where none is named.
# --runs ends a target once the records of its build folder add up to N executions, or after the seconds, whichever comes first.
# --results appends a line "pass|fail <tab> fuzz_TARGET" each, as scripts/lib/count_tests.py reads them.
#
# A target begins with its seeds, tests/fuzz/corpus/TARGET and what earlier runs found worth keeping, and works in
# build-asan/fuzz/TARGET. An input that breaks a promise is kept there, and the exit code is 1. docs/fuzzing.md has more.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"

# A line for each target: most bytes of an input, MiB of the largest single allocation, a few times what the input's size may justify; and
# the words of tests/fuzz/NAME.dict, if it has any.
limits='
gguf 2048 1 gguf
split 4096 1 gguf
tokenizer 512 4
template 512 4
loader 32768 16 gguf
tsr 8193 1
history 512 1
tree 512 1
costs 2048 1 costs
session 8192 16
tiles 2048 4
profile 8192 1 profile
safetensors 2048 1 safetensors
head 8192 1 head
forecasts 8192 1 safetensors
reward 8192 1 safetensors
exit 8192 1 safetensors
states 2048 1 safetensors
adapter 8192 2 safetensors
packed 2048 1 gguf
json 2048 1
lines 1024 1
flash 2048 1
kept 2048 1
request 2048 16
flagfile 1024 1
judge 1024 1
samples 2048 1
recordings 2048 1
'
declare -A longest allocation words
while read -r target bytes mib dictionary; do
  if [[ -n $target ]]; then longest[$target]=$bytes allocation[$target]=$mib words[$target]=$dictionary; fi
done <<<"$limits"

build=$root/build-asan
seconds=60
runs=0
jobs=2
compile=true
total=false
results=/dev/null
targets=()
while (($# > 0)); do
  case $1 in
    --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
    --runs) runs=${2:?--runs needs a number}; shift 2 ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift 2 ;;
    --build-dir) build=${2:?--build-dir needs a folder}; shift 2 ;;
    --results) results=${2:?--results needs a file}; shift 2 ;;
    --no-build) compile=false; shift ;;
    --total) total=true; shift ;;
    -*) die "unknown argument $1; the first lines of scripts/tests/fuzz.sh say what it takes" ;;
    *)
      [[ -n ${longest[$1]:-} ]] || die "unknown target $1, expected one of ${!longest[*]}"
      targets+=("$1"); shift ;;
  esac
done
if ((${#targets[@]} == 0)); then
  for source in "$root"/tests/fuzz/*_fuzz.cc; do
    target=$(basename "$source" _fuzz.cc)
    [[ -n ${longest[$target]:-} ]] || die "$source: found no limits in scripts/tests/fuzz.sh, expected a line of them"
    targets+=("$target")
  done
fi

# The executions of all runs of a target.
executed() {
  { cat "$build/fuzz/$1/history" 2>/dev/null || true; } | awk '{ sum += $1 } END { print sum + 0 }'
}

# Prints the findings that a target's history counts: inputs that broke a promise and are kept until somebody mended their cause.
found() {
  { cat "$build/fuzz/$1/history" 2>/dev/null || true; } | awk '{ sum += $4 } END { print sum + 0 }'
}

# One target, alone on its core. Appends "executions seconds edges findings" to the target's history.
fuzz() {
  local target=$1 work=$build/fuzz/$1 status=0 more=() executions edges findings
  rm -rf "$work/seeds"
  mkdir -p "$work/corpus"
  "$build/bin/tessera_replay_$target" --write_seeds "$work/seeds"
  if [[ -n ${words[$target]} ]]; then more+=(-dict="$root/tests/fuzz/${words[$target]}.dict"); fi
  if ((runs > 0)); then more+=(-runs=$((runs - $(executed "$target")))); fi
  local start=$EPOCHSECONDS
  ASAN_OPTIONS=quarantine_size_mb=32:malloc_context_size=1 \
    "$build/bin/tessera_fuzz_$target" -max_total_time="$seconds" -max_len="${longest[$target]}" -malloc_limit_mb="${allocation[$target]}" \
    -rss_limit_mb=1024 -timeout=20 -print_final_stats=1 -artifact_prefix="$work/" "${more[@]}" \
    "$work/corpus" "$work/seeds" "$root/tests/fuzz/corpus/$target" >"$work/log" 2>&1 </dev/null || status=$?
  executions=$(sed -nE 's/^stat::number_of_executed_units: //p' "$work/log")
  edges=$(sed -nE 's/.* cov: ([0-9]+) .*/\1/p' "$work/log" | tail -n 1)
  findings=$(grep -a -c 'Test unit written to ' "$work/log") || true
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
ran=()
for target in "${targets[@]}"; do
  if ((runs > 0 && $(executed "$target") >= runs)); then
    say "$target has had $runs executions, with $(found "$target") findings (the fourth column of $build/fuzz/$target/history)"
    if (($(found "$target") > 0)); then status=1; fi
    continue
  fi
  if ((${#running[@]} >= jobs)); then
    wait "${running[0]}" || status=1
    running=("${running[@]:1}")
  fi
  say "fuzzing $target for $seconds s; log: $build/fuzz/$target/log"
  fuzz "$target" &
  running+=($!)
  ran+=("$target")
done
for job in "${running[@]}"; do wait "$job" || status=1; done
table 1

for target in "${ran[@]}"; do
  while read -r finding; do
    grep -a -m 3 -E 'Check failed|ERROR: |runtime error' "$build/fuzz/$target/log" >&2 || true
    say "finding: $finding"
    say "replay:  $build/bin/tessera_replay_$target --only $finding"
  done < <(sed -nE 's/.*Test unit written to //p' "$build/fuzz/$target/log")
done
exit "$status"
