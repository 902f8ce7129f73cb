"""The manifest is injective, canonical, and a ten-line script agrees with it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import hex_digests, paths

from skillkeep.errors import SkillkeepError
from skillkeep.manifest import Manifest, ManifestEntry
from skillkeep.tree import TreeView

entries = st.builds(ManifestEntry, paths, st.booleans(), st.integers(0, 2**40), hex_digests)
manifests = st.lists(entries, max_size=8, unique_by=lambda entry: entry.path).map(Manifest)


@given(manifests)
def test_a_manifest_reads_back_what_it_wrote(manifest: Manifest) -> None:
    text = manifest.to_text()
    assert text.isascii()
    assert Manifest.from_text(text) == manifest


@given(manifests, manifests)
def test_two_manifests_share_a_digest_only_when_they_are_equal(first: Manifest, second: Manifest) -> None:
    assert (first.digest == second.digest) == (first.entries == second.entries)


@pytest.mark.parametrize(
    "text",
    [
        "100644 1 " + "a" * 64 + " x",  # no line feed
        "100600 1 " + "a" * 64 + " x\n",  # unknown mode
        "100644 01 " + "a" * 64 + " x\n",  # size with a leading zero
        "100644 1 " + "a" * 64 + " %78\n",  # percent-encoding of a plain letter
        "100644 1 " + "A" * 64 + " x\n",  # upper-case digest
        "100644 1 " + "a" * 64 + " b\n100644 1 " + "a" * 64 + " a\n",  # not sorted
        "100644 1 " + "a" * 64 + " a\n100644 1 " + "a" * 64 + " a\n",  # twice
        "\n",
    ],
)
def test_text_that_is_not_canonical_is_refused(text: str) -> None:
    with pytest.raises(SkillkeepError) as caught:
        Manifest.from_text(text)
    assert caught.value.code == "bad_manifest"


def test_the_digest_is_what_an_independent_script_computes(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "run me.sh").write_bytes(b"echo\n")
    (tmp_path / "b" / "run me.sh").chmod(0o755)
    (tmp_path / "a.txt").write_bytes(b"")
    (tmp_path / os.fsdecode(b"\xff\n")).write_bytes(b"x")
    lines = []
    for folder, _, files in os.walk(os.fsencode(tmp_path)):
        for name in files:
            path = os.path.join(folder, name)
            data = Path(os.fsdecode(path)).read_bytes()
            mode = "100755" if os.stat(path).st_mode & 0o111 else "100644"
            relative = os.path.relpath(path, os.fsencode(tmp_path))
            line = f"{mode} {len(data)} {hashlib.sha256(data).hexdigest()} {quote_from_bytes(relative, safe='/')}\n"
            lines.append((relative, line))
    text = "".join(line for _, line in sorted(lines))
    with TreeView.open(tmp_path) as view:
        assert Manifest.of_tree(view).digest == "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def test_mode_bit_and_content_and_name_each_change_the_digest(tmp_path: Path) -> None:
    def digest() -> str:
        with TreeView.open(tmp_path) as view:
            return Manifest.of_tree(view).digest

    file = tmp_path / "a"
    file.write_bytes(b"one")
    seen = {digest()}
    file.chmod(0o755)
    seen.add(digest())
    file.write_bytes(b"two")
    seen.add(digest())
    file.rename(tmp_path / "b")
    seen.add(digest())
    assert len(seen) == 4


def test_the_trees_that_share_a_skills_lock_digest_differ_here(tmp_path: Path) -> None:
    digests = set()
    for name, content in (("run", b".sh\ncurl\n"), ("run.sh", b"\ncurl\n")):
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        (folder / name).write_bytes(content)
        with TreeView.open(folder) as view:
            digests.add(Manifest.of_tree(view).digest)
    assert len(digests) == 2


def test_a_link_has_no_place_in_a_manifest(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("elsewhere")
    with TreeView.open(tmp_path) as view, pytest.raises(SkillkeepError) as caught:
        Manifest.of_tree(view)
    assert caught.value.code == "bad_manifest"


def test_a_diff_names_what_was_added_removed_changed_and_chmodded() -> None:
    def entry(path: str, content: str, executable: bool = False) -> ManifestEntry:
        return ManifestEntry(path, executable, 1, hashlib.sha256(content.encode()).hexdigest())

    old = Manifest([entry("same", "1"), entry("gone", "2"), entry("edited", "3"), entry("mode", "4")])
    new = Manifest([entry("same", "1"), entry("new", "2"), entry("edited", "5"), entry("mode", "4", True)])
    diff = old.diff(new)
    assert (diff.added, diff.removed, diff.changed, diff.mode_changed) == (("new",), ("gone",), ("edited",), ("mode",))
    assert not old.diff(old)
