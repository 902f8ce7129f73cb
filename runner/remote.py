"""One run asked for from outside this machine: the native backend behind standard input and output.

Started inside a virtual machine as ``python3 -m skillkeep.runner.remote``. One JSON object in, one out. What is asked
travels on standard input, so that no secret is on a command line.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from typing import Any

from skillkeep.errors import SkillkeepError
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import (
    Assurance,
    AssuranceLevel,
    Attempt,
    Bind,
    Cause,
    Denial,
    RunRequest,
    RunResult,
    SandboxPolicy,
)
from skillkeep.version import __version__

__all__ = ["answer", "from_answer", "main", "to_question"]

_POLICY = (
    "cpus", "memory_bytes", "processes", "wall_seconds", "output_bytes", "tmp_bytes", "file_bytes", "open_files",
    "workdir",
)  # fmt: skip


def to_question(request: RunRequest, stdin: bytes | None) -> bytes:
    """What is sent for a run; the tool is named by its path, which has to be the same there."""
    policy = request.policy
    binds = [(bind.source, bind.target, bind.writable) for bind in policy.binds]
    workdir = policy.workdir
    if request.tool is not None:
        binds.append((str(request.tool.path), policy.tool_mount, False))
        workdir = workdir or policy.tool_mount
    question = {
        "version": __version__,
        "argv": request.argv,
        "run_id": request.run_id,
        "least": int(request.min_assurance),
        "stdin": None if stdin is None else base64.b64encode(stdin).decode(),
        "policy": {name: getattr(policy, name) for name in _POLICY} | {"workdir": workdir},
        "env": policy.env,
        "binds": binds,
        "egress": policy.egress,
    }
    return json.dumps(question).encode()


def answer(question: Mapping[str, Any] | None) -> dict[str, Any]:
    """Run what was asked for; None asks only whether the sandbox works. Errors are part of the answer."""
    from skillkeep.runner.native import NativeBackend

    backend = NativeBackend()
    if question is None:
        return {"version": __version__, "state": backend.probe().to_json()}
    try:
        return {"version": __version__, "result": backend.run(_request(question)).to_json()}
    except SkillkeepError as error:
        return {"version": __version__, "error": {"code": error.code, "message": error.message, "hint": error.hint}}


def from_answer(data: Mapping[str, Any], request: RunRequest, backend: str) -> RunResult:
    """The result in an answer, as one of `backend` for `request`. Raises `RunnerError`: what was refused there."""
    if "error" in data:
        error = data["error"]
        code = error["code"] if error["code"] in RunnerError.codes else "backend_failed"
        raise RunnerError(code, str(error["message"]), str(error["hint"]), backend=backend)
    shape = dict(data["result"])
    for name in ("stdout", "stderr"):
        text, encoding = shape[name], shape.pop(f"{name}_encoding")
        shape[name] = base64.b64decode(text) if encoding == "base64" else text.encode()
    shape["cause"] = Cause(shape["cause"])
    shape["assurance"] = Assurance.from_json(shape["assurance"])
    shape["denials"] = tuple(Denial(**each) for each in shape["denials"])
    shape["attempts"] = tuple(Attempt(**each) for each in shape["attempts"])
    about = {
        "passed_over": (),
        "unrecorded": (),
        "backend": backend,
        "policy_digest": request.policy.digest,
        "tool_digest": request.tool.digest if request.tool else None,
    }
    return RunResult(**{**shape, **about})


def _request(question: Mapping[str, Any]) -> RunRequest:
    if question["version"] != __version__:
        hint = "Install the same version of Skillkeep in the virtual machine."
        raise RunnerError("bad_policy", f"the version here is {__version__}, not {question['version']}", hint)
    policy = SandboxPolicy(
        **question["policy"],
        env=tuple((name, value) for name, value in question["env"]),
        binds=tuple(Bind(*bind) for bind in question["binds"]),
        egress=tuple(question["egress"]),
    )
    stdin = None if question["stdin"] is None else base64.b64decode(question["stdin"])
    least = AssuranceLevel(question["least"])
    return RunRequest(tuple(question["argv"]), policy, None, stdin, least, question["run_id"])


def main() -> int:
    """Answer the question on standard input."""
    text = sys.stdin.buffer.read()
    sys.stdout.write(json.dumps(answer(json.loads(text) if text.strip() else None)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
