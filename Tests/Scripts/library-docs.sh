#!/usr/bin/env bash
# `make library-docs`: the DocC documentation of the client library's symbols, in .build/library-docs (or
# DOCS_DIR), from the modules that `swift build` made (BUILD, .build/debug). To read it, serve the folder, because
# its pages fetch their data. Broken links fail.
#
# DocC is part of the toolchain. swift-docc-plugin, which calls it as a command of the package manager, would be a
# dependency that every app resolves with the library, and would build all modules again for their symbols.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=$(realpath "${BUILD:-.build/debug}")
out=${1:-.build/library-docs}
modules=(SyncClient OutgoingMessages QueueModel)
docc=$(command -v docc || echo "$(dirname "$(command -v swift)")/docc")
[ -x "$docc" ] || {
  echo "library-docs: docc is not installed with swift" >&2
  exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The C modules that Swift's modules import, as the package manager made or found them.
maps=()
for map in "$build"/*.build/module.modulemap "$build"/../../checkouts/*/Sources/*/include/module.modulemap \
  "$build"/../../checkouts/GRDB.swift/Sources/*/module.modulemap Protocol/CZlib/module.modulemap; do
  [ ! -f "$map" ] || maps+=(-Xcc "-fmodule-map-file=$map")
done
target=$(swift -print-target-info | sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p')
mkdir "$work/graphs"
for module in "${modules[@]}"; do
  swift symbolgraph-extract -module-name "$module" -target "$target" -I "$build/Modules" "${maps[@]}" \
    -minimum-access-level public -skip-inherited-docs -output-dir "$work/graphs"
  rm -f "$work/graphs/$module@"*
done
for module in "${modules[@]}"; do
  mkdir "$work/$module"
  mv "$work/graphs/$module.symbols.json" "$work/$module/"
  "$docc" convert --fallback-display-name "$module" --fallback-bundle-identifier "cospool.$module" \
    --additional-symbol-graph-dir "$work/$module" --output-path "$work/$module.doccarchive" \
    --transform-for-static-hosting --hosting-base-path "$module" >"$work/told" 2>&1 || {
    cat "$work/told" >&2
    exit 1
  }
  # A parameter that needs no words is not an error.
  if grep -E '^(warning|error):' "$work/told" | grep -v 'is missing documentation' >&2; then
    echo "library-docs: the documentation of $module has faults" >&2
    exit 1
  fi
  rm -rf "${out:?}/$module"
  mkdir -p "$out"
  mv "$work/$module.doccarchive" "$out/$module"
  echo "$module: $(find "$out/$module/data" -name '*.json' | wc -l) pages in $out/$module"
done
