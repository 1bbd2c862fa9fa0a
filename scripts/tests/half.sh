#!/usr/bin/env bash
# Runs every second test of a GoogleTest program: those with odd numbers (1) or the others (2). Results that GTEST_OUTPUT asks for in a
# folder (json:FOLDER/) get a name of their own there: two halves that run at once would choose the same.
#
#   scripts/tests/half.sh 1|2 [EMULATOR...] PROGRAM
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"

half=${1:?"1 or 2"}
shift
program=${!#}   # The last argument.
export GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX=$((half - 1))
if [[ ${GTEST_OUTPUT:-} == */ ]]; then
  name=$(basename "$program")
  export GTEST_OUTPUT=$GTEST_OUTPUT${name%_tests}_${half}_tests.json
fi
exec "$@"
