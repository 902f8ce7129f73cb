"""Files to measure on: whole public collections where their snapshots are, else what this installation holds."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

from score.samples import Sample, stage

__all__ = ["COLLECTIONS", "KINDS", "gather", "skill_of_ten", "skills_below", "tree_of"]

COLLECTIONS = (
    "anthropics/skills", "openai/skills", "obra/superpowers", "wshobson/agents", "K-Dense-AI/claude-scientific-skills"
)  # fmt: skip
KINDS = {
    "Markdown": (".md", ".mdx", ".mdc", ".rst"),
    "config": (".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".xml"),
    "shell": (".sh", ".bash", ".zsh"),
    "Python": (".py",),
    "JavaScript": (".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx"),
}
_LARGEST = 1 << 20


def gather(snapshots: Path, into: Path, megabytes: float) -> tuple[dict[str, Path], Path | None]:
    """A folder of copies for each kind, and the folder of the whole collections where there are some.

    Of a kind with more than `megabytes`, every second, third, ... file is taken.
    """
    whole = into / "collections"
    samples = [Sample(repo.replace("/", "__"), "", "", repo) for repo in COLLECTIONS]
    there = bool(stage(samples, snapshots, whole)) if snapshots.is_dir() else False
    kinds = {}
    for kind, files in _by_kind(sorted(whole.rglob("*")) if there else _installed()).items():
        total = sum(path.stat().st_size for path in files) / 1e6
        kinds[kind] = into / "kinds" / kind
        for number, path in enumerate(files[:: max(1, round(total / megabytes))]):
            place = kinds[kind] / f"{number // 200}" / f"{number}{path.suffix.lower()}"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
    return kinds, whole if there else None


def _by_kind(paths: Iterable[Path]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in paths:
        kind = next((name for name, suffixes in KINDS.items() if path.suffix.lower() in suffixes), "")
        if kind and path.is_file() and path.stat().st_size <= _LARGEST:
            found.setdefault(kind, []).append(path)
    return found


def _installed() -> Iterator[Path]:
    for key in ("purelib", "stdlib"):
        for folder, names, files in os.walk(sysconfig.get_path(key)):
            names[:] = sorted(name for name in names if name not in {"test", "tests", "__pycache__"})
            yield from (Path(folder, name) for name in sorted(files))


def skills_below(whole: Path) -> list[Path]:
    """The folders that hold a SKILL.md."""
    return sorted({path.parent for path in whole.rglob("SKILL.md")})


def skill_of_ten(kinds: dict[str, Path], into: Path) -> Path:
    """A skill of ten files of a few kilobytes each: six pages, three scripts, one configuration."""
    wanted = {"Markdown": 6, "Python": 2, "shell": 1, "config": 1}
    for kind, count in wanted.items():
        files = [path for path in sorted(kinds[kind].rglob("*.*")) if 1_000 < path.stat().st_size < 9_000]
        for number, path in enumerate(files[:count]):
            name = "SKILL.md" if (kind, number) == ("Markdown", 0) else f"part{number}{path.suffix}"
            into.mkdir(parents=True, exist_ok=True)
            (into / name).write_bytes(path.read_bytes())
    return into


def tree_of(count: int, kinds: dict[str, Path], into: Path) -> int:
    """A tree of `count` files made of what the corpora hold, each with an end of its own; its bytes."""
    files = [path for folder in kinds.values() for path in sorted(folder.rglob("*.*"))]
    size = 0
    for number in range(count):
        path = files[number % len(files)]
        data = path.read_bytes()[:8192] + f"\n# {number}\n".encode()
        place = into / f"{number // 100}" / f"{number}{path.suffix}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        size += len(data)
    return size
