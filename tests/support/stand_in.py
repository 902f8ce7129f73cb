"""A stand-in for a command line tool: a real executable that records what it is told and plays back its answers."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["StandIn"]

_SCRIPT = """\
#!{python} -IS
import json, os, sys
base = os.path.dirname(os.path.abspath(__file__))
name = os.path.basename(__file__)
words = sys.argv[1:]
data = sys.stdin.buffer.read() if not sys.stdin.isatty() else b""
told = {{"argv": words, "stdin": data.decode("latin-1")}}
path = next((words[at + 1] for at, word in enumerate(words) if word == "--env-file"), None)
if path:
    told["env_file"], told["env_mode"] = open(path).read(), os.stat(path).st_mode & 0o777
with open(f"{{base}}/{{name}}.told", "a") as log:
    log.write(json.dumps(told) + "\\n")
for play in json.load(open(f"{{base}}/{{name}}.plays")):
    if words[: len(play["words"])] == play["words"]:
        if play["command"]:
            done = __import__("subprocess").run(play["command"], input=data)
            sys.exit(done.returncode)
        os.write(1, play["out"].encode("latin-1"))
        os.write(2, play["err"].encode("latin-1"))
        if play["hang"]:
            __import__("signal").pause()
        sys.exit(play["code"])
sys.exit(64)
"""


@dataclass
class StandIn:
    """An executable `name` in `folder`."""

    folder: Path
    name: str

    def __post_init__(self) -> None:
        self.plays: list[dict[str, Any]] = []
        self.path = self.folder / self.name
        self.path.write_text(_SCRIPT.format(python=sys.executable))
        self.path.chmod(0o755)
        self._save()

    def on(self, *words: str, out: str = "", err: str = "", code: int = 0, hang: bool = False) -> StandIn:
        """Answer a command line that begins with `words` so; what was said first counts."""
        self.plays.append({"words": list(words), "out": out, "err": err, "code": code, "hang": hang, "command": None})
        self._save()
        return self

    def hands_on(self, *words: str, command: list[str]) -> StandIn:
        """Start `command` with the same input when the command line begins with `words`."""
        self.plays.append({"words": list(words), "out": "", "err": "", "code": 0, "hang": False, "command": command})
        self._save()
        return self

    @property
    def told(self) -> list[dict[str, Any]]:
        """All that it was told, in order."""
        path = self.folder / f"{self.name}.told"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def on_path(self) -> str:
        """A PATH that finds it first."""
        return f"{self.folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"

    def _save(self) -> None:
        (self.folder / f"{self.name}.plays").write_text(json.dumps(self.plays))
