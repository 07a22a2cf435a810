#!/usr/bin/env bash
# Runs the pure rooms' tests under a sanitizer, room by room, and prints what each did.
# CHECKS ("address thread"), ROOMS (all that have tests), SANITIZE_BUILD (.build-: one folder a check).
set -euo pipefail
cd "$(dirname "$0")/../.."

export COSPOOL_ROOMS=pure
failed=0
for check in ${CHECKS:-address thread}; do
  build=${SANITIZE_BUILD:-.build-}$check
  nice swift build --build-tests --sanitize "$check" --scratch-path "$build" --ignore-lock
  rooms=${ROOMS:-$(swift test list --skip-build --sanitize "$check" --scratch-path "$build" \
    --ignore-lock | sed -n 's/^\([A-Za-z]*Tests\)\..*/\1/p' | sort -u)}
  # XCTest, which runs first and has no tests here, leaks two objects of its own. The fixture of the
  # fuzzers is global, but its lists lie in enums, whose pointers the leak sanitizer does not see.
  printf 'leak:XCTest\nleak:FuzzFixture\n' >"$build/leaks"
  export LSAN_OPTIONS=suppressions=$PWD/$build/leaks:print_suppressions=0
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
