"""Runs one request after another in one process, each read as a line of JSON from stdin; says how each ended."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Bind, RunRequest, SandboxPolicy
from skillkeep.runner.native import NativeBackend, held, lent

_lent: list[lent.Lent] = []
_held: list[lent.Lent] = []


class _Noted(lent.Lent):
    """The real one; that there was one is noted."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        _lent.append(self)


class _NotedHeld(held.Held):
    """The real one; that a run was let go in it is noted."""

    def begin(self, *args: Any) -> lent.Lent | None:
        if (found := super().begin(*args)) is not None:
            _held.append(found)
        return found


class _Stopping(held.Terms):
    """The real ones; once they hold, this process gets the signal that it was told of."""

    signal = 0

    def hold(self, *args: Any) -> bool:
        found = super().hold(*args)
        if found and _Stopping.signal:
            number, _Stopping.signal = _Stopping.signal, 0
            os.kill(os.getpid(), number)
        return found


def _forked(asked: dict[str, Any]) -> dict[str, Any]:
    """The answer that a fork of this process gets."""
    read_end, write_end = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write_end, json.dumps(_answer(asked)).encode())
        os._exit(0)
    os.close(write_end)
    with open(read_end, "rb") as file:
        answer: dict[str, Any] = json.loads(file.read())
    os.waitpid(child, 0)
    return answer


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    if asked.pop("fork", False):
        return _forked(asked)
    _Stopping.signal = asked.get("signal", 0)
    _lent.clear()
    _held.clear()
    policy = dict(asked["policy"])
    policy["binds"] = tuple(Bind(*bind) for bind in policy.get("binds", ()))
    policy["env"] = tuple((key, value) for key, value in policy.get("env", ()))
    try:
        result = NativeBackend()._run(RunRequest(tuple(asked["argv"]), SandboxPolicy(**policy)))
    except RunnerError as error:
        return {**error.to_json(), "lent": bool(_lent), "held": bool(_held)}
    return {**result.to_json(), "lent": bool(_lent), "held": bool(_held)}


if __name__ == "__main__":
    lent.Lent = held.Lent = _Noted  # type: ignore[misc]
    held.Held, held.Terms = _NotedHeld, _Stopping  # type: ignore[misc]
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)
