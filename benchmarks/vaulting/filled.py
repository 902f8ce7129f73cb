"""Vaults with few and with many tools, for measuring what must not grow with them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from skillkeep.digest import sha256_bytes
from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.manifest import Manifest, ManifestEntry
from skillkeep.vault import changes
from skillkeep.vault.interface import Admission, Tier
from skillkeep.vault.layout import Layout
from skillkeep.vault.registry import Registry, Stamp
from skillkeep.vault.store import Vault

__all__ = ["FEW", "MANY", "LaterClock", "admission", "fill", "open_vault"]

FEW, MANY = 100, 100_000


def admission(name: str, digest: str) -> Admission:
    """What the gate would hand over."""
    source = f"https://example.invalid/{name}"
    return Admission(
        name=name, digest=digest, tier=Tier.UNKNOWN, verdict="PASS", source=source, source_key=source, ref=None,
        commit=None, artifact_path="", kind="skill", confirmed="benchmark", report={},
    )  # fmt: skip


class LaterClock:
    """The machine's time and a minute, so that a tool vaulted just now opens by its signature like an older one."""

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(minutes=1)

    def monotonic(self) -> float:
        return time.monotonic()


def open_vault(folder: Path) -> Vault:
    """A vault in a new home below `folder`."""
    home = Home(folder / "home").ensure()
    return Vault(home, Journal(home.journal), LaterClock())


def fill(vault: Vault, count: int) -> None:
    """Enter `count` tools into the registry, as admissions do, in one transaction."""
    registry = Registry(Layout(vault.layout.root))
    stamp = Stamp("2026-11-21T00:00:00.000Z", "benchmark")
    with registry.database.write() as connection:
        for number in range(count):
            manifest = Manifest([ManifestEntry("SKILL.md", False, number, sha256_bytes(b"%d" % number))])
            changes.enter(connection, admission(f"tool{number}", manifest.digest), manifest, stamp)
        connection.execute("UPDATE tools SET unsettled = 0")
