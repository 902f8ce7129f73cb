"""What a caller asks its fork server, besides the plan and the streams that come along."""

from __future__ import annotations

__all__ = ["GO", "PREPARE", "RUN"]

RUN = b"run"
"""Run this plan."""
PREPARE = b"prepare"
"""Run this plan, but let its payload go only after `GO`."""
GO = b"go"
"""Let the payload go."""
