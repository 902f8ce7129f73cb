"""What the fork server answers when a run is over."""

from __future__ import annotations

from typing import Any

from skillkeep.kernel.errors import KernelError
from skillkeep.runner.native.failures import LayerError, StartError
from skillkeep.runner.native.sandbox import Sandbox

__all__ = ["describe", "describe_failure"]


def describe(sandbox: Sandbox) -> dict[str, Any]:
    """How it ended, besides what held."""
    assert sandbox.outcome is not None
    return {
        **{name: value for name, value in vars(sandbox.outcome).items() if name != "assurance"},
        "kind": "outcome",
        "egress": sandbox.attempts,
        "refused_files": sandbox.refused_files,
        "refused_calls": [] if sandbox.notices is None else sandbox.notices.seen,
    }


def describe_failure(error: Exception) -> dict[str, Any]:
    """Why there was no run."""
    if isinstance(error, StartError):
        return {"kind": "start", "program": error.program, "errno": error.number}
    if isinstance(error, LayerError):
        facts = {"layer": error.layer, "detail": error.detail, "hint": error.hint, "errno": error.number}
        return {"kind": "layer", **facts}
    if isinstance(error, KernelError):
        facts = {"layer": error.layer, "detail": error.what, "hint": error.hint, "errno": error.context["errno"]}
        return {"kind": "layer", **facts}
    return {"kind": "layer", "layer": "setup", "detail": f"{type(error).__name__}: {error}", "hint": "", "errno": ""}
