#!/usr/bin/env bash
# tests.sh COMPUTING: runs all tests of the build. Those with sockets, daemons and deadlines run a few at a time:
# with hundreds at once, each waits so long for its turn that deadlines pass. Tests of the rooms that COMPUTING
# matches compute for minutes. They run beside the others with the lowest priority, and use the rest of the
# processors. Their output follows at the end.
set -euo pipefail
cd "$(dirname "$0")/../.."
computing="^($1)\\."
# Two `swift test` at once would wait for each other's lock.
test=("$("${SWIFT:-swift}" build --show-bin-path)/cospoolPackageTests.xctest" --testing-library swift-testing)
export NO_COLOR=1
log=$(mktemp)
# Separate groups: a signal to this script ends both at once, with everything that they started.
set -m
nice -n 19 Tests/Scripts/explain.sh "${test[@]}" --filter "$computing" > "$log" 2>&1 &
beside=$!
RERUN=3 SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4 \
  Tests/Scripts/explain.sh "${test[@]}" --skip "$computing" &
others=$!
set +m
trap 'kill -TERM -- "-$beside" "-$others" 2> /dev/null || true; rm -f "$log"' EXIT
trap 'exit 130' INT TERM

status=0
wait "$others" || status=$?
besides=0
wait "$beside" || besides=$?
# A run that does not report its end failed.
if [ "$besides" -ne 0 ] || ! grep -a 'Test run with' "$log"; then
  cat "$log"
  besides=$((besides != 0 ? besides : 1))
fi
exit $((status != 0 ? status : besides))
