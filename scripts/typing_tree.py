"""Lay the folders out as one package of links below `build/typing`, the way they are installed, for mypy.

mypy reads no `package-dir`; it needs to see `skillkeep/vault/…` where the repository has `vault/…`.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def wanted_links(tree: Path) -> dict[Path, str]:
    """Each link below `tree` and the relative path it points to."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders: dict[str, str] = dict(config["tool"]["setuptools"]["package-dir"])
    ground = ROOT / folders.pop("skillkeep")
    targets = {tree / entry.name: entry for entry in ground.iterdir() if entry.name != "__pycache__"}
    targets |= {tree / package.partition(".")[2]: ROOT / folder for package, folder in folders.items()}
    return {link: os.path.relpath(target, tree) for link, target in targets.items()}


def main() -> None:
    """Make the links, and drop those whose target is gone."""
    tree = ROOT / "build" / "typing" / "skillkeep"
    tree.mkdir(parents=True, exist_ok=True)
    links = wanted_links(tree)
    for stale in set(tree.iterdir()) - set(links):
        stale.unlink()
    for link, target in links.items():
        if not link.is_symlink() or os.readlink(link) != target:
            link.unlink(missing_ok=True)
            link.symlink_to(target)


if __name__ == "__main__":
    main()
