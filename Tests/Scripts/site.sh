#!/usr/bin/env bash
# Makes the documentation site from the repository's Markdown; see site.py. Needs python3 with venv; the Markdown
# parser comes from PyPI. With OPTIONAL=1, a machine without access to PyPI prints that, and nothing fails.
set -euo pipefail
cd "$(dirname "$0")/../.."

environment=.venv-site
if [ ! -e "$environment/ready" ]; then
  { python3 -m venv "$environment" &&
    "$environment/bin/pip" install --quiet --require-hashes -r Tests/Scripts/site-requirements.txt; } || {
    echo "site: the reader of Markdown cannot be had. It needs python3 with venv (Debian: apt-get install" \
      "python3-venv) and PyPI" >&2
    [ "${OPTIONAL:-}" = 1 ] || exit 1
    echo "site: SKIPPED" >&2
    exit 0
  }
  touch "$environment/ready"
fi
exec "$environment/bin/python" Tests/Scripts/site.py "${1:-.build/site}"
