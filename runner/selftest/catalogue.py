"""All attacks, and how they are carried into a sandbox: as source text on standard input, for any Python there."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from skillkeep.runner.selftest.inside import (
    calls,
    files,
    harness,
    identity,
    kernel_files,
    network,
    session,
    shared_files,
)
from skillkeep.runner.selftest.inside.harness import ATTACKS, Attack

__all__ = ["attacks", "command", "input_text", "read_answers"]

_MODULES: tuple[ModuleType, ...] = (harness, identity, calls, kernel_files, network, files, shared_files, session)
_BOOT = """
import json, os, sys, types
def is_open(number):
    try:
        return bool(os.fstat(number))
    except OSError:
        return False
started = [number for number in range(1024) if is_open(number)]
try:
    held = dict(line.split(":", 1) for line in open("/proc/self/status"))
except OSError:
    held = {}
given = json.load(sys.stdin)
for path, text in given["modules"]:
    parts = path.split(".")
    for depth in range(1, len(parts)):
        package = sys.modules.setdefault(".".join(parts[:depth]), types.ModuleType(".".join(parts[:depth])))
        package.__path__ = []
    module = sys.modules[path] = types.ModuleType(path)
    exec(compile(text, path, "exec"), module.__dict__)
core = sys.modules[given["modules"][0][0]]
core.facts.update(given["facts"])
core.facts["descriptors_at_start"] = started
core.facts["signals_at_start"] = [int(held.get(name, "0"), 16) for name in ("SigBlk", "SigIgn")]
core.main(given["names"])
"""


def attacks(names: Iterable[str] = ()) -> tuple[Attack, ...]:
    """The named attacks, or all, in a fixed order. Raises KeyError."""
    return tuple(ATTACKS[name] for name in names) or tuple(ATTACKS.values())


def command(python: str = "python3") -> tuple[str, ...]:
    """The argument list that reads `input_text` from its standard input."""
    return (python, "-I", "-S", "-c", _BOOT)


def input_text(facts: Mapping[str, Any], names: Sequence[str]) -> bytes:
    """What `command` reads: the attacks' own source, `facts` about the outside, and which of them to try."""
    modules = [(module.__name__, inspect.getsource(module)) for module in _MODULES]
    return json.dumps({"modules": modules, "facts": dict(facts), "names": list(names)}).encode()


def read_answers(output: bytes) -> dict[str, tuple[str, str]]:
    """Verdict and detail by attack, from what `command` printed; lines that are no answer are left out."""
    found = {}
    for line in output.decode("utf-8", "replace").splitlines():
        try:
            name, verdict, detail = json.loads(line)
        except ValueError:
            continue
        if name in ATTACKS and verdict in (harness.OPEN, harness.CLOSED, harness.ABSENT):
            found[name] = (verdict, str(detail))
    return found
