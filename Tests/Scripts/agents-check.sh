#!/usr/bin/env bash
# Lets the real Claude Code ask for leave through `cospool mcp`, against a model that answers from a
# script: agents_check.py says how. Needs python3 with venv; the package from PyPI brings the binary
# (about 250 MB), and nothing leaves this machine after that.
set -euo pipefail
cd "$(dirname "$0")/../.."

daemon=${COSPOOLD:-.build/debug/cospoold}
command=${COSPOOL:-.build/debug/cospool}
environment=.venv-agents
requirements=Tests/Scripts/agents-requirements.txt
if ! cmp -s "$requirements" "$environment/ready"; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet -r "$requirements"
  cp "$requirements" "$environment/ready"
fi
claude=$(echo "$PWD/$environment"/lib/python*/site-packages/claude_agent_sdk/_bundled/claude)

data=$(mktemp -d /tmp/cospool-agents.XXXXXX)
"$daemon" --data "$data" --log-level error > "$data/ready" &
process=$!
trap 'kill $process 2>/dev/null; wait $process 2>/dev/null; rm -rf "$data"' EXIT
while ! grep -q '^ready on ' "$data/ready"; do
  kill -0 $process
  sleep 0.05
done
"$environment/bin/python" Tests/Scripts/agents_check.py "$claude" "$PWD/$command" "$data"
