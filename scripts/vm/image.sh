#!/usr/bin/env bash
# Make the guest of `make test-vm`: a Debian of packages, with cgroup v2 and systemd, as a disk, a kernel and an initrd.
#
#   image.sh FOLDER SUITE WHEELS    FOLDER is made anew; WHEELS holds wheels for the suite's Python
#
# Needs root (a package manager runs in a changed root), mmdebstrap and e2fsprogs. Run by run.py, which caches the result.
set -euo pipefail
umask 022
folder=$1 suite=$2 wheels=$3
kernel=linux-image-cloud-amd64
packages=$kernel,systemd-sysv,libpam-systemd,dbus,dbus-user-session,kmod,procps,iproute2,util-linux,passwd,login
packages+=,python3,python3-venv,python3-pip,python3-requests,git,curl,ca-certificates,openssh-client
packages+=,bubblewrap,make

rm -rf "$folder"
mkdir -p "$folder"
tree=$(mktemp -d "${TMPDIR:-/tmp}/skillkeep-vm-tree.XXXXXX")
trap 'rm -rf --one-file-system "$tree"' EXIT

prepare() { # inside the new root: what is not a package
  cat <<'INSIDE'
set -eu
printf 'virtio_pci\nvirtio_blk\n' >>/etc/initramfs-tools/modules
update-initramfs -u -k all
echo skillkeep-vm >/etc/hostname
printf '127.0.0.1 localhost skillkeep-vm\n::1 localhost\n' >/etc/hosts
echo '/dev/vda / ext4 defaults,noatime 0 1' >/etc/fstab
: >/etc/machine-id
# Two people: one logs in (with a user manager of systemd), one never does (a cron job, a service).
useradd --create-home --shell /bin/bash person
useradd --create-home --shell /bin/bash job
python3 -m venv /opt/venv
/opt/venv/bin/pip install --quiet --no-index --no-deps --find-links /wheels /wheels/*.whl
rm -rf /wheels
cat >/etc/systemd/system/skillkeep-tests.service <<'UNIT'
[Unit]
Description=The tests that came on the second disk
After=multi-user.target dbus.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'mkdir -p /input && tar -xf /dev/vdb -C /input && exec sh /input/guest.sh'
ExecStopPost=/bin/systemctl --no-block poweroff
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS1
[Install]
WantedBy=default.target
UNIT
systemctl enable skillkeep-tests.service
systemctl set-default multi-user.target
systemctl mask getty@.service serial-getty@.service systemd-timesyncd.service apt-daily.timer apt-daily-upgrade.timer \
  e2scrub_all.timer fstrim.timer dpkg-db-backup.timer logrotate.timer man-db.timer systemd-networkd-wait-online.service
INSIDE
}

mmdebstrap --quiet --mode=root --variant=minbase --include="$packages" \
  --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt=path-exclude='/usr/share/doc/*' --dpkgopt=path-exclude='/usr/share/man/*' \
  --dpkgopt=path-exclude='/usr/share/locale/*' \
  --essential-hook='mkdir -p "$1/etc/initramfs-tools/conf.d"; echo MODULES=list >"$1/etc/initramfs-tools/conf.d/vm"' \
  --customize-hook="mkdir \"\$1/wheels\"; cp \"$wheels\"/*.whl \"\$1/wheels/\"" \
  --customize-hook="printf %s $(prepare | base64 -w0) | base64 -d >\"\$1/prepare\"" \
  --customize-hook='chroot "$1" sh /prepare; rm "$1/prepare"' \
  "$suite" "$tree" >&2

cp "$tree"/boot/vmlinuz-* "$folder/vmlinuz"
cp "$tree"/boot/initrd.img-* "$folder/initrd"
rm -rf "$tree"/boot/* "$tree"/var/cache/apt/* "$tree"/var/lib/apt/lists/*
size=$(( $(du -sm "$tree" | cut -f1) + 700 ))
mkfs.ext4 -q -F -O '^has_journal' -E lazy_itable_init=1 -d "$tree" "$folder/disk.img" "${size}M"
