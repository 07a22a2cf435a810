# Sourced by dist.sh, deb.sh and the checks: names a release, and packs its files. The caller is in the root of the
# repository.

version=$(sed -n 's/.*number = "\([^"]*\)".*/\1/p' Sources/Basics/Version.swift)
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
fi
# `make release` records it: root, who installs, may have no Swift in PATH.
if [ -z "${SWIFT_VERSION:-}" ]; then
  SWIFT_VERSION=$(cat .build-dist/swift-version 2>/dev/null || true)
fi
export SOURCE_DATE_EPOCH SWIFT_VERSION
packages=(cospool cospool-server)

# checksums FOLDER: writes SHA256SUMS of all files of a release of this version, whichever was made first.
# install.sh uses it.
checksums() {
  (
    cd "$1"
    shopt -s nullglob
    sha256sum -- *[-_]"$version"[-_]*.tar.xz *_"$version"-*.deb *_"$version"-*.dsc install.sh >SHA256SUMS.new
    mv SHA256SUMS.new SHA256SUMS
  )
}

# debian_changelog NAME VERSION MAINTAINER: prints the only changelog entry of a package, or of its source.
debian_changelog() {
  cat <<TEXT
$1 ($2) stable; urgency=medium

  * Release $version.

 -- $3  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
TEXT
}

# sealed FOLDER: adds install.sh and the checksums. With SIGNING_KEY, the fingerprint of a gpg key, it adds their
# signature; install.sh then contains the public key, and accepts nothing else.
sealed() {
  local key=
  if [ -n "${SIGNING_KEY:-}" ]; then
    key=$(gpg --batch --quiet --export "$SIGNING_KEY" | base64 -w 0)
    [ -n "$key" ] || {
      echo "release: gpg has no key $SIGNING_KEY" >&2
      return 1
    }
  fi
  sed "s|^key=''\$|key='$key'|" Client/Packaging/install.sh >"$1/install.sh"
  checksums "$1"
  rm -f "$1/SHA256SUMS.sig"
  [ -z "$key" ] ||
    gpg --batch --quiet --local-user "$SIGNING_KEY" --output "$1/SHA256SUMS.sig" --detach-sign "$1/SHA256SUMS"
}

# packed FOLDER NAME ARCHIVE: packs NAME in FOLDER as an archive; the same files make the same bytes.
packed() {
  tar --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime="@$SOURCE_DATE_EPOCH" -C "$1" -cf - "$2" | xz "-${XZ_LEVEL:-9}" -T1 >"$3"
}

# same_anywhere PROGRAM FOLDER: removes from a stripped executable what depends on the folder of its build: the
# compiler's checksums, which nothing reads at run time, and the linker's id, which depends on them and is computed
# again from the rest. FOLDER is for temporary files.
same_anywhere() {
  local size
  size=$(objdump -h "$1" | awk '$2 == ".swift_modhash" { print $3 }')
  [ -n "$size" ] || return 0
  head -c "$((16#$size))" /dev/zero >"$2/zeros"
  objcopy --update-section ".swift_modhash=$2/zeros" "$1"
  objcopy --remove-section .note.gnu.build-id "$1" "$2/nameless"
  objcopy -O binary --only-section .note.gnu.build-id "$1" "$2/note"
  {
    head -c 16 "$2/note"
    printf '%b' "$(sha1sum "$2/nameless" | cut -c 1-40 | sed 's/../\\x&/g')"
  } >"$2/id"
  objcopy --update-section ".note.gnu.build-id=$2/id" "$1"
  rm "$2/zeros" "$2/nameless" "$2/note" "$2/id"
}
