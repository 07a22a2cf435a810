#!/usr/bin/env bash
# Uses the page in a real Chromium, against real daemons and a real server: page_test.py says how. Needs
# python3 with venv and a Chromium of the system; the driver and axe-core come from PyPI. SHOTS=DIR keeps
# pictures; ONLY="name …" runs some of the checks.
set -euo pipefail
cd "$(dirname "$0")/../.."

browser=${CHROMIUM:-}
for name in chromium chromium-browser google-chrome; do
  [ -n "$browser" ] || browser=$(command -v "$name" || true)
done
if [ -z "$browser" ]; then
  echo "page-test: there is no Chromium. Install one (Debian: apt-get install chromium), or name it:" \
    "CHROMIUM=/path/to/it" >&2
  exit 1
fi
environment=.venv-page
if [ ! -e "$environment/ready" ]; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet -r Tests/Scripts/page-requirements.txt
  touch "$environment/ready"
fi
exec "$environment/bin/python" Tests/Scripts/page_test.py "${COSPOOL_BIN:-.build/debug}" "$browser"
