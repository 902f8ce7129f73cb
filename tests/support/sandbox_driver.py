"""Runs one request, read as JSON from stdin, in the native sandbox; prints the result or the error as JSON."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from skillkeep.errors import SkillkeepError
from skillkeep.runner.interface import AssuranceLevel, Bind, RunRequest, SandboxPolicy
from skillkeep.runner.native import NativeBackend


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Run what `Bench.request` asked for; the JSON object of the result or of the error."""
    policy = dict(asked["policy"])
    explain = policy.pop("explain", False)
    policy["binds"] = tuple(Bind(**bind) for bind in policy.get("binds", ()))
    policy["egress"] = tuple(policy.get("egress", ()))
    policy["env"] = tuple((key, value) for key, value in policy.get("env", ()))
    stdin: bytes | int | None = None if asked["stdin"] is None else asked["stdin"].encode()
    opened: tuple[int, ...] = ()
    if stdin == b"pty":
        opened = os.openpty()
    elif isinstance(stdin, bytes) and stdin.startswith(b"open:"):
        opened = (os.open(stdin[5:], os.O_RDONLY if os.path.isdir(stdin[5:]) else os.O_RDWR),)
    try:
        request = RunRequest(
            tuple(asked["argv"]),
            SandboxPolicy(**policy),
            stdin=opened[-1] if opened else stdin,
            min_assurance=AssuranceLevel(asked["level"]),
            explain=explain,
        )
        # Not `run`: that probes first, which each test would pay for.
        return NativeBackend()._run(request).to_json()
    except SkillkeepError as error:
        return error.to_json()
    finally:
        for fd in opened:
            os.close(fd)


if __name__ == "__main__":
    print(json.dumps(answer(json.load(sys.stdin))))
