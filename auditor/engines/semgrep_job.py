"""The confined side of the semgrep engine: starts the program, bounds it, and hands its JSON back as plain data."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["run"]

# Nothing in the scanned tree may silence semgrep (see research: default runs skip tests, ignored and large files).
_HARDENED: Final = (
    "--disable-nosem",
    "--x-ignore-semgrepignore-files",
    "--no-git-ignore",
    "--max-target-bytes=0",
    "--metrics=off",
    "--disable-version-check",
)
_MOST_OUTPUT: Final = 32 << 20
_TAIL: Final = 2_000


def run(request: Mapping[str, Any]) -> dict[str, Any]:
    """The job: ``program``, ``config``, ``root``, ``scratch``, ``seconds`` in; ``status``, ``report``, ``log`` out.

    `status` is semgrep's exit code, None when it ran out of time. HOME and TMPDIR are the scratch folder, which is
    outside of the scanned tree; semgrep writes its settings and logs there.
    """
    scratch, root = str(request["scratch"]), str(request["root"])
    output = os.path.join(scratch, "report.json")
    argv = [
        str(request["program"]), "scan", "--quiet", "--json", f"--output={output}", f"--config={request['config']}",
        *_HARDENED, "--no-rewrite-rule-ids", "--timeout=10", "--timeout-threshold=0", "--jobs=1", "--", root,
    ]  # fmt: skip
    environment = {
        "PATH": os.defpath, "HOME": scratch, "TMPDIR": scratch, "XDG_CONFIG_HOME": scratch, "XDG_CACHE_HOME": scratch,
        "SEMGREP_SETTINGS_FILE": os.path.join(scratch, "settings.yml"), "SEMGREP_SEND_METRICS": "off",
        "SEMGREP_ENABLE_VERSION_CHECK": "0", "LC_ALL": "C.UTF-8", "NO_COLOR": "1",
    }  # fmt: skip
    try:
        done = subprocess.run(
            argv, env=environment, cwd=scratch, stdin=subprocess.DEVNULL, capture_output=True, check=False,
            timeout=float(request["seconds"]),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"status": None, "report": {}, "log": "out of time"}
    log = (done.stdout + done.stderr)[-_TAIL:].decode("utf-8", "replace")
    return {"status": done.returncode, "report": _report(output), "log": log}


def _report(output: str) -> dict[str, Any]:
    try:
        with open(output, "rb") as stream:
            data = stream.read(_MOST_OUTPUT + 1)
        report = json.loads(data) if len(data) <= _MOST_OUTPUT else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return report if isinstance(report, dict) else {}
