#!/usr/bin/env bash
# `make run`: a server and one paired daemon on this machine, until Ctrl-C. The data stays.
#    RUN_DIR   the folder of the data (default .run)   RUN_PORT   the server's port (default 7420)
set -euo pipefail
cd "$(dirname "$0")/../.."

data=${RUN_DIR:-.run}
port=${RUN_PORT:-7420}
bin=${COSPOOL_BIN:-.build/debug}
source Tests/Scripts/processes.sh

mkdir -p "$data"
chmod 700 "$data"
trap 'exit 0' INT TERM
trap 'stop_all' EXIT

start "$data/server.log" "$bin/cospool-server" serve \
  --data "$data/server" --host 127.0.0.1 --port "$port"
server=$started
url=$(await_line "$server" "$data/server.log" "listening on ws://" |
  sed 's|.*listening on \(ws://[^ ]*\).*|\1|')

"$bin/cospool" init --data "$data/device" >/dev/null
start "$data/daemon.log" "$bin/cospoold" --data "$data/device" --name "$(uname -n)"
daemon=$started
await_line "$daemon" "$data/daemon.log" "ready on" >/dev/null

cospool() { "$bin/cospool" "$@" --data "$data/device"; }
if cospool status --json | grep '"state" *: *"notPaired"' >/dev/null; then
  cospool pair "$url" "$(pairing_code "$data/server")" >/dev/null
fi
cospool sync wait --timeout 30 >/dev/null

cat <<TEXT

Cospool runs: a server on $url and one paired daemon.
The data stays in $data; the logs are $data/server.log and $data/daemon.log.

Try this in another terminal, in this directory:

  export COSPOOL_DATA=$data/device
  $bin/cospool send -s login-page "Write the failing test first"
  $bin/cospool send -s login-page --urgent "Stop: use the new session API"
  $bin/cospool queue list -s login-page
  $bin/cospool thread list --all
  $bin/cospool status

A second device on this machine:

  $bin/cospoold --data $data/second --name second &
  $bin/cospool-server pair --data $data/server
  $bin/cospool pair $url CODE --data $data/second
  $bin/cospool sync wait --data $data/second
  $bin/cospool queue list -s login-page --data $data/second

Ctrl-C stops both.
TEXT

status=0
wait -n "$server" "$daemon" || status=$?
echo "One of the two programs ended unexpectedly (exit code $status); see the logs in $data." >&2
exit 1
