"""Runs one request after another in one process, each read as a line of JSON from stdin; says how each ended."""

from __future__ import annotations

import json
import sys
from typing import Any

from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Bind, RunRequest, SandboxPolicy
from skillkeep.runner.native import NativeBackend, lent

_lent: list[lent.Lent] = []


class _Noted(lent.Lent):
    """The real one; that there was one is noted."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        _lent.append(self)


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    _lent.clear()
    policy = dict(asked["policy"])
    policy["binds"] = tuple(Bind(*bind) for bind in policy.get("binds", ()))
    policy["env"] = tuple((key, value) for key, value in policy.get("env", ()))
    try:
        result = NativeBackend()._run(RunRequest(tuple(asked["argv"]), SandboxPolicy(**policy)))
    except RunnerError as error:
        return {**error.to_json(), "lent": bool(_lent)}
    return {**result.to_json(), "lent": bool(_lent)}


if __name__ == "__main__":
    lent.Lent = _Noted  # type: ignore[misc]
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)
