#!/usr/bin/env bash
# Starts a daemon with its own store and uses it through `cospool mcp` with the reference client of the Model
# Context Protocol; see mcp_check.py. Needs python3 with venv; the client comes from PyPI.
set -euo pipefail
cd "$(dirname "$0")/../.."

daemon=${COSPOOLD:-.build/debug/cospoold}
command=${COSPOOL:-.build/debug/cospool}
environment=.venv-mcp
if [ ! -e "$environment/ready" ]; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet --require-hashes -r Tests/Scripts/mcp-requirements.txt
  touch "$environment/ready"
fi

data=$(mktemp -d /tmp/cospool-mcp.XXXXXX)
"$daemon" --data "$data" --thread-queue on --log-level error > "$data/ready" &
process=$!
trap 'kill $process 2>/dev/null; wait $process 2>/dev/null; rm -rf "$data"' EXIT
while ! grep -q '^ready on ' "$data/ready"; do
  kill -0 $process
  sleep 0.05
done
"$environment/bin/python" Tests/Scripts/mcp_check.py "$PWD/$command" "$data"
