#!/usr/bin/env bash
# Repeats problems that users of other products reported, with the real programs: F1 to F4 and F12 of the rows I-1,
# I-4, I-6, I-7, I-100 and I-101 of Tests/INTENT.md. It takes half a minute, mostly for a machine that sleeps.
# COSPOOL_BIN, or else .build/debug, has the three programs.
set -euo pipefail
cd "$(dirname "$0")/../.."
. Tests/Scripts/waiting.sh
export PATH="${COSPOOL_BIN:-$PWD/.build/debug}:$PATH"
base="$(mktemp -d)"
touch "$base/pids"
end() {
  xargs -r kill -9 < "$base/pids" 2> /dev/null || true
  wait 2> /dev/null || true
  rm -rf "$base"
}
trap end EXIT

# start LOG COMMAND…: runs a command in the background until the end of this script; $started is its process.
start() {
  local log="$1"
  shift
  "$@" > "$log" 2>&1 &
  started=$!
  echo "$started" >> "$base/pids"
}

# device NAME: starts a daemon with the data directory of its name, and waits until it accepts commands.
device() {
  export COSPOOL_DATA="$base/$1"
  start "$base/$1.log" cospoold --name "$1"
  eventually 30 cospool status
}

# shows TEXT COMMAND…: whether a command prints a text.
shows() {
  local text="$1"
  shift
  "$@" 2>&1 | grep -qF -- "$text"
}

# asking PROCESS COMMAND…: whether the asking process still waits, and the command shows its request.
asking() {
  kill -0 "$1" 2> /dev/null || fail "ask has ended without an answer"
  shows "$2" cospool task show "$3"
}

# F1: a text is a text, and only an answer gives permission.
f1() {
  device f1
  cospool send -s x --new "- [ ] fix the header" > /dev/null
  shows "- [ ] fix the header" cospool queue list -s x || fail "F1: the prompt is lost"
  start "$base/ask" cospool ask -s x --leave "- delete the branch"
  eventually 30 asking "$started" "- delete the branch" x
}

# F2: a name means that session or nothing.
f2() {
  local url code request other
  start "$base/server.log" cospool-server --data "$base/server" --port 0
  eventually 30 grep -q 'ws://' "$base/server.log"
  url="$(grep -o 'ws://[0-9.:]*' "$base/server.log" | head -1)"
  for name in a b; do
    device "$name"
    code="$(cospool-server --data "$base/server" pair --json | grep -o '"code":"[^"]*"' | cut -d'"' -f4)"
    cospool pair "$url" "$code" > /dev/null
  done
  export COSPOOL_DATA="$base/a"
  cospool session add server > /dev/null
  start "$base/asker" cospool ask -s server --leave "rm -rf /srv/production"
  local asker="$started"
  export COSPOOL_DATA="$base/b"
  eventually 30 asking "$asker" "rm -rf /srv/production" server
  request="$(cospool task show server --json | grep -o '"id":"[^"]*"' | head -1 | cut -d'"' -f4)"
  for length in 1 2; do
    other="${request:0:length}"
    cospool session add "$other" > /dev/null
    ! cospool approve "$other" < /dev/null > /dev/null 2>&1 || fail "F2: another session's request was allowed"
  done
  asking "$asker" "rm -rf /srv/production" server || fail "F2: the request is gone"
  cospool approve server > /dev/null < /dev/null
  wait "$asker" || fail "F2: the yes did not arrive"
}

# F12: the number of a row is not a message.
f12() {
  device f12
  for number in 1 2 3 4 5 6; do cospool send -s todo --new "todo $number" > /dev/null; done
  for number in 1 2 3 4; do cospool send -s other --new "other $number" > /dev/null; done
  for row in 1 2 3 4 5 6 7 8; do
    ! cospool queue cancel "$row" > /dev/null 2>&1 || fail "F12: cancel $row cancelled something"
  done
  [ "$(cospool queue list --json | grep -o '"status":"queued"' | wc -l)" = 10 ] || fail "F12: messages are missing"
}

# F3: a device that is its own authority loses nothing by sleeping.
f3() {
  device f3
  local daemon="$started"
  cospool config set command "sleep 300" > /dev/null 2>&1
  cospool config set agent command > /dev/null
  cospool send -s x --new "long work" > /dev/null
  cospool session host x this > /dev/null
  eventually 30 shows "[running]" cospool queue list -s x
  kill -STOP "$daemon"
  sleep 22
  kill -CONT "$daemon"
  for look in 1 2 3 4 5 6; do
    sleep 0.5
    shows "[running]" cospool queue list -s x || fail "F3: the sleep ended the turn, at look $look"
  done
}

# F4: an absent server ends nothing. The long form: Tests/Scripts/outage.sh 20.
f4() {
  Tests/Scripts/outage.sh 2 2 > "$base/outage" 2>&1 || fail "F4: $(cat "$base/outage")"
}

failed=0
names=(f1 f2 f3 f4 f12)
runs=()
for name in "${names[@]}"; do
  (trap - EXIT; "$name") &
  runs+=("$!")
done
for index in "${!runs[@]}"; do
  if wait "${runs[$index]}"; then echo "${names[$index]^^}: as users expect"; else failed=1; fi
done
exit "$failed"
