"""Where files cannot be shown as another owner's, that is said, with the reason, and no descriptor stays open."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

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
