#!/usr/bin/env bash
# Shows how much of the GGUF reader the seeds and the corpora of gguf and split reach by themselves: prints the lines of each file, and
# fails if all files together are below 90 %.
#
#   scripts/tests/fuzz_coverage.sh [--build-dir build-asan]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"

build=$root/build-asan
if [[ ${1:-} == --build-dir ]]; then build=${2:?--build-dir needs a folder}; shift 2; fi
(($# == 0)) || die "unknown argument $1; usage: scripts/tests/fuzz_coverage.sh [--build-dir DIR]"
least=90

"$root/scripts/build.sh" --tests --build-dir "$build" --type AddressSanitizer tessera_coverage_{gguf,split}
profile=$build/fuzz/coverage
mkdir -p "$build/fuzz"
for target in gguf split; do
  LLVM_PROFILE_FILE=$profile.$target "$build/bin/tessera_coverage_$target" "$root/tests/fuzz/corpus/$target" >&2
done
llvm-profdata-19 merge -o "$profile" "$profile".{gguf,split}
# The columns of llvm-cov: file, ..., lines, missed lines, their share (8 to 10), ...
llvm-cov-19 report "$build/bin/tessera_coverage_gguf" -object "$build/bin/tessera_coverage_split" -instr-profile "$profile" \
  "$root"/model/files/gguf.cc "$root"/model/files/gguf_parser.cc "$root"/model/files/internal/gguf_{bytes,cursor,split}.* |
  awk -v least="$least" '
    $1 ~ /gguf/ || $1 == "TOTAL" { printf "%-24s %5d lines, %3d missed: %s\n", $1, $8, $9, $10; share = $10 + 0 }
    END { if (share < least) { print "expected " least "% or more" > "/dev/stderr"; exit 1 } }'
