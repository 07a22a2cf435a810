#!/usr/bin/env bash
# `make deb-source`: a Debian source package in .build-dist/out (or OUT). It builds without a network, because a
# second archive has the third-party packages. CHECKOUTS has these as they were resolved (.build/checkouts).
# REVISION and DEB_MAINTAINER are those of deb.sh.
set -euo pipefail
umask 022
cd "$(dirname "$0")/../.."
source Tests/Scripts/release.sh

out=${OUT:-.build-dist/out}
checkouts=${CHECKOUTS:-.build/checkouts}
full=$version-${REVISION:-1}
maintainer=${DEB_MAINTAINER:-Cospool maintainers <maintainers@cospool.example>}
if [ ! -d "$checkouts" ] || [ ! -f Package.resolved ]; then
  echo "deb-source: $checkouts or Package.resolved is missing; first run: swift package resolve" >&2
  exit 1
fi
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/cospool-$version

mkdir -p "$tree" "$work/vendor"
git archive HEAD | tar -C "$tree" -xf -
packed "$work" "cospool-$version" "$work/cospool_$version.orig.tar.xz"
tar -C "$checkouts" --exclude=.git -cf - . | tar -C "$work/vendor" -xf -
cp Package.resolved "$work/vendor/"
packed "$work" vendor "$work/cospool_$version.orig-vendor.tar.xz"
mv "$work/vendor" "$tree/"

debian=$tree/debian
mkdir -p "$debian/source"
echo '3.0 (quilt)' >"$debian/source/format"
install -m 0755 Server/Packaging/debian-source/rules "$debian/rules"
{
  sed "s|@MAINTAINER@|$maintainer|" Server/Packaging/debian-source/control
  for folder in Client Server; do
    echo
    sed -e '/^\(Version\|Maintainer\|Installed-Size\|Section\|Priority\):/d' \
      -e 's/^Architecture:.*/Architecture: amd64 arm64/' \
      -e 's/@DEPENDS@/${shlibs:Depends}, ${misc:Depends}/' "$folder/Packaging/debian/control"
  done
} >"$debian/control"
for file in postinst prerm postrm; do
  cp "Server/Packaging/debian/$file" "$debian/cospool-server.$file"
done
cp Server/Packaging/debian/cospool-server.default "$debian/"
cp Server/Packaging/debian/lintian-overrides "$debian/cospool-server.lintian-overrides"
debian_changelog cospool "$full" "$maintainer" >"$debian/changelog"
year=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y)
{
  cat <<TEXT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Cospool

Files: *
Copyright: $year the Cospool authors
License: Apache-2.0

License: Apache-2.0
 On Debian systems the text of the licence is in
 /usr/share/common-licenses/Apache-2.0.
TEXT
  for folder in "$tree"/vendor/*/; do
    name=$(basename "$folder")
    if grep -q "Apache License" "$folder"LICENSE*; then
      licence=Apache-2.0
    elif grep -q "Permission is hereby granted, free of charge" "$folder"LICENSE*; then
      licence=Expat-$name
    else
      echo "deb-source: the licence of $name is unknown" >&2
      exit 1
    fi
    printf '\nFiles: vendor/%s/*\nCopyright: %s the authors of %s\nLicense: %s\n' "$name" "$year" "$name" "$licence"
    [ "$licence" = Apache-2.0 ] || sed 's/^[[:space:]]*$/./; s/^/ /' "$folder"LICENSE*
  done
} >"$debian/copyright"
(cd "$work" && dpkg-source --build "cospool-$version")
cp "$work"/cospool_* "$out/"
sealed "$out"
ls -l "$out"/cospool_"$full".dsc
