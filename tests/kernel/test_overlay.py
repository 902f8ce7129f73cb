"""An overlay's descriptors belong to whoever asked, and to no program that he starts meanwhile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import os, sys
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.overlay import overlay_copy
try:
    made = overlay_copy(sys.argv[1], 1 << 20, None)
except KernelError as error:
    sys.exit(f"refused: {error}")
print(os.get_inheritable(made.tree), os.get_inheritable(made.upper))
"""


def test_no_program_started_meanwhile_has_them(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CODE, str(tmp_path)], capture_output=True, text=True)
    if done.stderr.startswith("refused"):
        pytest.skip(done.stderr)
    assert done.stdout == "False False\n", done.stderr
