# Sourced by the other scripts: where things are, progress with elapsed time, stages, errors. Needs bash 5.
#
#   source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"
#   run_logged "building" "$root/build/build.log" ninja -C "$root/build"
#
# Everything said here goes to stderr; stdout belongs to the caller. A script that is asked for --help answers here, and ends.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${TESSERA_CACHE:-${HOME:?HOME is not set, set TESSERA_CACHE to the folder for models}/.cache/tessera}
export TESSERA_CACHE=$cache

# Scripts that call each other count from the first one's start.
export TESSERA_START=${TESSERA_START:-$EPOCHREALTIME}

# --help prints the script's first comment.
show_help_if_asked() {
  local argument
  for argument in "$@"; do
    [[ $argument == --help || $argument == -h ]] || continue
    awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "${BASH_SOURCE[-1]}"
    exit 0
  done
}
show_help_if_asked "$@"

# Seconds since START (a value of EPOCHREALTIME), with one decimal. It starts no process, since it runs several times per second.
seconds_since() {
  local start=${1//[.,]/} now=${EPOCHREALTIME//[.,]/}
  printf '%d.%d' $(((now - start) / 1000000)) $(((now - start) / 100000 % 10))
}

say() { printf '[%6s s] %s\n' "$(seconds_since "$TESSERA_START")" "$*" >&2; }

die() {
  say "failed: $*"
  exit 1
}

# The last line of LOG, or in a build's log the last step: "[12/400] quant/matmul.cc", without what a compiler says after the step.
last_words() {
  tail -n 200 "$1" 2>/dev/null | awk '{ last = $0 } /^\[[0-9]+\/[0-9]+\] / { step = $0 } END { print step != "" ? step : last }' |
    sed -E 's,^(\[[0-9/]+\]) .* ([^ ]+)$,\1 \2,; s,^(\[[0-9/]+\]) CMakeFiles/[^/]+\.dir/(.*)\.(o|gch)$,\1 \2,'
}

# Shows "WHAT: last words of LOG" while the caller works: redrawn in place on a terminal, else a line every five seconds. Ends by itself
# when the caller is gone. A script may define progress_detail to show something better than the log.
show_progress() {
  local what=$1 log=$2 caller=$3 ticks=0 detail never
  exec {never}<> <(:)  # Reading it waits for the timeout; unlike `sleep`, it leaves no process behind.
  while kill -0 "$caller" 2>/dev/null; do
    read -rt 0.2 -u "$never" || true
    ticks=$((ticks + 1))
    [[ -t 2 ]] || ((ticks % 25 == 0)) || continue
    if declare -F progress_detail >/dev/null; then detail=$(progress_detail); else detail=$(last_words "$log"); fi
    detail=${detail//[$'\r\t']/ }
    if [[ -t 2 ]]; then printf '\r\e[K[%6s s] %s: %.80s' "$(seconds_since "$TESSERA_START")" "$what" "$detail" >&2
    else say "$what: ${detail:0:80}"; fi
  done
}

# The files in which this machine names its sources of Debian 12, one per line.
bookworm_sources() {
  grep -lsE '(^|\s)bookworm(-\w+)?(\s|$)' /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources || true
}

# Runs COMMAND with its output in LOG and a progress line. If it fails: the end of LOG, and COMMAND's status.
run_logged() {
  local what=$1 log=$2 status=0 ticker
  shift 2
  : >"$log"
  show_progress "$what" "$log" $$ >/dev/null &
  ticker=$!
  "$@" >"$log" 2>&1 </dev/null || status=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  if [[ -t 2 ]]; then printf '\r\e[K' >&2; fi
  if ((status != 0)); then
    tail -n 60 "$log" >&2
    say "$what went wrong (exit code $status); the end of $log stands above"
  fi
  return "$status"
}

# Runs COMMAND as a stage: prints the time beside the seconds that stage_seconds.tsv expects, and keeps both for stage_table.
stage_times=()
stage() {
  local name=$1 start=$EPOCHREALTIME status=0 result=done took expected again words=
  shift
  "$@" || status=$?
  ((status == 0)) || result=FAILED
  took=$(seconds_since "$start")
  IFS=$'\t' read -r expected again < <(awk -F'\t' -v OFS='\t' -v name="$name" '$1 == name { print $2, $3 }' \
    "$root/scripts/lib/stage_seconds.tsv") || true
  if [[ -n $expected ]]; then words="  expected $expected s"; fi
  if [[ $again != "$expected" ]]; then words+=", again $again s"; fi
  stage_times+=("$name"$'\t'"$took"$'\t'"$result$words"$'\t'"$expected"$'\t'"$again")
  say "$name: $result in $took s$words"
  return "$status"
}

# The time of each stage beside the expected one, and the sums.
stage_table() {
  printf '%s\n' "${stage_times[@]}" | awk -F'\t' '
    { sum += $2; expected += $4; again += $5; printf "%-16s %8s s  %s\n", $1, $2, $3 }
    END {
      printf "%-16s %8.1f s  (%d min %d s)", "all stages", sum, sum / 60, sum % 60
      if (expected) printf "  expected %d s, again %d s", expected, again
      print ""
    }'
}

# The models that tests read.
fetch_models() {
  local name
  for name in smollm2 gemma3; do "$root/scripts/fetch_model.sh" "$name" >/dev/null || return 1; done
}

# Ends a script whose tests have left in RESULTS what count_tests.py reads: the slowest tests, the stages' times, what failed or was
# skipped, and as the last line "N passed, N failed" behind PREFIX.
count_tests_and_exit() {
  local prefix=$1 results=$2 passed failed skipped
  python3 "$root/scripts/lib/slowest_tests.py" "$results" || true
  stage_table
  read -r passed failed skipped < <(python3 "$root/scripts/lib/count_tests.py" "$results")
  if ((skipped > 0)); then echo "$skipped skipped, named above"; fi
  if ((passed + failed == 0)); then echo "no test ran"; fi
  echo "$prefix$passed passed, $failed failed"
  if ((failed > 0 || passed == 0)); then exit 1; fi
  exit 0
}
