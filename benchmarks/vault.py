"""The vault against plain tools doing the same work, and against itself when full.

Bars: hash + vault at least 0.7x the speed of `sha256sum`, `cp` and `sync` over the same tree; look-ups, openings and
admissions with 100,000 tools at most 1.2x those with 100. Exit 1 when one is missed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from vaulting.filled import FEW, MANY, admission, fill, open_vault

from skillkeep.digest import spell
from skillkeep.manifest import Manifest
from skillkeep.tree import TreeView
from skillkeep.vault.interface import Tier
from skillkeep.vault.store import Vault

ROUNDS = 9
SPEED_BAR, SCALE_BAR = 0.7, 1.2
# The small tree shows the fixed cost: an admission also puts its approval and its journal line on the disk, which
# `cp` and `sync` do not, and ten files are not enough to make up for that. It has no bar.
TREES = (
    ("10 files of 4 KB", 10, 4_000, 0.0),
    ("500 files of 30 KB", 500, 30_000, SPEED_BAR),
    ("20 files of 800 KB", 20, 800_000, SPEED_BAR),
)


def timed(work: Callable[[], object]) -> float:
    """Seconds that `work` takes once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def make_tree(folder: Path, files: int, size: int) -> Path:
    """A tree of random files, already on the disk."""
    folder.mkdir()
    for number in range(files):
        (folder / f"file{number}").write_bytes(os.urandom(size))
    os.sync()
    return folder


def hash_and_vault(vault: Vault, tree: Path, name: str) -> None:
    """What ingest does between the audit and the answer."""
    with TreeView.open(tree) as view:
        digest = Manifest.of_tree(view).digest
    vault.admit(admission(name, digest), tree)


def compare_speed(title: str, files: int, size: int, bar: float) -> bool:
    """Ours and the peer in turns on fresh trees; True when the bar is kept."""
    script = 'find "$1" -type f -exec sha256sum {} + >/dev/null && cp -r "$1" "$2" && sync'
    ours, peer = [], []
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        base = Path(folder)
        vault = open_vault(base)
        for number in range(ROUNDS):
            tree = make_tree(base / f"tree{number}", files, size)
            copy = str(base / f"copy{number}")
            peer.append(timed(lambda: subprocess.run(["sh", "-c", script, "sh", str(tree), copy], check=True)))  # noqa: B023
            ours.append(timed(lambda: hash_and_vault(vault, tree, f"tool{number}")))  # noqa: B023
        subprocess.run(["chmod", "-R", "u+w", str(base)], check=True)
    speed = statistics.median(peer) / statistics.median(ours)
    verdict = "no bar" if not bar else f"bar {bar}x {'kept' if speed >= bar else 'MISSED'}"
    print(
        f"hash + vault, {title:<20} {speed:5.2f}x the speed of sha256sum + cp + sync  {verdict}"
        f"  {statistics.median(ours) * 1000:.1f} ms"
    )
    return speed >= bar


def work_on(vault: Vault, tree: Path) -> dict[str, Callable[[int], object]]:
    """The operations whose time must not grow with the vault; each takes a round number."""
    with TreeView.open(tree) as view:
        digest = Manifest.of_tree(view).digest
    mine = admission("mine", digest)
    vault.admit(mine, tree)
    missing = spell("0" * 64)
    return {
        "look-up by digest, found": lambda _: vault.lookup(digest, Tier.UNKNOWN),
        "look-up by digest, not there": lambda _: vault.lookup(missing, Tier.UNKNOWN),
        "look-up by name": lambda _: vault.by_name("mine"),
        "open": lambda _: vault.open("mine"),
        "recover, nothing to do": lambda _: vault.recover(),
        "admit under a new name": lambda number: vault.admit(
            replace(mine, name=f"new{number}", source_key=f"key{number}"), tree
        ),
    }


def compare_scale() -> bool:
    """The same operations in a small and a full vault, in turns; True when all bars are kept."""
    kept = True
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        base = Path(folder)
        tree = make_tree(base / "tree", 5, 4_000)
        small, full = ((base / size) for size in ("small", "full"))
        works = []
        for place, count in ((small, FEW), (full, MANY)):
            place.mkdir()
            vault = open_vault(place)
            fill(vault, count)
            works.append(work_on(vault, tree))
        for title in works[0]:
            times: tuple[list[float], list[float]] = ([], [])
            for number in range(60):
                for work, seen in zip(works, times, strict=True):
                    seen.append(timed(lambda: work[title](number)))  # noqa: B023
            few, many = (statistics.median(seen) for seen in times)
            held = many / few <= SCALE_BAR
            kept = kept and held
            print(f"{title:<30} {many / few:5.2f}x at {MANY:,} tools of that at {FEW}  bar {SCALE_BAR}x "
                  f"{'kept' if held else 'MISSED'}  {many * 1000:.2f} ms")  # fmt: skip
        subprocess.run(["chmod", "-R", "u+w", str(base)], check=True)
    return kept


def main() -> int:
    """Measure and print a row for each bar."""
    kept = [compare_speed(*tree) for tree in TREES]
    return 0 if all([*kept, compare_scale()]) else 1


if __name__ == "__main__":
    sys.exit(main())
