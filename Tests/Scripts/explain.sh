#!/usr/bin/env bash
# explain.sh COMMAND…: runs a test command; where it fails, says at the very end which tests did and
# why, because a build machine often shows the end alone.
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
if [ "$status" -ne 0 ]; then
  echo "What failed (exit code $status):"
  grep -a '✘\|↳\|: error:\|Fatal error' "$log" | cut -c1-400 | tail -40
fi
exit "$status"
