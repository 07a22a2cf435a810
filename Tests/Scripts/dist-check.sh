#!/usr/bin/env bash
# `make dist-check`: uses the packages and archives of a release in a clean Debian 12 without Swift. Run it as
# root. OUT has the results of `make dist` and `make deb`; RESULTS gets the figures (default OUT/figures).
set -euo pipefail
cd "$(dirname "$0")/../.."
source Tests/Scripts/release.sh
source Tests/Scripts/waiting.sh
out=$(realpath "${OUT:-.build-dist/out}")
figures=${RESULTS:-$out/../figures}
[ "$(id -u)" = 0 ] || {
  echo "dist-check: chroot needs root" >&2
  exit 1
}
: >"$figures"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
architecture=$(dpkg --print-architecture)
machine=$(uname -m)

say() { echo "dist-check: $*"; }
figure() { echo "$*" | tee -a "$figures"; }

# inside ROOT COMMAND…: runs a command in the root, with its own processes, which end with it.
inside() {
  local root=$1
  shift
  unshare --mount --pid --fork --kill-child bash -c '
    root=$1
    shift
    mount --make-rprivate /
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/tmp"
    mount --bind /dev "$root/dev"
    exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root "$@"
  ' inside "$root" "$@"
}

# fresh NAME: unpacks a clean root, and prints its path.
fresh() {
  mkdir "$work/$1"
  tar -C "$work/$1" -xf "$tarball"
  echo "$work/$1"
}

tarball=$(Tests/Scripts/clean-root.sh)

say "sizes"
for package in "${packages[@]}"; do
  deb=$out/${package}_$version-1_$architecture.deb
  archive=$out/$package-$version-linux-$machine.tar.xz
  for file in "$deb" "$archive"; do
    figure "$(basename "$file") packed $(($(stat -c %s "$file") / 1000)) kB"
  done
  figure "$package installed $(dpkg-deb -f "$deb" Installed-Size) KiB"
done

say "programs are the same wherever they were built"
for package in "${packages[@]}"; do
  dpkg-deb -x "$out/${package}_$version-1_$architecture.deb" "$work/files"
done
! grep -rlF "$PWD/" "$work/files/usr/bin" || fail "these name the folder of the build"
rm -rf "$work/files"

say "lintian"
lintian --fail-on error "$out"/*_"$version-1_$architecture.deb" | tee "$work/lintian" || fail "lintian"
figure "lintian errors $(grep -c '^E:' "$work/lintian" || true)," \
  "warnings $(grep -c '^W:' "$work/lintian" || true)"

say "units"
mkdir "$work/units"
for package in "${packages[@]}"; do
  dpkg-deb -x "$out/${package}_$version-1_$architecture.deb" "$work/units"
done
for name in cospool-server cospool-backup; do
  unit=$work/units/usr/lib/systemd/system/$name.service
  exposure=$(systemd-analyze security --offline=true --no-pager "$unit" | sed -n 's/.*Overall exposure.*: \([0-9.]*\).*/\1/p')
  figure "exposure of $name.service $exposure"
  awk -v exposure="$exposure" 'BEGIN { exit !(exposure <= 2.0) }' || fail "$name.service is exposed: $exposure"
done

say "packages in a clean root, without systemd"
root=$(fresh packages)
mkdir "$root/release"
cp "$out"/*_"$version-1_$architecture.deb" "$out/install.sh" "$out/SHA256SUMS" \
  Tests/Scripts/{inside,waiting}.sh "$root/release/"
# The next version: the same files under a higher number, packed quickly.
for package in "${packages[@]}"; do
  dpkg-deb -R "$out/${package}_$version-1_$architecture.deb" "$work/next"
  sed -i "s/^Version: .*/Version: $version-2/" "$work/next/DEBIAN/control"
  dpkg-deb --root-owner-group -Zgzip -z1 --build "$work/next" \
    "$root/release/${package}_$version-2_$architecture.deb" >/dev/null
  rm -rf "$work/next"
done
inside "$root" bash /release/inside.sh packages "$version" "$architecture" | tee "$work/packages.log"
sed -n 's/^figure: //p' "$work/packages.log" >>"$figures"

say "archives in a clean root"
root=$(fresh archives)
mkdir "$root/release"
cp "$out"/*.tar.xz "$out/install.sh" "$out/SHA256SUMS" Tests/Scripts/{inside,waiting}.sh "$root/release/"
inside "$root" bash /release/inside.sh archives "$version" "$machine" | tee "$work/archives.log"
sed -n 's/^figure: //p' "$work/archives.log" >>"$figures"

say "the image's root, read-only, as 65532, as the Dockerfile and compose.yaml start it"
cp Server/Packaging/image.sh "$root/release/"
inside "$root" sh /release/image.sh "/release/cospool-server-$version-linux-$machine.tar.xz" /image
image=$root/image
figure "image unpacked $(du -sk "$image" | cut -f 1) KiB"
Tests/Scripts/image-check.sh "$image" || fail "the image's root"
figure "image's root: serves read-only as 65532"
say "all is well; the figures are in $figures"
cat "$figures"
