#!/usr/bin/env bash
# `make consumer`: builds the app in Tests/Consumer from outside the package, and lets it use a real
# server. What `swift build` has compiled already is used again.
set -euo pipefail
cd "$(dirname "$0")/../.."

bin=${COSPOOL_BIN:-.build/debug}
source Tests/Scripts/processes.sh
home=$(mktemp -d "${TMPDIR:-/tmp}/cospool-consumer.XXXXXX")
trap 'exit 130' INT TERM
trap 'stop_all; rm -rf "$home"' EXIT

# The versions of the packages that the products were built with.
cp Package.resolved Tests/Consumer/Package.resolved
${SWIFT:-swift} build --package-path Tests/Consumer --scratch-path .build --product Consumer

start "$home/server.log" "$bin/cospool-server" serve \
  --data "$home/server" --host 127.0.0.1 --port 0
url=$(await_line "$started" "$home/server.log" "listening on ws://" |
  sed 's|.*listening on \(ws://[^ ]*\).*|\1|')
"$bin/Consumer" "$url" "$(pairing_code "$home/server")" "$(pairing_code "$home/server")" "$home"
