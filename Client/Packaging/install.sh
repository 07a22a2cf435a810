#!/bin/sh
# Installs Cospool from the address of a release. It checks signature and checksum, and installs the Debian package if
# possible; otherwise it unpacks the archive.
#   install.sh --from URL [--server] [--prefix DIR] [--key FILE] [--dry-run | --check]
# URL is the folder with SHA256SUMS. That file has the same source as the others, so without a key it only reveals a
# broken download, not a bad source. The script changes only the package; "cospool setup" does the rest.
set -eu
umask 022

# The public key of releases in base64, as gpg exports it. `make dist SIGNING_KEY=…` writes it here.
key=''

keyfile='' insecure='' from='' package=cospool prefix='' dry='' check='' place=''

usage() {
  cat <<TEXT
usage: install.sh --from URL [--server] [--prefix DIR] [--key FILE] [--dry-run | --check]
  --from URL    the folder of a release, with SHA256SUMS and the files that it names
  --server      install cospool-server instead of cospool and cospoold
  --prefix DIR  unpack there instead of installing a package (bin, share); default ~/.local
  --key FILE    install only what this public key signed; the format is that of gpg --export
  --insecure    accept http:// from another machine without a key
  --dry-run     print the commands without running them
  --check       only compare versions; exit code 0: up to date, 10: a newer one is available
TEXT
}

fail() {
  echo "install: $*" >&2
  exit 1
}

while [ $# -gt 0 ]; do
  case $1 in
  --from | --prefix | --key)
    [ $# -ge 2 ] || fail "$1 needs a value"
    case $1 in
    --from) from=${2%/} ;;
    --prefix) prefix=$2 ;;
    --key) keyfile=$2 ;;
    esac
    shift
    ;;
  --insecure) insecure=yes ;;
  --server) package=cospool-server ;;
  --dry-run) dry=yes ;;
  --check) check=yes ;;
  -h | --help)
    usage
    exit 0
    ;;
  *)
    usage >&2
    exit 2
    ;;
  esac
  shift
done
[ -n "$from" ] || {
  usage >&2
  exit 2
}

case $from in
*://*@*) fail "the address contains @, so it may hide the machine that it names; remove that part" ;;
https://* | file://*) ;;
http://127.0.0.1/* | http://127.0.0.1:[0-9]* | http://localhost/* | http://localhost:[0-9]* | http://'[::1]'[:/]*) ;;
http://*)
  [ -n "$insecure$key$keyfile" ] ||
    fail "http:// files can be changed in transit; use https:// or --key, or accept the risk with --insecure"
  ;;
*) fail "--from takes an https://, http:// or file:// address" ;;
esac

have() { command -v "$1" >/dev/null 2>&1; }
fetch() { # fetch URL FILE; an https address is never redirected to http
  if have curl; then
    curl -fsSL --proto "=${from%%:*},https" --proto-redir '=https' -o "$2" "$1"
  elif have wget; then
    # wget cannot be limited to https, so it follows no redirects.
    wget -q --max-redirect=0 -O "$2" "$1"
  else
    fail "neither curl nor wget is installed; install one of them"
  fi || fail "$1 cannot be fetched"
}

# do_it COMMAND…: runs the command, or prints it.
do_it() {
  if [ -n "$dry" ]; then echo "would run: $*"; else "$@"; fi
}

[ "$(uname -s)" = Linux ] || fail "releases are for Linux; elsewhere build from source (Client/INSTALLING.md)"
machine=$(uname -m)
case $machine in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
*) fail "there is no release for $machine; build from source (Client/INSTALLING.md)" ;;
esac
have sha256sum || fail "sha256sum is not installed, so the download cannot be checked"

as_root=''
if [ "$(id -u)" -ne 0 ]; then
  as_root=none
  if have sudo; then as_root=sudo; fi
fi
kind=archive
if [ -z "$prefix" ] && have dpkg && [ "$as_root" != none ]; then kind=deb; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch "$from/SHA256SUMS" "$work/SHA256SUMS"
if [ -n "$keyfile$key" ]; then
  have gpgv || fail "gpgv is not installed (Debian: gpgv), so the signature cannot be checked"
  fetch "$from/SHA256SUMS.sig" "$work/SHA256SUMS.sig"
  if [ -n "$keyfile" ]; then cp "$keyfile" "$work/key"; else echo "$key" | base64 -d >"$work/key"; fi
  gpgv --quiet --keyring "$work/key" "$work/SHA256SUMS.sig" "$work/SHA256SUMS" 2>"$work/said" ||
    fail "the key of releases did not sign SHA256SUMS; nothing was installed. $(tail -n 1 "$work/said")"
fi
case $kind in
deb) pattern="  ${package}_[0-9][^_]*_${architecture}\\.deb\$" ;;
archive) pattern="  ${package}-[0-9][^-]*-linux-${machine}\\.tar\\.xz\$" ;;
esac
line=$(grep "$pattern" "$work/SHA256SUMS" | tail -n 1) || true
[ -n "$line" ] || fail "$from has no $kind of $package for $machine"
file=${line##*  }
if [ -n "$check" ]; then
  offered=${file#"$package"?} offered=${offered%%[-_]*}
  program=${prefix:+$prefix/bin/}$package
  [ -n "$prefix" ] || have "$program" || program=${HOME-}/.local/bin/$package
  have "$program" || fail "$package is not installed${prefix:+ in $prefix/bin}; $offered is available"
  installed=$("$program" --version)
  newest=$(printf '%s\n%s\n' "$installed" "$offered" | sort -V | tail -n 1)
  echo "$package: $installed is installed, $offered is available"
  [ "$newest" = "$installed" ] || exit 10
  exit 0
fi
echo "install: $from/$file"
fetch "$from/$file" "$work/$file"
(cd "$work" && echo "$line" | sha256sum -c --quiet -) ||
  fail "the checksum of $file differs from SHA256SUMS; nothing was installed"

if [ $kind = deb ]; then
  if have apt-get; then
    # shellcheck disable=SC2086
    do_it $as_root apt-get install -y "$work/$file"
  else
    # shellcheck disable=SC2086
    do_it $as_root dpkg -i "$work/$file"
  fi
else
  have xz || fail "xz is not installed, so the archive cannot be unpacked"
  prefix=${prefix:-${HOME:?}/.local}
  tar -C "$work" -xf "$work/$file"
  do_it mkdir -p "$prefix/bin"
  # Replaces files of programs that may run; those continue with the old file.
  for program in "$work/${file%.tar.xz}/bin/"*; do
    new=$prefix/bin/.${program##*/}.new
    do_it cp "$program" "$new"
    do_it mv -f "$new" "$prefix/bin/${program##*/}"
  done
  do_it cp -R "$work/${file%.tar.xz}/share" "$prefix/"
  if [ -z "$dry" ] && have ldd; then
    for program in "$prefix"/bin/cospool*; do
      missing=$(ldd "$program" 2>/dev/null | sed -n 's/^[[:space:]]*\(.*\) => not found/\1/p')
      [ -z "$missing" ] || echo "install: $program needs $missing (Debian: libsqlite3-0)" >&2
    done
  fi
  case ":$PATH:" in
  *":$prefix/bin:"*) ;;
  *) place=$prefix/bin/ && echo "install: $prefix/bin is not in PATH; add it" ;;
  esac
fi
case $package,$kind,$prefix in
cospool,*) echo "next: ${place}cospool setup" ;;
*,deb,*) echo "next: sudo cospool-server pair; its options are in /etc/default/cospool-server" ;;
# The machine's service has no access to home directories.
*,/home/* | *,"${HOME:-/root}"/*) echo "next: $prefix/bin/cospool-server service install --user" ;;
*) echo "next: sudo $prefix/bin/cospool-server service install" ;;
esac
