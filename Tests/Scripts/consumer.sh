#!/usr/bin/env bash
# `make consumer`: builds the app in Tests/Consumer from outside the package, in a separate folder, and lets it use
# a real server. Everything that it links is compiled for it, which takes minutes the first time.
set -euo pipefail
cd "$(dirname "$0")/../.."

bin=${COSPOOL_BIN:-.build/debug}
source Tests/Scripts/processes.sh
home=$(mktemp -d "${TMPDIR:-/tmp}/cospool-consumer.XXXXXX")
trap 'exit 130' INT TERM
trap 'stop_all; rm -rf "$home"' EXIT

${SWIFT:-swift} build --package-path Tests/Consumer --scratch-path .build-consumer --product OutsideApp
start "$home/server.log" "$bin/cospool-server" serve \
  --data "$home/server" --host 127.0.0.1 --port 0
url=$(await_line "$started" "$home/server.log" "listening on ws://" |
  sed 's|.*listening on \(ws://[^ ]*\).*|\1|')
.build-consumer/debug/OutsideApp "$url" "$(pairing_code "$home/server")" \
  "$(pairing_code "$home/server")" "$home"
