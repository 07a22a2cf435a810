#!/usr/bin/env bash
# dist-check.sh runs this in a clean root: it uses the contents of a release as a user would.
#   inside.sh packages VERSION ARCHITECTURE
#   inside.sh archives VERSION MACHINE
set -euo pipefail
cd /release
version=$2 suffix=$3

source ./waiting.sh
figure() { echo "figure: $*"; }

# as ACCOUNT COMMAND…: runs a command with that account's home and nothing else.
as() {
  local account=$1
  shift
  (cd / && runuser -u "$account" -- env -i PATH="$path" LANG=C.UTF-8 USER="$account" \
    HOME="/home/$account" "$@")
}
path=/usr/local/bin:/usr/bin:/bin

# person ACCOUNT: adds a new user, with a number that no account of the surrounding machine has.
person() { useradd --create-home --shell /bin/bash --key UID_MIN=20000 "$1"; }

# value NAME: prints a text of the JSON on standard input.
value() { sed -n "s/.*\"$1\" *: *\"\([^\"]*\)\".*/\1/p" | head -n 1; }

# works ACCOUNT SERVER CODE: sets a machine up with two commands, and checks that a message runs.
works() {
  local account=$1 before after
  person "$account"
  mkdir -p /usr/local/bin
  cat >/usr/local/bin/my-agent <<'SCRIPT'
#!/bin/sh
case $1 in
Long*)
  touch "$HOME/began"
  until [ -e "$HOME/go" ]; do sleep 0.1; done
  ;;
esac
echo "$1" >> "$HOME/done"
SCRIPT
  chmod 0755 /usr/local/bin/my-agent
  before=$(date +%s%N)
  as "$account" cospool setup --yes --server "$2" --code "$3"
  after=$(date +%s%N)
  figure "setup of $account: 1 command, $(((after - before) / 1000000)) ms"
  # It is safe to run again.
  as "$account" cospool setup --yes --server "$2" --code "$3" >/dev/null
  as "$account" cospool config set command "my-agent {}"
  as "$account" cospool config set agent command
  as "$account" cospool send --new -s "work-$account" "Say hello"
  as "$account" cospool session host "work-$account" this
  eventually 60 grep -q "Say hello" "/home/$account/done"
  as "$account" cospool sync wait --timeout 60
  as "$account" cospool doctor
}

! command -v swift >/dev/null || fail "Swift is here"
! ls /usr/lib/*/libswift* /usr/lib/swift 2>/dev/null || fail "Swift's libraries are here"

# serve PORT: runs the server like its unit, until it is stopped.
serve() {
  # shellcheck disable=SC2086
  runuser -u cospool-server -- $start --port "$1" >/tmp/server.log 2>&1 &
  server=$!
  eventually 60 grep -q "listening on" /tmp/server.log
}

# is_installed WAY: checks that both are installed, and can be removed.
is_installed() {
  [ "$(cospool --version)" = "$version" ] && [ "$(cospool-server --version)" = "$version" ] ||
    fail "$1 installed another version"
  [ -d /var/lib/cospool-server ] || fail "$1 left the server unconfigured"
  apt purge -y cospool cospool-server
  [ ! -e /usr/bin/cospool ] && [ ! -e /usr/bin/cospool-server ] || fail "programs stayed after $1"
}

# The two ways of the README. The root has all dependencies, so apt fetches nothing.
readme_ways() {
  apt install -y "./cospool_$version-1_$suffix.deb"
  apt install -y "./cospool-server_$version-1_$suffix.deb"
  is_installed "apt install"
  sh install.sh --from file:///release
  sh install.sh --from file:///release --server
  sh install.sh --from file:///release --check || fail "what was installed just now is not the newest"
  is_installed "install.sh"
  figure "apt install ./FILE.deb, and install.sh with apt: both packages, each"
}

packages() {
  local started=$SECONDS
  before=$(date +%s%N)
  dpkg -i "cospool_$version-1_$suffix.deb" "cospool-server_$version-1_$suffix.deb"
  figure "dpkg -i of both: 1 command, $((($(date +%s%N) - before) / 1000000)) ms"
  [ "$(cospool --version)" = "$version" ] || fail "version"
  [ "$(stat -c '%U %a' /var/lib/cospool-server)" = "cospool-server 700" ] || fail "the server's directory"
  [ -z "$(find / -xdev -newer /release -name 'cospool*' -nouser 2>/dev/null)" ] || fail "files without an owner"
  for page in cospool cospoold cospool-server cospool-setup; do
    [ -f "/usr/share/man/man1/$page.1.gz" ] || fail "no page $page"
  done
  # Like its unit.
  start=$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/cospool-server.service |
    tr -d '"' | sed 's/ \$COSPOOL_SERVER_OPTIONS//')
  serve 0
  granted=$(cospool-server pair --json)
  works ada "$(echo "$granted" | value server)" "$(echo "$granted" | value code)"
  granted=$(cospool-server pair --json)
  works bob "$(echo "$granted" | value server)" "$(echo "$granted" | value code)"
  as bob cospool session list --json | grep "work-ada" >/dev/null || fail "bob does not see what ada did"
  [ -z "$(find /var/lib/cospool-server ! -user cospool-server)" ] || fail "root left files to the server"

  # An upgrade keeps the user's changes, and the data.
  echo 'COSPOOL_SERVER_OPTIONS="--port 7500"' >/etc/default/cospool-server
  port=$(echo "$granted" | value server | sed 's/.*://')
  # A turn continues while its package is replaced.
  as ada cospool send -s work-ada "Long turn"
  eventually 60 [ -e /home/ada/began ]
  dpkg -i "cospool_$version-2_$suffix.deb"
  as ada touch /home/ada/go
  eventually 60 grep -q "Long turn" /home/ada/done
  kill -TERM "$server"
  wait "$server" || true
  dpkg -i "cospool-server_$version-2_$suffix.deb"
  grep -q 7500 /etc/default/cospool-server || fail "the options were overwritten"
  serve "$port"
  as ada cospool send -s work-ada "After the upgrade"
  eventually 60 grep -q "After the upgrade" /home/ada/done
  kill -TERM "$server"
  wait "$server" || true

  dpkg -r cospool cospool-server
  [ ! -e /usr/bin/cospool ] && [ ! -e /usr/bin/cospool-server ] || fail "programs stayed"
  [ -f /etc/default/cospool-server ] && [ -f /var/lib/cospool-server/cospool.sqlite ] ||
    fail "removing took more than the programs"
  dpkg -i "cospool-server_$version-1_$suffix.deb"
  cospool-server devices | grep . >/dev/null || fail "the devices are gone after an installation again"
  # The timer of backups is removed with its service; the backups themselves stay.
  install -d -m 0700 -o cospool-server /var/lib/cospool-backup
  cospool-server backup create --folder /var/lib/cospool-backup
  mkdir -p /etc/systemd/system/timers.target.wants
  ln -s /usr/lib/systemd/system/cospool-backup.timer /etc/systemd/system/timers.target.wants/
  dpkg -P cospool-server cospool
  ls /var/lib/cospool-backup/*/manifest.json >/dev/null || fail "the backups are gone"
  rm -r /var/lib/cospool-backup
  for left in /var/lib/cospool-server /etc/default/cospool-server; do
    [ ! -e "$left" ] || fail "$left stayed"
  done
  left=$(find / -xdev \( -name '*cospool*' -o -name '*Cospool*' \) -not -path '/release/*' \
    -not -path '/home/*' -not -path '/proc/*' -not -path '/var/log/*' -not -path '/tmp/*')
  [ -z "$left" ] || fail "these stayed: $left"
  getent passwd cospool-server >/dev/null || fail "the account is to stay"
  figure "install, upgrade, remove, install, purge: $((SECONDS - started)) s in all"
  readme_ways
}

archives() {
  # As a user without root: the archive, into the user's home.
  person host
  sh install.sh --from file:///release --prefix /opt/server --server --dry-run | grep "would run" >/dev/null ||
    fail "a dry run says nothing"
  [ ! -e /opt/server ] || fail "a dry run did something"
  sh install.sh --from file:///release --prefix /opt/server --server
  sh install.sh --from file:///release --prefix /opt/device
  path=/opt/device/bin:/opt/server/bin:$path
  as host cospool-server serve --port 0 >/tmp/server.log 2>&1 &
  eventually 60 grep -q "listening on" /tmp/server.log
  granted=$(as host cospool-server pair --json)
  works ada "$(echo "$granted" | value server)" "$(echo "$granted" | value code)"
  # The first server, made by setup itself.
  person eve
  as eve cospool setup --yes --server-here
  as eve cospool status | grep "connected" >/dev/null || fail "eve is not connected"
}

"$1"
