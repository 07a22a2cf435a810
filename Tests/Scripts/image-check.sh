#!/usr/bin/env bash
# Runs the server in the assembled root of its image, first as in the Dockerfile, then as in compose.yaml:
# read-only, under an account without privileges, with only its data writable, and no network but its own. It
# requests a code and the health page. Run it as root: image-check.sh FOLDER
set -euo pipefail
source "$(dirname "$0")/waiting.sh"
if [ "$1" != inside ]; then
  exec unshare --mount --pid --net --fork --kill-child bash "$0" inside "$(realpath "$1")"
fi
image=$2
cd "$(dirname "$0")"

# said KIND: prints the words that the packaging uses for it.
said() {
  mapfile -t "$1" < <(python3 image_words.py "$1")
  [ -n "${!1:-}" ] || fail "the packaging says nothing of $1"
}
for kind in entrypoint command health variables compose; do said "$kind"; done

ip link set lo up
mount --make-rprivate /
mount --bind "$image" "$image"
mount -t proc proc "$image/proc"
mount -t tmpfs -o mode=0700,uid=65532,gid=65532 tmpfs "$image/data"
mount -o remount,bind,ro "$image"
if touch "$image/usr/written" 2>/dev/null; then
  fail "the root can be written to"
fi
# shellcheck disable=SC2154
in_image=(/usr/bin/env -i "${variables[@]}" "$(command -v chroot)" --userspec=65532:65532 "$image")

# serves ADDRESS WORDS…: checks that the server starts with these words, is healthy, and that its codes name the
# address.
serves() {
  local address=$1
  shift
  # The output of the former server would be mistaken for this one's.
  : >"$image/data/log"
  # shellcheck disable=SC2154
  "${in_image[@]}" "${entrypoint[@]}" "$@" >"$image/data/log" 2>&1 &
  serving=$!
  for _ in $(seq 600); do
    grep -q "listening on" "$image/data/log" && break
    kill -0 "$serving" 2>/dev/null || break
    sleep 0.1
  done
  cat "$image/data/log"
  "${in_image[@]}" "${entrypoint[@]}" pair --json | grep -F "\"server\":\"$address\"" >/dev/null ||
    fail "a code does not name $address"
  # shellcheck disable=SC2154
  "${in_image[@]}" "${health[@]}"
  "${in_image[@]}" "${entrypoint[@]}" doctor --url ws://127.0.0.1:7420
  kill -TERM "$serving"
  wait "$serving"
}
# shellcheck disable=SC2154
serves ws://127.0.0.1:7420 "${command[@]}"
# shellcheck disable=SC2154
serves wss://cospool.example.org "${compose[@]}"
