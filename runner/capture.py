"""What a run printed, kept up to a cap, so that a flood costs the caller no more memory than a whisper."""

from __future__ import annotations

__all__ = ["Capture"]


class Capture:
    """The first `cap` bytes of one output stream."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._kept = bytearray()
        self.truncated = False

    def feed(self, data: bytes | memoryview) -> bool:
        """Keep what still fits. Returns False once something had to be dropped."""
        room = self._cap - len(self._kept)
        self._kept += data[:room]
        if len(data) > room:
            self.truncated = True
        return not self.truncated

    @property
    def data(self) -> bytes:
        """What was kept."""
        return bytes(self._kept)
