#!/usr/bin/env bash
# Runs each TOTAL-th test of a GoogleTest program, beginning with test number INDEX, from 1 to TOTAL. So TOTAL runs side by side do all
# tests once.
#
#   scripts/tests/shard.sh INDEX TOTAL [EMULATOR...] PROGRAM
#
# Results that GTEST_OUTPUT asks for in a folder (json:FOLDER/) get a name of their own there: the runs would choose the same one.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"

(($# >= 3)) || die "found $# arguments, expected the shard's number, the number of shards and a program"
index=$1 total=$2
shift 2
program=${!#}   # The last argument.
export GTEST_TOTAL_SHARDS=$total GTEST_SHARD_INDEX=$((index - 1))
if [[ ${GTEST_OUTPUT:-} == */ ]]; then
  name=$(basename "$program")
  export GTEST_OUTPUT=$GTEST_OUTPUT${name%_tests}_${index}_tests.json
fi
exec "$@"
