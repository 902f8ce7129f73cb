"""Labelled samples, and how they become inert folders: read from git object stores, never checked out.

Links are skipped and nothing is executable. Samples are other people's work and some are hostile: they are staged
below a folder that the caller removes, and are never run, imported, installed or committed.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Sample", "collection_samples", "read_manifest", "stage", "staged_samples"]

_ANSWERS = frozenset({"_expected.json", "oracle.yaml"})  # some fixtures carry their own label


@dataclass(frozen=True)
class Sample:
    """One labelled artifact: `path` is a folder of `repo` at `commit`, or a single file; a .md becomes SKILL.md."""

    id: str
    slice: str
    label: str
    repo: str = ""
    commit: str = "HEAD"
    path: str = ""


def read_manifest(path: Path) -> list[Sample]:
    """The samples a JSON-lines manifest lists."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [Sample(row["id"], row["slice"], row["label"], row["repo"], row["commit"], row["path"]) for row in rows]


def staged_samples(samples: Iterable[Sample], into: Path) -> list[Sample]:
    """Those of `samples` that lie below `into`."""
    return [sample for sample in samples if (into / sample.id).is_dir()]


def collection_samples(snapshots: Path, repositories: Iterable[str]) -> list[Sample]:
    """Every folder with a SKILL.md of whole repositories at their HEAD, as benign samples of one slice each."""
    found = []
    for repo in repositories:
        store = _store(snapshots, repo)
        if store is None:
            continue
        names = _git(store, "ls-tree", "-r", "--name-only", "-z", "HEAD").decode("utf-8", "surrogateescape").split("\0")
        folders = {name.rpartition("/")[0] for name in names if name.rpartition("/")[2] == "SKILL.md"}
        if not folders:
            folders = {name.rpartition("/")[0] for name in names if name.endswith(("package.json", "pyproject.toml"))}
        tag = "whole-" + repo.partition("/")[0].lower()
        found += [Sample(f"{tag}/{path.replace('/', '__') or 'root'}", tag, "benign", repo, "HEAD", path)
                  for path in sorted(folders)]  # fmt: skip
    return found


def stage(samples: Iterable[Sample], snapshots: Path, into: Path) -> list[Sample]:
    """Write the samples whose snapshot is there below ``into/<id>/``. Returns those that were written."""
    return [sample for sample in samples if _stage_one(sample, snapshots, into)]


def _stage_one(sample: Sample, snapshots: Path, into: Path) -> bool:
    store = _store(snapshots, sample.repo)
    if store is None:
        return False
    files = 0
    for name, body in _blobs(store, sample):
        relative = name[len(sample.path) + 1 if sample.path else 0 :]
        if name == sample.path:
            relative = "SKILL.md" if name.endswith(".md") else name.rpartition("/")[2]
        if relative.rpartition("/")[2] in _ANSWERS:
            continue
        place = into / sample.id / relative
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(body)
        place.chmod(0o644)
        files += 1
    return files > 0


def _blobs(store: Path, sample: Sample) -> Iterator[tuple[str, bytes]]:
    known = subprocess.run(["git", f"--git-dir={store}", "cat-file", "-e", sample.commit], capture_output=True)
    commit = "HEAD" if known.returncode else sample.commit
    listed = _git(store, "ls-tree", "-r", "-z", commit, *(["--", sample.path] if sample.path else []))
    wanted = []
    for line in listed.split(b"\0")[:-1]:
        meta, name = line.split(b"\t", 1)
        mode, kind, blob = meta.split()
        if kind == b"blob" and mode != b"120000":
            wanted.append((name.decode("utf-8", "surrogateescape"), blob))
    if not wanted:
        return
    answer = subprocess.run(
        ["git", f"--git-dir={store}", "cat-file", "--batch"],
        input=b"".join(blob + b"\n" for _, blob in wanted), capture_output=True, check=True,
    ).stdout  # fmt: skip
    at = 0
    for name, _ in wanted:
        end = answer.index(b"\n", at)
        header = answer[at:end].split()
        if len(header) != 3:  # a blob the snapshot left out
            at = end + 1
            continue
        size = int(header[2])
        yield name, answer[end + 1 : end + 1 + size]
        at = end + size + 2


def _store(snapshots: Path, repo: str) -> Path | None:
    """The git directory of a snapshot ``owner+name/``."""
    folder = snapshots / repo.replace("/", "+", 1)
    for place in (folder, folder / ".git", folder / "repo", folder / "repo" / ".git"):
        if (place / "HEAD").is_file():
            return place
    return None


def _git(store: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", f"--git-dir={store}", *arguments], capture_output=True, check=True).stdout
