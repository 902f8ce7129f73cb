"""Runs one request, read as JSON from stdin, in the native sandbox; prints the result or the error as JSON."""

from __future__ import annotations

import json
import os
import sys

from skillkeep.errors import SkillkeepError
from skillkeep.runner.interface import AssuranceLevel, Bind, RunRequest, SandboxPolicy
from skillkeep.runner.native import NativeBackend


def main() -> None:
    """Read, run, print."""
    asked = json.load(sys.stdin)
    policy = asked["policy"]
    policy["binds"] = tuple(Bind(**bind) for bind in policy.get("binds", ()))
    policy["env"] = tuple((key, value) for key, value in policy.get("env", ()))
    stdin: bytes | int | None = None if asked["stdin"] is None else asked["stdin"].encode()
    if stdin == b"pty":
        _, stdin = os.openpty()
    elif stdin and stdin.startswith(b"open:"):
        stdin = os.open(stdin[5:], os.O_RDONLY if os.path.isdir(stdin[5:]) else os.O_RDWR)
    try:
        request = RunRequest(
            tuple(asked["argv"]), SandboxPolicy(**policy), stdin=stdin, min_assurance=AssuranceLevel(asked["level"])
        )
        # Not `run`: that probes first, which each test would pay for.
        answer = NativeBackend()._run(request).to_json()
    except SkillkeepError as error:
        answer = error.to_json()
    print(json.dumps(answer))


main()
