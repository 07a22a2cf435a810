#!/usr/bin/env bash
# Plants every bug of Tests/Mutants into a copy of the rooms, builds the pure ones, and counts the seeds until the
# simulation finds each bug. Seeds that fail without the bug do not count. The bugs outside the cores (PlantedBug)
# are included. Usage: Tests/Scripts/mutants.sh [seeds]
# With COSPOOL_MUTANTS_DIR, the copy is kept there, so that the next build is quick.
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
seeds="${1:-1000}"
copy="${COSPOOL_MUTANTS_DIR:-$(mktemp -d)}"
mkdir -p "$copy"
cd "$root"
for folder in Sources Protocol Server Client; do
  rm -rf "${copy:?}/$folder"
  mkdir -p "$copy/$folder"
  cp -Rp "$folder/." "$copy/$folder/"
done
cp Package.swift "$copy/Package.swift"
mkdir -p "$copy/Sources/MutantRunner"
cp Tests/Mutants/MutantRunner.swift.txt "$copy/Sources/MutantRunner/main.swift"
cp Tests/Mutants/Mutant.swift.txt "$copy/Sources/SequenceCRDT/Mutant.swift"

# Puts the runner into the table of rooms, and every bug into its place.
plant() {
  local file find with line
  file="$(sed -n 's/^file: //p' "$1")"
  find="$(sed -n 's/^find: //p' "$1")"
  with="$(sed -n 's/^with: //p' "$1")"
  if [ "$(grep -cxF -- "$find" "$copy/$file")" != 1 ]; then
    echo "$1: its line in $file does not exist, or is not unique" >&2
    return 1
  fi
  while IFS= read -r line || [ -n "$line" ]; do
    if [ "$line" = "$find" ]; then printf '%s\n' "$with"; else printf '%s\n' "$line"; fi
  done < "$copy/$file" > "$copy/planted.swift"
  if ! grep -q '^\(package \|public \|internal \|\)import SequenceCRDT' "$copy/planted.swift"; then
    { echo "import SequenceCRDT"; cat "$copy/planted.swift"; } > "$copy/planted.2"
    mv "$copy/planted.2" "$copy/planted.swift"
  fi
  mv "$copy/planted.swift" "$copy/$file"
}
for bug in Tests/Mutants/*.mutant; do plant "$bug"; done
awk '{ print }
  /^let rooms: \[Room\] = \[/ {
    print "  Room("
    print "    name: \"MutantRunner\", path: \"Sources/MutantRunner\","
    print "    kind: .executable(product: \"mutants\"), rooms: [\"SyncSimulation\"]),"
  }' "$copy/Package.swift" > "$copy/Package.planted"
mv "$copy/Package.planted" "$copy/Package.swift"

cd "$copy"
COSPOOL_ROOMS=MutantRunner swift build -c release --product mutants
runner="$(COSPOOL_ROOMS=MutantRunner swift build -c release --show-bin-path)/mutants"
bugs=()
for bug in "$root"/Tests/Mutants/*.mutant; do
  needs="$(grep -qx 'needs: agents' "$bug" && echo + || true)"
  bugs+=("$needs$(basename "$bug" .mutant)=$(sed -n 's/^about: //p' "$bug")")
done
"$runner" "$seeds" "${bugs[@]}"
