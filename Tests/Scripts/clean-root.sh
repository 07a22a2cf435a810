#!/usr/bin/env bash
# clean-root.sh [PACKAGES]: prints the path of a tarball of a clean Debian 12 with what the packages depend on, and
# PACKAGES (a list with commas); made once by debootstrap, kept in a cache outside of the tree (CACHE, default
# $XDG_CACHE_HOME/cospool). As root.
set -euo pipefail
more=${1:-}
cache=${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cospool}
packages=adduser,ca-certificates,curl,libsqlite3-0,xz-utils${more:+,$more}
# Another list is another root.
tarball=$cache/debian-12-$(sha256sum <<<"$packages" | cut -c 1-16).tar
if [ ! -f "$tarball" ]; then
  command -v debootstrap >/dev/null || {
    echo "clean-root: there is no debootstrap. Debian: apt-get install debootstrap" >&2
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
