"""What ingest reads: git's listings and words, archives, addresses, manifests."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import IO

from support.containers import tarred, zipped

from fuzzing.target import Target, text_of
from skillkeep.errors import SkillkeepError
from skillkeep.ingest.fetchers.archive_tar import unpack_tar
from skillkeep.ingest.fetchers.archive_zip import unpack_zip
from skillkeep.ingest.fetchers.git_errors import from_stderr
from skillkeep.ingest.fetchers.git_tree import parse_listing
from skillkeep.ingest.fetchers.interface import FetchOrder
from skillkeep.ingest.giturl import looks_like_git, parse_git
from skillkeep.ingest.observations import Observations
from skillkeep.ingest.source import check_inner_path
from skillkeep.ingest.writer import SourceLimits, TreeWriter
from skillkeep.manifest import Manifest
from skillkeep.text import escape

_LIMITS = SourceLimits(entries=300, total_bytes=4 << 20, file_bytes=1 << 20, depth=16, seconds=30.0)
Unpack = Callable[[IO[bytes], FetchOrder, TreeWriter, Observations], None]


def _listing(data: bytes) -> None:
    try:
        entries = list(parse_listing(data[at : at + 37] for at in range(0, len(data), 37)))
    except SkillkeepError as error:
        assert error.hint
        return
    assert all(entry.size >= 0 for entry in entries)


def _stderr(data: bytes) -> None:
    error = from_stderr(text_of(data))
    assert escape(error.message) == error.message
    assert error.hint
    assert len(str(error.context["detail"])) <= 400


def _address(data: bytes) -> None:
    text = text_of(data)
    try:
        check_inner_path(text)
        if looks_like_git(text):
            found = parse_git(text, None, "")
            assert 0 <= found.port <= 65_535
            assert "@" not in found.host
    except SkillkeepError as error:
        assert error.hint


def _unpacked(unpack: Unpack, data: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="skillkeep-fuzz-") as folder:
        root = Path(folder) / "tree"
        root.mkdir(mode=0o700)
        order = FetchOrder(kind="archive", folder=folder, limits=_LIMITS)
        notes = Observations()
        try:
            with TreeWriter(root, _LIMITS, notes) as writer:
                unpack(BytesIO(data), order, writer, notes)
        except SkillkeepError as error:
            assert error.hint
        assert sorted(os.listdir(folder)) == ["tree"], "something was written beside the tree"
        size = sum(os.lstat(os.path.join(at, name)).st_size for at, _, names in os.walk(root) for name in names)
        assert size <= _LIMITS.total_bytes + _LIMITS.file_bytes


def _manifest(data: bytes) -> None:
    text = text_of(data)
    try:
        manifest = Manifest.from_text(text)
    except SkillkeepError as error:
        assert error.code == "bad_manifest"
        return
    assert manifest.to_text() == text


LISTING = (
    b"100644 blob " + b"a" * 40 + b"      12\tREADME.md\0120000 blob " + b"b" * 40 + b"       3\ta/l\0"
    b"160000 commit " + b"c" * 40 + b"       -\tsub\0040000 tree " + b"d" * 40 + b"       -\t\xff\n\0"
)
STDERR = (
    b"fatal: couldn't find remote ref x\n",
    b"remote: fsck\nerror: RPC failed; HTTP 302\n",
    b"\x1b[31mbad object\n",
)
ADDRESSES = (
    b"https://github.com/a/b#main", b"git@github.com:a/b.git", b"ssh://git@[::1]:22/a/b", b"file:///tmp/x#v1",
    b"http://127.0.0.1:80/a/b", b"https://u:p@h/a?b", b"npm:left-pad", b"ext::sh -c x", b"skills/a/../b",
)  # fmt: skip
MANIFEST = b"100644 5 " + b"a" * 64 + b" SKILL.md\n100755 9 " + b"b" * 64 + b" scripts/%C3%A9.sh\n"


def _zips() -> list[bytes]:
    return [zipped({"SKILL.md": "# A\n", "s/a.sh": "ls\n"}), zipped({"../x": "y", "a": "b" * 999}), zipped({"a/": b""})]


def _tars() -> list[bytes]:
    return [
        tarred({"SKILL.md": "# A\n", "s/a.sh": "ls\n"}, links={"l": "SKILL.md", "m": "../x"}),
        tarred({"n" * 150: "x"}),
    ]


TARGETS = (
    Target("git-listing", "what `git ls-tree` prints", _listing, lambda: [LISTING]),
    Target("git-stderr", "what git and a server say", _stderr, lambda: list(STDERR)),
    Target("address", "sources as users and marketplaces write them", _address, lambda: list(ADDRESSES)),
    Target("unpack-zip", "a zip on its way into quarantine", lambda data: _unpacked(unpack_zip, data), _zips),
    Target("unpack-tar", "a tar on its way into quarantine", lambda data: _unpacked(unpack_tar, data), _tars),
    Target("manifest", "the text behind a digest", _manifest, lambda: [MANIFEST]),
)
