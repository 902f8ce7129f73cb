"""Files shown as another owner's: where they cannot be it is said, and what is mounted there later is not shown."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import os
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.idmap import mapped_copy
at = os.open("/proc", os.O_PATH)
before = os.listdir("/proc/self/fd")
try:
    mapped_copy("bind", at, "/proc", (0, 0), (65534, 65534))
except KernelError as error:
    print(error.layer, error.number, "/proc" in error.detail, "id-mapped" in error.hint)
print(os.listdir("/proc/self/fd") == before)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root shows files as another owner's")
def test_a_file_system_without_such_mounts_is_named() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.stdout == f"bind {errno.EINVAL} True True\nTrue\n", done.stderr


LATER = """
import os, subprocess, sys
from skillkeep.kernel.idmap import mapped_copy
from skillkeep.kernel.libc import AT_FDCWD, syscall
folder, place = sys.argv[1:]
tree = mapped_copy("bind", os.open(folder, os.O_PATH), folder, (0, 0), (65534, 65534))
syscall("bind", "move_mount", tree, b"", AT_FDCWD, os.fsencode(place), 4)
subprocess.run(["mount", "-t", "tmpfs", "later", f"{folder}/below"], check=True)
open(f"{folder}/below/secret", "w").close()
print(os.listdir(f"{folder}/below"), os.listdir(f"{place}/below"))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root shows files as another owner's")
def test_what_is_mounted_there_later_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "folder" / "below").mkdir(parents=True)
    (tmp_path / "place").mkdir()
    words = [sys.executable, "-c", LATER, str(tmp_path / "folder"), str(tmp_path / "place")]
    shared = 'mount --make-rshared / && exec "$@"'  # as systemd has it
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", shared, "sh", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "['secret'] []\n", done.stderr
