"""The runner's error codes. Exit 125: the runner failed; 126: blocked on purpose; 127: nothing to run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from skillkeep.errors import Code, Exit, SkillkeepError

__all__ = ["RunnerError"]


class RunnerError(SkillkeepError):
    """A run that did not happen, or whose end the runner could not observe."""

    codes: ClassVar[Mapping[str, Code]] = {
        "bad_policy": Code("A sandbox policy or run request holds a value that cannot be enforced.", Exit.USAGE),
        "sandbox_unavailable": Code("No sandbox that this run needs works on this machine.", Exit.RUN_BLOCKED),
        "assurance_too_low": Code("The sandbox would hold less than the run demands.", Exit.RUN_BLOCKED),
        "sandbox_layer_failed": Code(
            "A layer of the sandbox could not be set up; the context names it, nothing ran.", Exit.RUN_FAILED
        ),
        "sandbox_died": Code("The fork server died or broke its protocol.", Exit.RUN_FAILED),
        "tier_needs_sandbox": Code("Only a tier 1 tool may run without a sandbox.", Exit.RUN_BLOCKED),
        "not_granted": Code("The run wants something that was not granted to the tool.", Exit.RUN_BLOCKED),
        "no_dry_run": Code("No dry run of that id waits.", Exit.USAGE),
        "dry_run_busy": Code("Another process is committing that dry run.", Exit.RUN_FAILED),
        "tool_changed": Code("The name now stands for another version than the one to be run.", Exit.RUN_BLOCKED),
        "unknown_backend": Code("There is no sandbox backend of that name.", Exit.USAGE),
        "backend_failed": Code("The container engine refused or failed.", Exit.RUN_FAILED),
        "entry_not_found": Code("The tool has no entry point or script of that name.", Exit.RUN_NOT_FOUND),
        "program_not_found": Code("The program does not exist inside the sandbox.", Exit.RUN_NOT_FOUND),
        "program_not_runnable": Code("The program exists inside the sandbox but cannot be executed.", Exit.RUN_BLOCKED),
    }
