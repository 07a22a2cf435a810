#!/usr/bin/env bash
# clean-root.sh [PACKAGES]: prints the path of a tarball of a clean Debian 12 with the dependencies of our
# packages, and with PACKAGES (a list with commas). debootstrap makes it once; it is kept in a cache outside the
# tree (CACHE, default $XDG_CACHE_HOME/cospool). Run it as root.
set -euo pipefail
more=${1:-}
cache=${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cospool}
packages=adduser,ca-certificates,curl,libsqlite3-0,xz-utils${more:+,$more}
# Another list gives another root.
tarball=$cache/debian-12-$(sha256sum <<<"$packages" | cut -c 1-16).tar
if [ ! -f "$tarball" ]; then
  command -v debootstrap >/dev/null || {
    echo "clean-root: debootstrap is not installed. Debian: apt-get install debootstrap" >&2
    exit 1
  }
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/making-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  debootstrap --variant=minbase --include="$packages" \
    bookworm "$work/root" "${MIRROR:-http://deb.debian.org/debian}" >&2
  tar -C "$work/root" -cf "$work/root.tar" .
  mv "$work/root.tar" "$tarball"
fi
echo "$tarball"
