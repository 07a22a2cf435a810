#!/usr/bin/env bash
# Runs the benchmarks and prints their table: name, ours, peer, ratio.
#   TRACES=DIR  the folder with the editing traces; without it, the suite prompt is skipped
#   PEERS=1     measures Loro and Yrs too, suite by suite right after ours (needs Python and pip)
#   RUNS=N      repetitions of each measurement
# BENCH_BIN has the executables. With PEERS, the script prints the section for RESULTS.md, and keeps it in
# RESULTS_DIR with the JSON from which it is made.
set -euo pipefail
cd "$(dirname "$0")/../.."

bench=${BENCH_BIN:-.build-bench/release}/cospool-bench
peers=Tests/Benchmarks/Peers
options=(--runs "${RUNS:-5}")
[ -z "${TRACES:-}" ] || options+=(--traces "$TRACES")

if [ ! -x "$bench" ]; then
  echo "bench: $bench does not exist; run make bench" >&2
  exit 1
fi
if [ -z "${PEERS:-}" ]; then
  exec "$bench" all "${options[@]}"
fi

command -v python3 >/dev/null || {
  echo "bench: PEERS=1 needs python3 with venv" >&2
  exit 1
}
[ -x .venv-peers/bin/python ] || python3 -m venv .venv-peers
.venv-peers/bin/pip install --quiet --require-hashes --disable-pip-version-check -r "$peers/requirements.txt"
python=.venv-peers/bin/python

results=${RESULTS_DIR:-.build-bench/results}
mkdir -p "$results"
load=$(cut -d ' ' -f 1 /proc/loadavg)
ours=()
theirs=()
# Runs ours and theirs of one suite right after each other, so that the machine is the same for both.
for suite in prompt queue delta; do
  if [ "$suite" = prompt ] && [ -z "${TRACES:-}" ]; then
    echo "bench: the suite prompt is skipped; to run it, set TRACES to the folder with the editing traces" >&2
    continue
  fi
  "$bench" "$suite" "${options[@]}" --json >"$results/ours-$suite.json"
  "$python" "$peers/measure.py" "$suite" "${options[@]}" >"$results/peers-$suite.json"
  ours+=("$results/ours-$suite.json")
  theirs+=("$results/peers-$suite.json")
done
for suite in workspace sync execution; do
  "$bench" "$suite" "${options[@]}" --json >"$results/ours-$suite.json"
  ours+=("$results/ours-$suite.json")
done
versions=$(sed 's/==/ /' "$peers/requirements.in" | paste -sd , | sed 's/,/, /g')
{
  printf '## %s, beside %s\n\n' "$(date -u +%F)" "$versions"
  printf '%s, %s, %s cores, load %s before and %s after; medians of %s runs.\n\n' \
    "$(. /etc/os-release && echo "$PRETTY_NAME")" \
    "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1)" "$(nproc)" \
    "$load" "$(cut -d ' ' -f 1 /proc/loadavg)" "${RUNS:-5}"
  "$python" "$peers/compare.py" "${ours[@]}" --peers "${theirs[@]}"
} | tee "$results/section.md"
