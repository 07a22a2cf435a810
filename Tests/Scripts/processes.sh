# Sourced by run.sh and demo.sh: starts, awaits and stops the processes of a small setup. The caller sets `bin`
# (the folder of the executables) and may add to `children`.

children=()

# start LOG COMMAND…: runs the command in the background, with its output in LOG; `started` is its id.
start() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 &
  started=$!
  children+=("$started")
}

# await_line PID LOG TEXT: prints the first line of LOG that contains TEXT; fails if PID ends first.
await_line() {
  local pid=$1 log=$2 text=$3 line tries=0
  while [ "$tries" -lt 600 ]; do
    line=$(grep -m 1 -F -- "$text" "$log" 2>/dev/null) && {
      echo "$line"
      return 0
    }
    if ! kill -0 "$pid" 2>/dev/null; then
      echo "The process ended before it wrote \"$text\". Its output:" >&2
      cat "$log" >&2
      return 1
    fi
    sleep 0.1
    tries=$((tries + 1))
  done
  echo "\"$text\" was not written within 60 seconds. The output in $log:" >&2
  cat "$log" >&2
  return 1
}

# stop_all: stops every child, the latest first, and waits for it.
stop_all() {
  local index
  for ((index = ${#children[@]} - 1; index >= 0; index--)); do
    kill -TERM "${children[index]}" 2>/dev/null || true
    wait "${children[index]}" 2>/dev/null || true
  done
  children=()
}

# pairing_code DATA: prints a new one-time code of the server with the data directory DATA.
pairing_code() {
  "$bin/cospool-server" pair --data "$1" --json |
    sed -n 's/.*"code" *: *"\([^"]*\)".*/\1/p' | head -n 1
}
