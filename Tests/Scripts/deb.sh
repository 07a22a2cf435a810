#!/usr/bin/env bash
# `make deb`: Debian packages in .build-dist/out (or OUT). BIN has the executables. REVISION is the package's own
# number (1), DEB_MAINTAINER its maintainer, DEB_COMPRESSION that of dpkg-deb.
set -euo pipefail
cd "$(dirname "$0")/../.."
source Tests/Scripts/release.sh

out=${OUT:-.build-dist/out}
full=$version-${REVISION:-1}
maintainer=${DEB_MAINTAINER:-Cospool maintainers <maintainers@cospool.example>}
architecture=$(dpkg --print-architecture)
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The system packages that the executables need, with versions.
depends() {
  mkdir -p "$work/shlibs/debian"
  printf 'Source: cospool\n\nPackage: cospool\nArchitecture: any\n' >"$work/shlibs/debian/control"
  local found
  found=$(cd "$work/shlibs" && dpkg-shlibdeps -O "$@" 2>"$work/shlibs/errors" |
    sed -n 's/^shlibs:Depends=//p') || found=
  [ -n "$found" ] || {
    echo "deb: the programs' dependencies cannot be found:" >&2
    cat "$work/shlibs/errors" >&2
    return 1
  }
  echo "$found"
}

for package in "${packages[@]}"; do
  [ "$package" = cospool ] && from=Client/Packaging/debian || from=Server/Packaging/debian
  root=$work/$package
  VENDOR=1 Tests/Scripts/stage.sh "$package" "$root" /usr
  doc=$root/usr/share/doc/$package
  rm "$doc/LICENSE"
  mv "$doc/CHANGELOG.md" "$doc/changelog"
  cat >"$doc/copyright" <<TEXT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Cospool

Files: *
Copyright: $(date -u -d "@$SOURCE_DATE_EPOCH" +%Y) the Cospool authors
License: Apache-2.0
Comment: The licences of what is linked into the executables are in
 third-party-licences.txt.gz beside this file, the list for programs in
 $package.spdx.json.

License: Apache-2.0
 On Debian systems the text of the licence is in
 /usr/share/common-licenses/Apache-2.0.
TEXT
  debian_changelog "$package" "$full" "$maintainer" >"$doc/changelog.Debian"
  gzip -9n "$doc/changelog" "$doc/changelog.Debian" "$doc/third-party-licences.txt"
  mkdir -p "$root/DEBIAN"
  if [ "$package" = cospool-server ]; then
    install -D -m 0644 "$from/cospool-server.default" "$root/etc/default/cospool-server"
    echo /etc/default/cospool-server >"$root/DEBIAN/conffiles"
    install -m 0755 "$from/postinst" "$from/prerm" "$from/postrm" "$root/DEBIAN/"
  fi
  if [ -f "$from/lintian-overrides" ]; then
    install -D -m 0644 "$from/lintian-overrides" "$root/usr/share/lintian/overrides/$package"
  fi
  # Counted as by Debian: files rounded up to KiB, and one KiB for everything else. A file system's own sizes
  # differ.
  size=$(find "$root" -path "$root/DEBIAN" -prune -o -type f -printf '%s\n' -o -printf '1\n' |
    awk '{ kib += int(($1 + 1023) / 1024) } END { print kib }')
  needed=$(depends "$root"/usr/bin/*)
  sed -e "s|@VERSION@|$full|" -e "s|@ARCHITECTURE@|$architecture|" -e "s|@SIZE@|$size|" \
    -e "s|@MAINTAINER@|$maintainer|" -e "s|@DEPENDS@|$needed|" \
    "$from/control" >"$root/DEBIAN/control"
  (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
  find "$root" -type d -exec chmod 0755 {} +
  find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group ${DEB_COMPRESSION:--Zxz -z9} --build "$root" \
    "$out/${package}_${full}_$architecture.deb"
done
sealed "$out"
