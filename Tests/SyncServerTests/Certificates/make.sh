#!/bin/sh
# Makes new self-signed certificates for the tests, valid from 2020 to 2069 whatever the clock
# says, and one that expired in 2021: sh Tests/SyncServerTests/Certificates/make.sh. They protect nothing; the keys are public.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make_certificate() { # NAME ALTERNATIVE_NAMES [END]
  cat > "$work/config" <<CONFIG
[ca]
default_ca = tests
[tests]
new_certs_dir = $work
database = $work/index
rand_serial = yes
default_md = sha256
policy = anything
x509_extensions = extensions
unique_subject = no
[anything]
commonName = supplied
[extensions]
basicConstraints = critical, CA:TRUE
subjectAltName = $2
CONFIG
  : > "$work/index"
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
    -subj "/CN=Cospool tests, $1" -keyout "$1.key.pem" -out "$work/request" 2>/dev/null
  openssl ca -batch -selfsign -notext -config "$work/config" -keyfile "$1.key.pem" \
    -in "$work/request" -startdate 20200101000000Z -enddate "${3:-20691231000000Z}" \
    -out "$1.pem" 2>/dev/null
}

make_certificate localhost DNS:localhost,IP:127.0.0.1
make_certificate other DNS:other.invalid
make_certificate expired DNS:localhost,IP:127.0.0.1 20210101000000Z
openssl pkey -in localhost.key.pem -aes128 -passout pass:secret -out encrypted.key.pem
