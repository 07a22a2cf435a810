#!/usr/bin/env bash
# Puts the files of a package into a folder, for `make install`, `make dist` and `make deb`.
#   stage.sh PACKAGE FOLDER PREFIX     PACKAGE is cospool or cospool-server
#   BIN      the folder of the executables (default .build-dist/release)
#   UNITS=0  omits the units: archives that are unpacked anywhere get them by `service install`
#   VENDOR=1 puts completions where packages of a distribution have them
# SOURCE_DATE_EPOCH is the time of all files.
set -euo pipefail
umask 022
cd "$(dirname "$0")/../.."
source Tests/Scripts/release.sh

package=$1 root=$2 prefix=$3
bin=${BIN:-.build-dist/release}
case $package in
cospool) programs=(cospool cospoold) ;;
cospool-server) programs=(cospool-server) ;;
*)
  echo "stage: unknown package $package" >&2
  exit 2
  ;;
esac
case $prefix in
/*) ;;
*) prefix="not from / on: $prefix" ;;
esac
case $prefix in
*[!A-Za-z0-9/._+~@-]*)
  echo "stage: PREFIX must be an absolute path of letters, digits and ._+~@-, because units contain it; it is \"$3\"" >&2
  exit 2
  ;;
esac
for program in "${programs[@]}"; do
  [ -x "$bin/$program" ] || {
    echo "stage: $bin/$program does not exist; build it first: make release" >&2
    exit 1
  }
done

# Assembled elsewhere, because the target folders contain other files.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
to=$work/files
share=$to/share
zsh=$share/zsh/site-functions
[ "${VENDOR:-0}" = 0 ] || zsh=$share/zsh/vendor-completions
bash=$share/bash-completion/completions
fish=$share/fish/vendor_completions.d
mkdir -p "$to/bin" "$share/man/man1" "$bash" "$zsh" "$fish" "$share/doc/$package"

completion() { # completion PROGRAM SHELL
  if [ "$1" = cospool ]; then
    "$bin/cospool" completions "$2"
  else
    "$bin/$1" --generate-completion-script "$2"
  fi
}

staged=()
for program in "${programs[@]}"; do
  cp "$bin/$program" "$to/bin/$program"
  strip --strip-all "$to/bin/$program"
  same_anywhere "$to/bin/$program" "$work"
  # It is sourced, so its first line names no interpreter.
  completion "$program" bash | sed '1{/^#!/d}' >"$bash/$program"
  completion "$program" zsh >"$zsh/_$program"
  completion "$program" fish >"$fish/$program.fish"
  staged+=("$bin/$program")
done

pages=$work/pages
mkdir "$pages"
python3 Tests/Scripts/man.py "$pages" "${staged[@]}" >/dev/null
gzip -9n "$pages"/*.1
cp "$pages"/*.1.gz "$share/man/man1/"

if [ "${UNITS:-1}" = 1 ]; then
  if [ "$package" = cospool ]; then
    mkdir -p "$to/lib/systemd/user"
    sed "s|/usr/bin/|$prefix/bin/|" Client/Packaging/cospoold.service \
      >"$to/lib/systemd/user/cospoold.service"
  else
    mkdir -p "$to/lib/systemd/system"
    "$bin/cospool-server" service install --dry-run --program "$prefix/bin/cospool-server" \
      >"$to/lib/systemd/system/cospool-server.service"
    sed "s|/usr/bin/|$prefix/bin/|" Server/Packaging/cospool-backup.service \
      >"$to/lib/systemd/system/cospool-backup.service"
    cp Server/Packaging/cospool-backup.timer "$to/lib/systemd/system/"
  fi
fi

cp LICENSE README.md CHANGELOG.md "$share/doc/$package/"
python3 Tests/Scripts/sbom.py "$package" "${CHECKOUTS:-$(dirname "$(dirname "$(realpath "$bin")")")/checkouts}" \
  "$share/doc/$package"

find "$to" -type f -exec chmod 0644 {} +
chmod 0755 "$to/bin"/*
find "$to" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
mkdir -p "$root$prefix"
tar -C "$to" -cf - . | tar -C "$root$prefix" --no-overwrite-dir --no-same-owner -xf -
