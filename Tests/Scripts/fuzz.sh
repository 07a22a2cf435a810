#!/usr/bin/env bash
# Builds the fuzzer and runs each target for MINUTES minutes; prints the results of each.
# MINUTES (10), TARGETS (all), JOBS (1: targets at once), MEMORY_MB (2048), FUZZ_BUILD (.build-fuzz).
set -euo pipefail
cd "$(dirname "$0")/../.."

minutes=${MINUTES:-10}
targets=${TARGETS:-deltas snapshots frames envelopes sequences json requests addresses codes inputs tasks}
build=${FUZZ_BUILD:-.build-fuzz}
work=$build/findings
export SWIFT_BACKTRACE=enable=no   # else a found crash waits for the backtracer for minutes
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1

# Both sanitizers in one flag: with two flags, the compiler only uses the last. The linker must keep the counters,
# to which nothing refers by name.
COSPOOL_ROOMS=FuzzRunner swift build -c release --sanitize fuzzer --sanitize address \
  --product cospool-fuzz -Xswiftc -sanitize=fuzzer,address -Xswiftc -use-ld=lld \
  -Xlinker -z -Xlinker nostart-stop-gc --scratch-path "$build" --ignore-lock

run() {
  local target=$1 corpus=$work/$1/corpus log=$work/$1/log
  mkdir -p "$corpus" "$work/$target/crashes"
  local status=0
  COSPOOL_FUZZ_TARGET=$target nice "$build/release/cospool-fuzz" \
    -max_total_time=$((minutes * 60)) -rss_limit_mb="${MEMORY_MB:-2048}" -timeout=20 \
    -max_len=4096 -print_final_stats=1 -artifact_prefix="$work/$target/crashes/" \
    "$corpus" "Tests/Fuzzing/Corpus/$target" >"$log" 2>&1 || status=$?
  local last
  last=$(grep -aE '^#[0-9]+.* cov: ' "$log" | tail -1)
  printf '%-10s %12s executions %8s a second  %s  %s\n' "$target" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" \
    "$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")" \
    "$(grep -oE 'cov: [0-9]+ ft: [0-9]+ corp: [0-9]+' <<<"$last")" \
    "$([ $status = 0 ] && echo 'no findings' || echo "FOUND, see $log and $work/$target/crashes")"
  return $status
}

failed=0
running=0
for target in $targets; do
  run "$target" &
  running=$((running + 1))
  if [ "$running" -ge "${JOBS:-1}" ]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
done
while [ "$running" -gt 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done
exit $failed
