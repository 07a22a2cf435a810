#!/usr/bin/env bash
# `make systemd-check`: tests the packages under a real systemd, in a clean Debian 12 that boots. Units start, are
# watched, and return after `kill -9` and a reboot; processes that an agent started end with its turn. Run it as
# root. OUT has the results of `make deb`.
set -euo pipefail
cd "$(dirname "$0")/../.."
source Tests/Scripts/release.sh
source Tests/Scripts/waiting.sh
out=$(realpath "${OUT:-.build-dist/out}")
[ "$(id -u)" = 0 ] || {
  echo "systemd-check: namespaces need root" >&2
  exit 1
}
architecture=$(dpkg --print-architecture)
tarball=$(Tests/Scripts/clean-root.sh systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,iproute2)
work=$(mktemp -d)
booted=
machine=
trap 'exit 130' INT TERM
# The machine's journal has the failures.
finish() {
  local status=$?
  [ "$status" = 0 ] || [ -z "$machine" ] || on journalctl --no-pager -n 60 >&2 || true
  halt
  rm -rf "$work"
}
trap finish EXIT

say() { echo "systemd-check: $*"; }

# on COMMAND…: runs a command as the machine's root.
on() {
  nsenter --target "$machine" --mount --pid --uts --ipc --net --cgroup --root --wd -- \
    /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"
}
# ada COMMAND…: runs a command as a user of the machine.
ada() {
  on runuser -u ada -- env -C /home/ada PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/ada USER=ada \
    XDG_RUNTIME_DIR="/run/user/$(on id -u ada)" "$@"
}
# main UNIT, of root, or of the user with --user: prints its process.
main_of() { on systemctl show -p MainPID --value "$1"; }
daemon() { ada systemctl --user show -p MainPID --value cospoold; }
# is_new NAME PROCESS: checks that it runs, as another process.
is_new() {
  local now
  now=$("$1") && [[ $now =~ ^[1-9][0-9]*$ ]] && [ "$now" != "$2" ]
}
# running NAME: prints its process, which must exist.
running() {
  local now
  now=$("$1")
  [[ $now =~ ^[1-9][0-9]*$ ]] || fail "$1 does not run"
  echo "$now"
}
server() { main_of cospool-server; }
done_with() { grep -q "$1" "$work/root/home/ada/done"; }
nothing_waits() { ada cospool queue list -s work --json | grep '"messages":\[\]' >/dev/null; }
signal() { on sh -c "kill -$1 $2"; }
alive() { on test -e "/proc/$1"; }
dead() { ! alive "$1"; }
# message TEXT FIELD: prints a field of the waiting message with this text.
message() {
  ada cospool queue list -s work --json | python3 -c '
import json, sys
print(*[each[sys.argv[2]] for each in json.load(sys.stdin)["queues"][0]["messages"] if each["content"] == sys.argv[1]])
' "$@"
}
is() { [ "$(message "$1" status)" = "$2" ]; }

boot() {
  setsid Tests/Scripts/boot.sh "$work/root" >>"$work/console" 2>&1 </dev/null &
  booted=$!
  eventually 60 find_machine
  eventually 60 on systemctl is-active multi-user.target
}
# Process 1 of the machine.
find_machine() {
  local unshared
  unshared=$(pgrep -P "$booted" -x unshare) && machine=$(pgrep -P "$unshared" -x systemd) && [ -n "$machine" ]
}
# Ends the machine like a power failure, except for data that the kernel still writes.
halt() {
  [ -z "$booted" ] || pkill -KILL -P "$booted" || true
  ended
}
ended() {
  [ -z "$booted" ] || wait "$booted" 2>/dev/null || true
  machine= booted=
}
is_off() { ! pgrep -P "$booted"; }

mkdir "$work/root"
tar -C "$work/root" -xf "$tarball"
mkdir "$work/root/release"
for package in "${packages[@]}"; do
  deb=${package}_$version-1_$architecture.deb
  cp "$out/$deb" "$work/root/release/"
  # The next version: the same files under a higher number.
  dpkg-deb -R "$out/$deb" "$work/next"
  sed -i "s/^Version: .*/Version: $version-2/" "$work/next/DEBIAN/control"
  dpkg-deb --root-owner-group -Zgzip -z1 --build "$work/next" \
    "$work/root/release/${package}_$version-2_$architecture.deb" >/dev/null
  rm -rf "$work/next"
done
# An agent that leaves processes behind, one of which left its session, as development servers do.
cat >"$work/root/usr/local/bin/my-agent" <<'SCRIPT'
#!/bin/sh
env > "$HOME/variables"
case $1 in
Long*)
  setsid sh -c 'echo $$ > "$HOME/left"; exec sleep 1000' < /dev/null > /dev/null 2>&1 &
  echo $$ > "$HOME/turn"
  touch "$HOME/began"
  until [ -e "$HOME/go" ]; do sleep 0.1; done
  rm "$HOME/began" "$HOME/go"
  ;;
Leaves*)
  sleep 1000 &
  echo $! > "$HOME/grouped"
  # It leaves its parents and clears its environment: only its control group shows whose it is.
  setsid env -i HOME="$HOME" PATH="$PATH" XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" sh -c 'echo $$ > "$HOME/left"
    until [ -e "$HOME/ask" ]; do sleep 0.1; done
    cospool send -s work "Of a stray process" > /dev/null 2> "$HOME/refused"
    echo $? > "$HOME/asked"
    exec sleep 1000' < /dev/null > /dev/null 2>&1 &
  until [ -s "$HOME/left" ]; do sleep 0.1; done
  ;;
esac
echo "$1" >> "$HOME/done"
SCRIPT
chmod 0755 "$work/root/usr/local/bin/my-agent"

say "boots"
boot
on useradd --create-home --shell /bin/bash ada

say "the packages start what they bring"
on dpkg -i "/release/cospool_$version-1_$architecture.deb" "/release/cospool-server_$version-1_$architecture.deb" \
  >"$work/dpkg" 2>&1 || fail "$(cat "$work/dpkg")"
eventually 60 on systemctl is-active cospool-server
on systemctl is-enabled cospool-server >/dev/null || fail "the server is not enabled"

say "a device is set up"
on loginctl enable-linger ada
eventually 60 ada systemctl --user is-active default.target
granted=$(on cospool-server pair --json)
value() { echo "$granted" | sed -n "s/.*\"$1\" *: *\"\([^\"]*\)\".*/\1/p"; }
ada cospool setup --yes --server "$(value server)" --code "$(value code)"
ada cospool config set command "my-agent {}"
ada cospool config set agent command
ada cospool send --new -s work "First"
ada cospool session host work this
eventually 60 done_with First
ada cospool doctor

! grep -E 'NOTIFY_SOCKET|WATCHDOG|LIBDISPATCH' "$work/root/home/ada/variables" || fail "an agent got variables of the service"

long() {
  rm -f "$work/root/home/ada"/{began,go,left,turn}
  ada cospool send -s work "$1"
  eventually 60 test -e "$work/root/home/ada/began"
  eventually 60 test -s "$work/root/home/ada/left"
  left=$(cat "$work/root/home/ada/left")
  alive "$left" || fail "the process that was left behind is not there"
}
go() { ada touch /home/ada/go; }

# in_group PROCESS: checks that it is in a control group of its turn, below the service's.
in_group() { on cat "/proc/$1/cgroup" | grep '^0::/.*/cospoold\.service/turn-' >/dev/null; }
no_groups() { [ -z "$(on find /sys/fs/cgroup -type d -name 'turn-*')" ]; }

say "what a turn leaves that ended well"
rm -f "$work/root/home/ada/left"
ada cospool send -s work "Leaves processes"
eventually 60 done_with "Leaves processes"
ada cospool send -s work "Behind what was left"
eventually 60 done_with "Behind what was left"
left=$(cat "$work/root/home/ada/left")
# Its process group ends with it; a process that left the group stays, and may no longer ask for anything.
eventually 60 dead "$(cat "$work/root/home/ada/grouped")"
in_group "$left" || fail "what left the turn's session was ended, or is in no group"
ada touch /home/ada/ask
eventually 60 test -s "$work/root/home/ada/asked"
[ "$(cat "$work/root/home/ada/asked")" = 3 ] || fail "what a turn left was answered"
[ -z "$(message "Of a stray process" id)" ] || fail "a process left by a turn could send"
signal KILL "$left"
eventually 60 dead "$left"
ada cospool send -s work "When it was gone"
eventually 60 done_with "When it was gone"
eventually 60 no_groups

say "what is stopped is gone"
long "Long to be stopped"
eventually 60 in_group "$(cat "$work/root/home/ada/turn")"
eventually 60 in_group "$left"
ada cospool queue stop -s work
eventually 60 dead "$left"

say "kill -9 of the daemon in a turn"
ada cospool queue resume -s work || true
long "Long and killed"
before=$(running daemon)
signal KILL "$before"
eventually 60 is_new daemon "$before"
eventually 60 dead "$left"
eventually 60 is "Long and killed" unknown
ada cospool queue skip "$(message "Long and killed" id)"

say "a daemon that hangs is started again"
[ "$(ada systemctl --user show -p WatchdogUSec --value cospoold)" != 0 ] || fail "the daemon has no watchdog"
ada mkdir -p /home/ada/.config/systemd/user/cospoold.service.d
printf '[Service]\nWatchdogSec=4\n' | ada tee /home/ada/.config/systemd/user/cospoold.service.d/watchdog.conf >/dev/null
ada systemctl --user daemon-reload
ada systemctl --user restart cospoold
before=$(running daemon)
signal STOP "$before"
eventually 60 is_new daemon "$before"
ada rm -r /home/ada/.config/systemd/user/cospoold.service.d
ada systemctl --user daemon-reload

say "kill -9 of the server, and one that hangs"
before=$(running server)
signal KILL "$before"
eventually 60 is_new server "$before"
ada cospool sync wait --timeout 60
[ "$(on systemctl show -p WatchdogUSec --value cospool-server)" != 0 ] || fail "the server has no watchdog"
on mkdir -p /run/systemd/system/cospool-server.service.d
printf '[Service]\nWatchdogSec=4\n' >"$work/watchdog.conf"
on tee /run/systemd/system/cospool-server.service.d/watchdog.conf <"$work/watchdog.conf" >/dev/null
on systemctl daemon-reload
on systemctl restart cospool-server
before=$(running server)
signal STOP "$before"
eventually 60 is_new server "$before"
on rm -r /run/systemd/system/cospool-server.service.d
on systemctl daemon-reload
ada cospool sync wait --timeout 60

say "the advice of doctor about a service that has ended works"
# advised: prints the command after "Start its service: " in the input.
advised() { sed -n 's/.*Start its service: \(sudo \)\{0,1\}\([^;"]*\);.*/\2/p' | head -n 1; }
ada systemctl --user stop cospoold
advice=$({ ada cospool doctor --json || true; } | advised)
[ "$advice" = "systemctl --user start cospoold.service" ] || fail "doctor of the device says: $advice"
[ "$({ ada cospool status 2>&1 || true; } | advised)" = "$advice" ] || fail "status says something else"
ada $advice
ada cospool sync wait --timeout 60
on systemctl stop cospool-server
advice=$({ on cospool-server doctor --json || true; } | advised)
[ "$advice" = "systemctl start cospool-server.service" ] || fail "doctor of the server says: $advice"
on $advice
eventually 60 ada cospool sync wait --timeout 60

say "an upgrade, and a restart between turns"
long "Long while upgraded"
before=$(running daemon)
on dpkg -i "/release/cospool_$version-2_$architecture.deb" "/release/cospool-server_$version-2_$architecture.deb" \
  >"$work/dpkg" 2>&1 || fail "$(cat "$work/dpkg")"
[ "$(daemon)" = "$before" ] || fail "the upgrade ended the daemon in a turn"
# `cospool service restart` requires that the turn ends first, and nothing else begins before.
signal USR1 "$before"
ada cospool send -s work "Behind the restart"
in_group "$(cat "$work/root/home/ada/turn")" || fail "the restart ended the turn"
[ "$(daemon)" = "$before" ] || fail "the restart did not wait for the turn"
go
eventually 60 is_new daemon "$before"
eventually 60 done_with "Long while upgraded"
eventually 60 done_with "Behind the restart"
before=$(running daemon)
ada cospool service restart
is_new daemon "$before" || fail "service restart did not restart it"

say "a daemon that the machine's systemd runs"
on tee /etc/systemd/system/queues.service <<'UNIT' >/dev/null
[Service]
Type=notify
User=ada
ExecStart=/usr/bin/cospoold --data /home/ada/other
Restart=on-failure
UNIT
on systemctl start queues
others() { main_of queues; }
before=$(running others)
ada cospool service restart --data /home/ada/other
is_new others "$before" || fail "the machine's systemd did not restart it"
ada cospool status --json --data /home/ada/other | grep "\"processID\":$(others)[,}]" >/dev/null ||
  fail "another daemon than the unit's answers"
on systemctl stop queues
on rm /etc/systemd/system/queues.service

say "backups by a timer that elapses"
! on systemctl is-enabled cospool-backup.timer >/dev/null || fail "the timer is enabled by itself"
on tee -a /etc/default/cospool-server <<'UNIT' >/dev/null
COSPOOL_BACKUP_THEN='id -un >>"$COSPOOL_BACKUP_FOLDER"/ran; ! touch /etc/written'
UNIT
on mkdir -p /run/systemd/system/cospool-backup.timer.d
on tee /run/systemd/system/cospool-backup.timer.d/soon.conf <<'UNIT' >/dev/null
[Timer]
OnCalendar=
OnCalendar=*:*:0/10
RandomizedDelaySec=0
AccuracySec=100ms
UNIT
on systemctl daemon-reload
on systemctl enable --now cospool-backup.timer
is_kept() { on cospool-server backup list 2>/dev/null | grep 'MiB' >/dev/null; }
eventually 60 is_kept
has_run() { on grep -qx cospool-server /var/lib/cospool-backup/ran; }
eventually 60 has_run
on cospool-server doctor --json | grep '"code":"backupAge","severity":"ok"' >/dev/null || fail "doctor sees no backup"
on rm -r /run/systemd/system/cospool-backup.timer.d
on systemctl daemon-reload
on systemctl list-timers --no-pager --no-legend cospool-backup.timer | grep 'cospool-backup' >/dev/null ||
  fail "the timer waits for no time"

say "a reboot, and a power cut"
ada cospool queue pause -s work --reason "until the reboot"
ada cospool send -s work "After the reboot"
on systemctl poweroff || true
eventually 60 is_off
ended
boot
eventually 60 on systemctl is-active cospool-server
eventually 60 on systemctl is-active cospool-backup.timer
eventually 60 ada systemctl --user is-active cospoold
ada cospool queue resume -s work
eventually 60 done_with "After the reboot"
ada cospool send -s work "After the power cut"
eventually 60 done_with "After the power cut"
# A turn that is cut off in its last moment is interrupted: the next messages wait for a user.
eventually 60 nothing_waits
halt
boot
eventually 60 ada systemctl --user is-active cospoold
ada cospool send -s work "The last one"
eventually 60 done_with "The last one"
[ "$(grep -c "After the power cut" "$work/root/home/ada/done")" = 1 ] || fail "it ran again"

say "nothing failed, and the journal has only our own words"
on systemctl --failed --no-legend --no-pager | tee "$work/failed"
ada systemctl --user --failed --no-legend --no-pager | tee -a "$work/failed"
[ ! -s "$work/failed" ] || fail "units failed"
on journalctl --no-pager -o cat >"$work/journal"
grep -q 'listening on' "$work/journal" || fail "the journal has nothing of the server"
! grep -F 'Failed to set thread priority' "$work/journal" || fail "the journal is full of libdispatch"

say "removed, and installed again: no backup is tried without the program"
on dpkg -r cospool-server >"$work/dpkg" 2>&1 || fail "$(cat "$work/dpkg")"
on systemctl start cospool-backup.timer || true
! on systemctl is-active cospool-backup.timer || fail "backups are to be made by a program that is gone"
on dpkg -i "/release/cospool-server_$version-2_$architecture.deb" >"$work/dpkg" 2>&1 || fail "$(cat "$work/dpkg")"
on systemctl is-active cospool-backup.timer >/dev/null || fail "no backups are made any more"

say "purged"
on dpkg -r cospool-server >"$work/dpkg" 2>&1 || fail "$(cat "$work/dpkg")"
on dpkg -P cospool cospool-server >"$work/dpkg" 2>&1 || fail "$(cat "$work/dpkg")"
! on systemctl cat cospool-server 2>/dev/null || fail "the server's unit is still there"
left=$(on find /etc/systemd/system -name 'cospool*')
[ -z "$left" ] || fail "these stayed: $left"
! on systemctl is-active cospool-backup.timer || fail "backups are still to be made"
say "all is well"
