#!/usr/bin/env bash
# boot.sh ROOT: boots ROOT, the files of a Debian, with its own systemd as process 1 of new namespaces. The machine
# has no network except loopback, and its own control group. Run it as root, on a kernel with cgroup2. It ends with
# the machine.
set -euo pipefail
root=$1
groups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
[ -n "$groups" ] || {
  echo "boot: cgroup2 is not mounted" >&2
  exit 1
}
group=$groups/cospool-boot-$$
mkdir "$group"
# Ends everything that still lives in the group, and removes it.
cleared() {
  echo 1 >"$group/cgroup.kill"
  while grep -q 'populated 1' "$group/cgroup.events"; do sleep 0.05; done
  find "$group" -depth -type d -exec rmdir {} \;
}
trap cleared EXIT
# shellcheck disable=SC2016
bash -c 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"' group "$group" \
  unshare --mount --pid --uts --ipc --net --cgroup --fork --kill-child bash -ec '
root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs tmpfs "$root/dev/shm"
hostname laptop
ip link set lo up
cd "$root"
mkdir -p old
pivot_root . old
umount -l old
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
  /lib/systemd/systemd --log-target=console --show-status=no --unit=multi-user.target
' boot "$root"
