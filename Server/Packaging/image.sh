#!/bin/sh
# Assembles the root of the server's image: the program, the libraries that it needs, certificates, and an
# account without privileges. Run it in a Debian 12: image.sh ARCHIVE FOLDER
set -eu

archive=$1 root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xf "$archive"
mkdir -p "$root/usr/bin" "$root/usr/share/doc" "$root/etc/ssl/certs" "$root/data" "$root/tmp" \
  "$root/proc" "$root/dev"
cp "$work"/*/bin/cospool-server "$root/usr/bin/"
cp -R "$work"/*/share/doc/cospool-server "$root/usr/share/doc/"
# Libraries keep the paths under which the program finds them.
ldd "$root/usr/bin/cospool-server" | sed -n 's/.*\( \|\t\)\(\/[^ ]*\) (0x.*/\2/p' |
  while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done
# The libraries that look up names.
for library in libnss_files.so.2 libnss_dns.so.2 libresolv.so.2; do
  found=$(ls /lib/*/"$library" 2>/dev/null || true)
  for path in $found; do
    mkdir -p "$root$(dirname "$path")"
    cp -L "$path" "$root$path"
  done
done
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'cospool:x:65532:65532::/data:/sbin/nologin' >"$root/etc/passwd"
echo 'cospool:x:65532:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
chown -R 65532:65532 "$root/data"
chmod 0700 "$root/data"
