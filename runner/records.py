"""What is kept of a run: ``runs/<run_id>/run.json``. Output is kept as size and digest only, it may hold secrets."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from skillkeep.digest import sha256_bytes, spell
from skillkeep.files import io_errors, remove_tree
from skillkeep.runner.interface import RunResult, SandboxPolicy
from skillkeep.text import encodable
from skillkeep.vault.interface import VaultedTool

__all__ = ["KEPT_RUNS", "forget_oldest", "record_of", "run_facts"]

SCHEMA = "skillkeep/run-record-v1"
KEPT_RUNS = 1000
_SLACK = 100  # so that not every run has to count and sort


def run_facts(tool: VaultedTool, argv: Sequence[str], policy: SandboxPolicy) -> dict[str, Any]:
    """What is known of a run before it starts; the journal's line and the record share it."""
    return {
        "tool": tool.name,
        "tool_digest": tool.digest,
        "tier": int(tool.tier),
        "argv": [encodable(word) for word in argv],
        "policy_digest": policy.digest,
    }


def record_of(
    facts: Mapping[str, Any], times: tuple[str, str], policy: SandboxPolicy, result: RunResult
) -> dict[str, Any]:
    """The record of a finished run; `times` are start and end, RFC 3339."""
    return {
        "schema": SCHEMA,
        **facts,
        "started_at": times[0],
        "ended_at": times[1],
        "policy": policy.to_json(),
        "result": _without_output(result),
    }


def _without_output(result: RunResult) -> dict[str, Any]:
    shape = result.to_json()
    del shape["unrecorded"]
    for name, data in (("stdout", result.stdout), ("stderr", result.stderr)):
        del shape[name], shape[f"{name}_encoding"]
        shape[f"{name}_bytes"], shape[f"{name}_digest"] = len(data), spell(sha256_bytes(data))
    return shape


def forget_oldest(runs: Path) -> None:
    """Remove the oldest records beyond `KEPT_RUNS`, now and then. Raises `SkillkeepError` (`io_error`)."""
    with io_errors("look through the old runs"), os.scandir(runs) as listing:
        names = [item.name for item in listing]
    if len(names) <= KEPT_RUNS + _SLACK:
        return
    dated = []
    for name in names:
        with contextlib.suppress(FileNotFoundError):  # another process forgets too
            dated.append((os.lstat(runs / name).st_mtime_ns, name))
    for _, name in sorted(dated)[:-KEPT_RUNS]:
        remove_tree(runs / name)
