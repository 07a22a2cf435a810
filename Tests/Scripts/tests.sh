#!/usr/bin/env bash
# tests.sh COMPUTING: runs all tests of the build. Those with sockets, daemons and deadlines run a few at a
# time: with hundreds at once each waits so long for its turn that deadlines pass. Those of the rooms that
# COMPUTING matches compute for minutes: they run beside the others at the lowest priority and take what is
# left of the processors. Their output follows at the end.
set -euo pipefail
cd "$(dirname "$0")/../.."
computing="^($1)\\."
# Two of `swift test` at once would wait for each other's lock.
test=("$("${SWIFT:-swift}" build --show-bin-path)/cospoolPackageTests.xctest" --testing-library swift-testing)
export NO_COLOR=1
log=$(mktemp)
set -m
nice -n 19 Tests/Scripts/explain.sh "${test[@]}" --filter "$computing" > "$log" 2>&1 &
beside=$!
set +m
trap 'kill -TERM -- "-$beside" 2> /dev/null || true; rm -f "$log"' EXIT
trap 'exit 130' INT TERM

status=0
RERUN=3 SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4 \
  Tests/Scripts/explain.sh "${test[@]}" --skip "$computing" || status=$?
besides=0
wait "$beside" || besides=$?
if [ "$besides" -ne 0 ]; then cat "$log"; else grep -a 'Test run with' "$log"; fi
exit $((status != 0 ? status : besides))
