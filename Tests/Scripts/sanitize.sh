#!/usr/bin/env bash
# Runs the pure rooms' tests under a sanitizer, room by room, and prints the results. CHECKS ("address thread"),
# ROOMS (all that have tests), SANITIZE_BUILD (.build-: one folder for each check).
set -euo pipefail
cd "$(dirname "$0")/../.."

export COSPOOL_ROOMS=pure
# Leaks are not checked: pointers in enums carry the case in their upper bits, where the leak sanitizer does not
# see them, and it would report what fixtures keep until the end.
export ASAN_OPTIONS=detect_leaks=0
failed=0
for check in ${CHECKS:-address thread}; do
  build=${SANITIZE_BUILD:-.build-}$check
  nice swift build --build-tests --sanitize "$check" --scratch-path "$build" --ignore-lock
  rooms=${ROOMS:-$(swift test list --skip-build --sanitize "$check" --scratch-path "$build" \
    --ignore-lock | sed -n 's/^\([A-Za-z]*Tests\)\..*/\1/p' | sort -u)}
  for room in $rooms; do
    log=$build/$room.log
    start=$SECONDS
    status=0
    nice swift test --skip-build --sanitize "$check" --scratch-path "$build" --ignore-lock \
      --filter "^$room\." >"$log" 2>&1 || status=$?
    printf '%-8s %-22s %5d s  %s  %s\n' "$check" "$room" $((SECONDS - start)) \
      "$(grep -aoE 'Test run with [0-9]+ tests?.*(passed|failed)' "$log" | tail -1)" \
      "$([ $status = 0 ] && echo clean || echo "FAILED, see $log")"
    [ $status = 0 ] || failed=1
  done
done
exit $failed
