#!/usr/bin/env bash
# Runs the server in the assembled root of its image: read-only, as an account without rights, with its data
# alone writable; asks it for a code and for its health. As root: image-check.sh FOLDER
set -euo pipefail
image=$1
exec unshare --mount --pid --fork --kill-child bash -c '
  set -euo pipefail
  image=$1
  mount --make-rprivate /
  mount --bind "$image" "$image"
  mount -t proc proc "$image/proc"
  mount -t tmpfs -o mode=0700,uid=65532,gid=65532 tmpfs "$image/data"
  mount -o remount,bind,ro "$image"
  export HOME=/data TMPDIR=/data COSPOOL_SERVER_DATA=/data
  server="chroot --userspec=65532:65532 $image /usr/bin/cospool-server"
  if touch "$image/usr/written" 2>/dev/null; then
    echo "the root can be written to" >&2
    exit 1
  fi
  $server serve --host 127.0.0.1 --port 0 >"$image/data/log" 2>&1 &
  serving=$!
  for _ in $(seq 600); do
    grep -q "listening on" "$image/data/log" && break
    kill -0 "$serving" 2>/dev/null || break
    sleep 0.1
  done
  cat "$image/data/log"
  $server pair --json | grep "\"server\":\"ws://127.0.0.1:" >/dev/null
  $server health
  $server doctor
  kill -TERM "$serving"
  wait "$serving"
' image-check "$image"
