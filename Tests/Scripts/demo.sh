#!/usr/bin/env bash
# `make demo`: two devices and a server. Both devices go offline, make conflicting changes to the same queues,
# reconnect, and have the same queues. Exit code 1 if they do not. SERVER_BIN and PHONE_BIN have the executables of
# another version, for the server and for one device (`make previous-check`).
set -euo pipefail
cd "$(dirname "$0")/../.."

bin=${COSPOOL_BIN:-.build/debug}
declare -A bins=([server]=${SERVER_BIN:-$bin} [laptop]=$bin [phone]=${PHONE_BIN:-$bin})
source Tests/Scripts/processes.sh

home=$(mktemp -d "${TMPDIR:-/tmp}/cospool.XXXXXX")
trap 'exit 130' INT TERM
trap 'stop_all; rm -rf "$home"' EXIT

say() { printf '\n== %s\n' "$*"; }
laptop() { on laptop "$@"; }
phone() { on phone "$@"; }
on() {
  local device=$1
  shift
  printf '%-6s $ cospool' "$device"
  printf ' %q' "$@"
  printf '\n'
  "${bins[$device]}/cospool" "$@" --data "$home/$device"
}

say "A server and two paired devices"
start "$home/server.log" "${bins[server]}/cospool-server" serve \
  --data "$home/server" --host 127.0.0.1 --port 0
url=$(await_line "$started" "$home/server.log" "listening on ws://" |
  sed 's|.*listening on \(ws://[^ ]*\).*|\1|')
for device in laptop phone; do
  "${bins[$device]}/cospool" init --data "$home/$device" >/dev/null
  start "$home/$device.log" "${bins[$device]}/cospoold" --data "$home/$device" --name "$device"
  await_line "$started" "$home/$device.log" "ready on" >/dev/null
  on "$device" pair "$url" "$(bin=${bins[server]} pairing_code "$home/server")"
done

say "Work queued on the laptop arrives on the phone"
first=11111111-0000-4000-8000-000000000001
second=22222222-0000-4000-8000-000000000002
third=33333333-0000-4000-8000-000000000003
laptop send -s login-page --id $first "Write the test for the login page"
laptop send -s login-page --id $second "Make the test pass"
laptop send -s login-page --id $third "Update the changelog"
laptop send -s search-api "Profile the slow query"
laptop sync wait --timeout 30
phone sync wait --timeout 30
phone queue list -s login-page

say "Both go offline and change the same things"
laptop sync off
phone sync off
laptop queue edit $first "Write the failing test for the login page"
phone queue edit $first "Write the test for the login page and the sign-up page"
laptop queue move $third --to 1
phone queue move $third --to 2
laptop queue cancel $second
phone queue edit $second "Make the test pass, then tidy up"
laptop send -s search-api "Add an index"
phone send -s search-api --urgent "Measure first"
laptop thread move search-api --to 1
phone thread move login-page --to 2

say "Both come back"
laptop sync on
phone sync on
# Each device waits until it has sent everything; changes of the other one may still be on their way.
for _ in $(seq 100); do
  laptop sync wait --timeout 60 >"$home/waited"
  phone sync wait --timeout 60 >>"$home/waited"
  "$bin/cospool" dump --data "$home/laptop" >"$home/laptop.json"
  "${bins[phone]}/cospool" dump --data "$home/phone" >"$home/phone.json"
  cmp -s "$home/laptop.json" "$home/phone.json" && break
done
cat "$home/waited"

for device in laptop phone; do
  say "What the $device has now: both edits of one prompt, among others"
  on "$device" queue list
  on "$device" thread list --all
done

if cmp "$home/laptop.json" "$home/phone.json"; then
  say "Equal: both devices hold the same queues."
else
  say "NOT EQUAL: the devices differ."
  exit 1
fi
