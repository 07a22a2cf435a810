#!/usr/bin/env bash
# Checks the Swift toolchain and installs the two system libraries if they are missing. With SHELLS=1, it also
# tries to install zsh and fish, in which tests press TAB; with BROWSER=1, Chromium and python3-venv, with which
# tests use the page. If something cannot be installed, it prints that, and the tests are skipped. Idempotent;
# quick and silent if there is nothing to do.
set -euo pipefail

swift_needed_major=6
swift_needed_minor=2
packages=(libsqlite3-dev zlib1g-dev)
shells=(zsh fish)
browser=(chromium chromium-sandbox fonts-liberation python3-venv)

fail() {
  echo "setup: $*" >&2
  exit 1
}

check_swift() {
  command -v swift >/dev/null ||
    fail "no swift found. Install Swift ${swift_needed_major}.${swift_needed_minor} or newer:" \
      "https://www.swift.org/install"
  local version major minor
  version=$(swift --version 2>/dev/null |
    sed -n 's/.*Swift version \([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' | head -n 1)
  [ -n "$version" ] || fail "cannot read the version from 'swift --version'"
  major=${version%%.*}
  minor=${version#*.}
  if [ "$major" -lt "$swift_needed_major" ] ||
    { [ "$major" -eq "$swift_needed_major" ] && [ "$minor" -lt "$swift_needed_minor" ]; }; then
    fail "Swift $version is too old; ${swift_needed_major}.${swift_needed_minor} or newer is needed:" \
      "https://www.swift.org/install"
  fi
}

missing_debian_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep 'ok installed' >/dev/null ||
      echo "$package"
  done
}

install_debian() {
  local missing
  mapfile -t missing < <(missing_debian_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  local root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      fail "missing: ${missing[*]}. As root: apt-get install ${missing[*]}"
    root=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  "${root[@]}" apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}"
}

check_other() {
  if command -v pkg-config >/dev/null && pkg-config --exists sqlite3 zlib; then
    return 0
  fi
  cat >&2 <<'TEXT'
setup: the headers of SQLite and zlib are not found. Install them, and pkg-config:
  Fedora, RHEL   dnf install sqlite-devel zlib-devel pkgconf
  Arch           pacman -S sqlite zlib pkgconf
  openSUSE       zypper install sqlite3-devel zlib-devel pkg-config
  Alpine         apk add sqlite-dev zlib-dev pkgconf
TEXT
  exit 1
}

check_swift
case "$(uname -s)" in
Darwin) ;; # both libraries come with the developer tools
*)
  if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
    install_debian "${packages[@]}"
    if [ "${SHELLS:-}" = 1 ]; then
      (install_debian "${shells[@]}") ||
        echo "setup: without ${shells[*]} the tests of completion in them are skipped" >&2
    fi
    if [ "${BROWSER:-}" = 1 ]; then
      (install_debian "${browser[@]}") || echo "setup: ${browser[*]} cannot be installed" >&2
    fi
  else
    check_other
  fi
  ;;
esac
if [ "${SHELLS:-}" = 1 ] && [ -z "${CHROMIUM:-}" ] &&
  ! command -v chromium chromium-browser google-chrome >/dev/null; then
  echo "setup: without a Chromium the checks of the page are skipped. make setup BROWSER=1 installs one on" \
    "Debian; elsewhere: CHROMIUM=/path/to/it" >&2
fi
