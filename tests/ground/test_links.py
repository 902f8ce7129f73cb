"""Where a link leads is decided from the entries alone, with the root as a wall."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillkeep.links import LinkKind, resolve_link
from skillkeep.tree import TreeView


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("file", LinkKind.INSIDE),
        ("folder/inner", LinkKind.INSIDE),
        ("folder/../file", LinkKind.INSIDE),
        ("other", LinkKind.INSIDE),
        ("/etc/passwd", LinkKind.ABSOLUTE),
        ("../secret", LinkKind.ESCAPING),
        ("../root/file", LinkKind.ESCAPING),
        ("folder/../../root/file", LinkKind.ESCAPING),
        ("to-absolute", LinkKind.ABSOLUTE),
        ("missing", LinkKind.DANGLING),
        ("file/inner", LinkKind.DANGLING),
        ("loop", LinkKind.CYCLE),
        (".", LinkKind.CYCLE),
        ("folder/..", LinkKind.CYCLE),
    ],
)
def test_fate_of_a_link(tmp_path: Path, target: str, kind: LinkKind) -> None:
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "inner").write_bytes(b"")
    (root / "file").write_bytes(b"")
    (root / "other").symlink_to("folder/inner")
    (root / "to-absolute").symlink_to("/etc/passwd")
    (root / "loop").symlink_to("loop")
    (root / "link").symlink_to(target)
    with TreeView.open(root) as view:
        fate = resolve_link({entry.path: entry for entry in view.entries}, "link")
    assert fate.kind is kind
    if kind is LinkKind.INSIDE:
        assert (root / fate.target).resolve() == (root / "link").resolve()


def test_a_folder_link_to_its_own_parent_is_a_cycle(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "up").symlink_to("../../a")
    with TreeView.open(tmp_path) as view:
        assert resolve_link({entry.path: entry for entry in view.entries}, "a/b/up").kind is LinkKind.CYCLE
