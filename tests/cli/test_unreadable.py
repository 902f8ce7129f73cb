"""What the user may not read is told as that, and is no reason to suspect its author."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.commands import BIN, environment

# Even root reads as others do then; an ordinary user has no such capability to drop (PR_CAPBSET_DROP, CAP_DAC_*).
_AS_OTHERS = (
    "import ctypes, os, sys\n"
    "for capability in (1, 2): ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


def ingested(source: Path, home: Path) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-c", _AS_OTHERS, str(BIN / "skill"), "ingest", str(source), "--json"]
    done = subprocess.run(command, capture_output=True, check=False, env=environment(home))
    return done.returncode, json.loads(done.stdout)


def test_a_closed_folder_is_an_error_of_reading(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    code, answer = ingested(tmp_path / "closed", tmp_path / "home")
    assert (code, answer["error_code"]) == (1, "io_error")
    assert "Permission denied" in answer["error_message"]


def test_a_closed_file_is_to_be_made_readable(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.mkdir()
    (tool / "run.py").write_text("print(1)\n")
    (tool / "closed").touch(mode=0)
    code, answer = ingested(tool, tmp_path / "home")
    assert (code, answer["hint"].partition(" if")[0]) == (20, "Make it readable")
