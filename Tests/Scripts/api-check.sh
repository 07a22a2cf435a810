#!/usr/bin/env bash
# Starts a daemon with its own store and compares it with its description; see api_check.py. EXAMPLES=n requests of
# each kind, SEED=n. Needs python3 with venv; the packages come from PyPI.
set -euo pipefail
cd "$(dirname "$0")/../.."

daemon=${COSPOOLD:-.build/debug/cospoold}
environment=.venv-api
if [ ! -x "$environment/bin/schemathesis" ]; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet --require-hashes -r Tests/Scripts/api-requirements.txt
fi

data=$(mktemp -d /tmp/cospool-api.XXXXXX)
"$daemon" --data "$data" --log-level error > "$data/ready" &
process=$!
trap 'kill $process 2>/dev/null; wait $process 2>/dev/null; rm -rf "$data"' EXIT
while ! grep -q '^ready on ' "$data/ready"; do
  kill -0 $process
  sleep 0.05
done
"$environment/bin/python" Tests/Scripts/api_check.py "$data/cospool.sock" \
  --examples "${EXAMPLES:-25}" --seed "${SEED:-1}"
