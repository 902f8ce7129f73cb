"""The script in docs/vault.md checks a digest without any code of ours."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from support.vaults import make_tool

from skillkeep.home import Home
from skillkeep.vault.interface import MismatchKind
from skillkeep.vault.store import Vault

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "vault.md").read_text(encoding="utf-8")


def test_the_documented_script_agrees_with_the_vault(home: Home, vault: Vault) -> None:
    (script,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(script.splitlines()) <= 11
    files = {"b/run": "#!/bin/sh\n", "b.txt": "x", "a b%\n": b"\0", os.fsdecode(b"\xff\xc3\xbc"): "odd", "B": ""}
    tool = make_tool(home, "demo", files)
    for way in (tool.path, vault.layout.root / "demo"):
        command = [sys.executable, "-I", "-c", script, str(way)]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == tool.digest


def test_the_page_lists_every_kind_of_difference() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert rows == [str(kind) for kind in MismatchKind]
