#!/usr/bin/env bash
# Tests Cospool with the real Claude Code and the real Codex, and a model that answers from a script; see
# agents_check.py. For the Agent Client Protocol, it runs agents and an editor on PyPI's library; CUTS=every kills an
# agent, and a daemon, after each byte of an exchange. Needs python3 with venv and git. Packages from PyPI contain the
# programs (700 MB); after that, nothing leaves this machine. ONLY="name …" runs the checks whose names begin so. With
# OPTIONAL=1, a machine that cannot get the programs prints that, and nothing fails.
set -euo pipefail
cd "$(dirname "$0")/../.."

without() {
  echo "agents-check: $*" >&2
  [ "${OPTIONAL:-}" = 1 ] || exit 1
  echo "agents-check: SKIPPED, no real agent was tested" >&2
  exit 0
}

environment=.venv-agents
requirements=Tests/Scripts/agents-requirements.txt
if ! cmp -s "$requirements" "$environment/ready"; then
  { python3 -m venv "$environment" &&
    "$environment/bin/pip" install --quiet --require-hashes --retries 1 -r "$requirements"; } ||
    without "the agents cannot be had. They need python3 with venv (Debian: apt-get install python3-venv)" \
      "and PyPI"
  cp "$requirements" "$environment/ready"
fi
claude=$(echo "$environment"/lib/python*/site-packages/claude_agent_sdk/_bundled/claude)
for program in "$claude" "$environment/bin/codex"; do
  "$program" --version > /dev/null 2>&1 || without "$program does not run on this machine"
done
exec "$environment/bin/python" Tests/Scripts/agents_check.py "${COSPOOL_BIN:-.build/debug}" \
  "$claude" "$environment/bin/codex" ${ONLY:-}
