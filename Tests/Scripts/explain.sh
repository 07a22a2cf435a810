#!/usr/bin/env bash
# explain.sh COMMAND…: runs a test command. If it fails, the last lines of the output name the failed tests and the
# reasons, because a build machine often shows only the end. A command without output for SILENCE seconds (1200)
# hangs: it is ended, and the output shows what it waits for. With RERUN=n, at most n failed tests run again,
# alone, and their first results are shown as well. This is for tests with real processes, which miss deadlines on
# a machine that stops for a minute.
set -uo pipefail
silence=${SILENCE:-1200}
log=$(mktemp)
# Its own process group, so that all of it can be ended.
set -m
{ "$@" 2>&1 | tee "$log"; } < /dev/null &
job=$!
set +m
trap 'rm -f "$log"' EXIT
trap 'kill -TERM -- "-$job" 2> /dev/null; exit 130' INT TERM

# Every process of the group, and those that it started and that left it.
tree() {
  ps -e -o pid=,ppid=,pgid=,etime=,stat=,args= | awk -v root="$job" '
    { parent[$1] = $2; group[$1] = $3; line[$1] = $0; order[++count] = $1 }
    END {
      for (i = 1; i <= count; i++) {
        indent = ""
        for (p = order[i]; p in parent && p != root; p = parent[p]) indent = indent "  "
        if (p == root) print indent substr(line[order[i]], 1, 200)
        else if (group[order[i]] == root) print substr(line[order[i]], 1, 200)
      }
    }'
}

# Shows the tests that began and did not end, and where threads wait if there is a debugger.
diagnose() {
  echo "No output for $silence seconds. Running processes:"
  tree
  if command -v gdb > /dev/null; then
    for process in $(tree | awk '/xctest|swift-test/ { print $1 }'); do
      # First, it writes its buffered output.
      timeout 120 gdb -batch -p "$process" -ex 'call (int)fflush(0)' -ex 'thread apply all bt 20' \
        2> /dev/null | grep -v '^\[New' | cut -c1-200
    done
    sleep 1
  fi
  echo "Tests that began and did not end, according to the output:"
  sed -n 's/^. Test \([^ ]*\) started\.$/\1/p' "$log" | while read -r test; do
    grep -aqF -e "Test $test passed" -e "Test $test failed" -e "Test $test with" "$log" || echo "  $test"
  done
}

quiet=0
size=0
while kill -0 "$job" 2> /dev/null; do
  sleep 1
  now=$(wc -c < "$log")
  if [ "$now" -eq "$size" ]; then quiet=$((quiet + 1)); else quiet=0; fi
  size=$now
  if [ "$quiet" -ge "$silence" ]; then
    diagnose
    kill -KILL -- "-$job"
    break
  fi
done
wait "$job"
status=$?
[ "$status" -eq 0 ] && exit 0
echo "Failures (exit code $status):"
grep -a '✘\|↳\|: error:\|Fatal error' "$log" | cut -c1-400 | tail -40
failed=$(sed -n 's/^✘ Test \([A-Za-z0-9_]*\)(.* failed after .*/\1/p' "$log" | sort -u)
count=$(printf '%s' "$failed" | grep -c .)
# A process that crashed or hung completed no test.
if [ "$status" -eq 1 ] && grep -aq '^✘ Test run with .* failed after' "$log" \
  && [ "$count" -gt 0 ] && [ "$count" -le "${RERUN:-0}" ]; then
  echo "Again, alone:" $failed
  if "$@" --filter "/($(printf '%s' "$failed" | paste -sd '|'))\\("; then
    echo "UNSTEADY: failed first, passed alone:" $failed
    exit 0
  fi
fi
exit "$status"
