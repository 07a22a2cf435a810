#!/usr/bin/env bash
# Uses the page in a real Chromium, against real daemons and a real server: page_test.py says how. Needs
# python3 with venv and a Chromium of the system; the driver, axe-core and readers of QR codes and Markdown
# come from PyPI. SHOTS=DIR keeps pictures; ONLY="name …" runs some of the checks; LONG=1 measures more often;
# PAGE=DIR takes the files of the page from there; PATIENCE=SECONDS is how long a check waits for something (60). With
# OPTIONAL=1 a machine without a Chromium, or without a way to PyPI, is told so and nothing fails.
set -euo pipefail
cd "$(dirname "$0")/../.."

browser=${CHROMIUM:-}
for name in chromium chromium-browser google-chrome; do
  [ -n "$browser" ] || browser=$(command -v "$name" || true)
done

without() {
  echo "page-test: $*" >&2
  [ "${OPTIONAL:-}" = 1 ] || exit 1
  echo "page-test: SKIPPED, the page was not tested in a browser" >&2
  exit 0
}

[ -n "$browser" ] || without "there is no Chromium. Install one (make setup BROWSER=1 does, on Debian), or" \
  "name it: CHROMIUM=/path/to/it"
environment=.venv-page
if ! cmp -s Tests/Scripts/page-requirements.txt "$environment/ready"; then
  { python3 -m venv "$environment" &&
    "$environment/bin/pip" install --quiet --require-hashes -r Tests/Scripts/page-requirements.txt; } ||
    without "the driver of the browser cannot be had. It needs python3 with venv (Debian: apt-get install" \
      "python3-venv) and PyPI"
  cp Tests/Scripts/page-requirements.txt "$environment/ready"
fi
exec "$environment/bin/python" Tests/Scripts/page_test.py "${COSPOOL_BIN:-.build/debug}" "$browser"
