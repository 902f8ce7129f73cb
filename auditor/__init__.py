"""Reads code and text and returns a report. Never executes, never writes, needs no network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skillkeep.auditor.interface import (
    AuditOptions,
    Capability,
    Confidence,
    Finding,
    Observation,
    Report,
    Severity,
    Verdict,
)

if TYPE_CHECKING:
    from skillkeep.auditor.audit import audit_tree

__all__ = [
    "AuditOptions",
    "Capability",
    "Confidence",
    "Finding",
    "Observation",
    "Report",
    "Severity",
    "Verdict",
    "audit_tree",
]


def __getattr__(name: str) -> Any:
    """`audit_tree` at first use: with its engines it costs ten times what the value types cost."""
    if name == "audit_tree":
        from skillkeep.auditor.audit import audit_tree

        return audit_tree
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
