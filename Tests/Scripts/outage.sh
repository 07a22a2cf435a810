#!/usr/bin/env bash
# Runs six hosts with an agent each. The server is killed, stays away for a while, and starts again: no agent may
# end. Usage: Tests/Scripts/outage.sh [tries [hosts]], by default 2 and 6. In each try the server is away for 3 to
# 60 seconds, in the first two for 3 and 9. COSPOOL_BIN, or else .build/debug, has the three programs.
set -euo pipefail
cd "$(dirname "$0")/../.."
tries="${1:-2}"
hosts="${2:-6}"
PATH="${COSPOOL_BIN:-$PWD/.build/debug}:$PATH"
base="$(mktemp -d)"
pids=()
end() {
  for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$base"
}
trap end EXIT
cospool-server --data "$base/s" --port 0 > "$base/s.log" 2>&1 &
server=$!
pids+=("$server")
url=""
for ((i = 0; i < 300 && ${#url} == 0; i++)); do
  sleep 0.1
  url="$(grep -o 'ws://[0-9.:]*' "$base/s.log" | head -1 || true)"
done
for ((h = 1; h <= hosts; h++)); do
  export COSPOOL_DATA="$base/$h"
  cospoold --name "h$h" > "$base/$h.log" 2>&1 &
  pids+=("$!")
  for ((i = 0; i < 300; i++)); do cospool status > /dev/null 2>&1 && break; sleep 0.1; done
  code="$(cospool-server --data "$base/s" pair --json | grep -o '"code":"[^"]*"' | cut -d'"' -f4)"
  cospool pair "$url" "$code" > /dev/null
  cospool config set command "sleep 100000" > /dev/null
  cospool config set agent command > /dev/null
  cospool send -s "j$h" --new work > /dev/null
  cospool session host "j$h" this > /dev/null
done
# The number of agents at work.
running() {
  local count=0 h
  for ((h = 1; h <= hosts; h++)); do
    if cospool --data "$base/$h" queue list -s "j$h" --json | grep -q '"status":"running"'; then
      count=$((count + 1))
    fi
  done
  echo "$count"
}
for ((i = 0; i < 300; i++)); do [ "$(running)" = "$hosts" ] && break; sleep 0.2; done
dead=0
for ((try = 1; try <= tries; try++)); do
  case $try in 1) away=3 ;; 2) away=9 ;; *) away=$((3 + RANDOM % 58)) ;; esac
  kill -9 "$server"
  wait "$server" 2>/dev/null || true
  sleep "$away"
  cospool-server --data "$base/s" --port "${url##*:}" > "$base/s.log" 2>&1 &
  server=$!
  pids+=("$server")
  for ((h = 1; h <= hosts; h++)); do
    cospool --data "$base/$h" sync wait --timeout 60 > /dev/null
  done
  sleep 6
  left="$(running)"
  echo "away for $away s: $((hosts - left)) of $hosts agents dead"
  dead=$((dead + hosts - left))
done
[ "$dead" = 0 ]
