"""Each file of a tree is opened once, and the digest is that of what was judged."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.audited import write_tree

from skillkeep.auditor.interface import AuditOptions
from skillkeep.auditor.worker import read_tree
from skillkeep.manifest import Manifest
from skillkeep.tree import TreeView

FILES = {
    "SKILL.md": "---\nname: a\n---\n# A\n\n```sh\nls\n```\n",
    "a.py": "import b\nprint(b.x)\n",
    "b.py": "x = 1\n",
    "package.json": '{"name": "a", "scripts": {"postinstall": "echo hi"}}\n',
    "empty.txt": "",
}


def test_a_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(tmp_path, FILES)
    opened: Counter[str] = Counter()
    real = TreeView.open_fd

    def counted(view: TreeView, path: str) -> int:
        opened[path] += 1
        return real(view, path)

    monkeypatch.setattr(TreeView, "open_fd", counted)
    answer = read_tree(tmp_path, AuditOptions(bandit=False))
    assert opened == dict.fromkeys(FILES, 1)
    monkeypatch.undo()
    with TreeView.open(tmp_path) as view:
        assert answer["digest"] == Manifest.of_tree(view).digest
