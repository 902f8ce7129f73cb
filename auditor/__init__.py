"""Reads code and text and returns a report. Never executes, never writes, needs no network."""

from __future__ import annotations

from skillkeep.auditor.audit import audit_tree
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
