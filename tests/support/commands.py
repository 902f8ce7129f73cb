"""The real command lines, run as a user runs them, and the list of every command they offer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
PROGRAMS = ("skill", "auditor", "vault", "runner")


@dataclass(frozen=True)
class Done:
    """What a command left: exit code and both streams."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output as the one JSON object it has to be."""
        loaded = json.loads(self.out)
        assert isinstance(loaded, dict)
        return loaded


def run_command(
    *argv: str,
    home: Path,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    seconds: float = 240,
) -> Done:
    """Run `skill`, `auditor`, `vault` or `runner` of this environment; never at a terminal."""
    done = subprocess.run(
        [str(BIN / argv[0]), *argv[1:]],
        input=stdin,
        capture_output=True,
        cwd=cwd or home.parent,
        env=environment(home, env),
        timeout=seconds,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


def environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """A small environment: no agent's variables, no colour settings, the given Skillkeep home."""
    kept = {key: os.environ[key] for key in ("DOCKER_HOST", "TMPDIR") if key in os.environ}
    path = f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {
        "PATH": path,
        "HOME": str(home.parent),
        "SKILLKEEP_HOME": str(home),
        "LC_ALL": "C.UTF-8",
        **kept,
        **(extra or {}),
    }


@dataclass(frozen=True)
class Command:
    """One command that does something: its words and its options' spellings, each with its help."""

    words: tuple[str, ...]
    options: tuple[tuple[tuple[str, ...], str], ...]
    about: str

    @property
    def spellings(self) -> set[str]:
        """Every spelling of every option."""
        return {name for names, _ in self.options for name in names}


@cache
def every_command() -> tuple[Command, ...]:
    """All commands of the four programs, `skill vault list` and `vault list` both."""
    from skillkeep.cli.everywhere import command_of
    from skillkeep.dispatch.cli.compose import compose

    return tuple(found for program in PROGRAMS for found in _below(command_of(compose(program, [])), (program,)))


def _below(command: Any, words: tuple[str, ...]) -> Iterator[Command]:
    children = getattr(command, "commands", None)
    if children is None:
        options = tuple(
            ((*option.opts, *option.secondary_opts), getattr(option, "help", "") or "")
            for option in command.params
            if option.param_type_name == "option"
        )
        yield Command(words, options, command.help or "")
        return
    for name, child in children.items():
        yield from _below(child, (*words, name))
