#!/usr/bin/env bash
# `make dist`: release archives with their checksums, in .build-dist/out (or OUT). BIN has the executables.
# SIGNING_KEY signs them: release.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
source Tests/Scripts/release.sh

out=${OUT:-.build-dist/out}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for package in "${packages[@]}"; do
  name=$package-$version-$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m)
  UNITS=0 Tests/Scripts/stage.sh "$package" "$work" "/$name"
  cp LICENSE "$work/$name/"
  packed "$work" "$name" "$out/$name.tar.xz"
done
sealed "$out"
ls -l "$out"
