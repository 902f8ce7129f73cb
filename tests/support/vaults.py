"""Vaults with real tools in them, made through the real way in (`Vault.admit`), for any part's tests."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.manifest import Manifest
from skillkeep.tree import TreeView
from skillkeep.vault.interface import Admission, Tier, VaultedTool
from skillkeep.vault.store import Vault

__all__ = ["admission_of", "make_tool", "open_vault", "write_files"]

Files = Mapping[str, str | bytes]


def open_vault(home: Home) -> Vault:
    """The vault below `home` (made when missing), with its real journal."""
    home.ensure()
    return Vault(home, Journal(home.journal))


def write_files(root: Path, files: Files, executable: Collection[str] = ()) -> Path:
    """Write `files` below `root`; those named in `executable` and those that start with ``#!`` may be executed."""
    root.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        place.chmod(0o755 if path in executable or data.startswith(b"#!") else 0o644)
    return root


def admission_of(
    tree: Path,
    name: str,
    tier: Tier = Tier.UNKNOWN,
    verdict: str = "PASS",
    source: str | None = None,
    kind: str = "skill",
) -> Admission:
    """What the gate would hand to the vault for the files below `tree`; `source` defaults to one for each name."""
    with TreeView.open(tree) as view:
        digest = Manifest.of_tree(view).digest
    key = source or f"https://example.invalid/{name}"
    return Admission(
        name=name,
        digest=digest,
        tier=tier,
        verdict=verdict,
        source=key,
        source_key=key,
        ref=None,
        commit=None,
        artifact_path="",
        kind=kind,
        confirmed="test",
        report={"verdict": verdict},
    )


def make_tool(
    home: Home,
    name: str,
    files: Files,
    tier: Tier = Tier.UNKNOWN,
    kind: str = "skill",
    executable: Collection[str] = (),
) -> VaultedTool:
    """Vault `files` under `name` at `tier` and return the verified tool. Called again, it is an update."""
    vault = open_vault(home)
    with tempfile.TemporaryDirectory() as folder:
        tree = write_files(Path(folder) / "tree", files, executable)
        return vault.admit(admission_of(tree, name, tier, kind=kind), tree)
