"""Builders of hostile sources: raw git objects, archives, trees. Everything in them is inert."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

SKILL = b"---\nname: sample\ndescription: Counts words of a text.\n---\n\n# Sample\n\nCounts words.\n"
SCRIPT = b"import sys\n\nprint(len(sys.stdin.read().split()))\n"


def clean_skill(name: str = "sample") -> dict[str, bytes]:
    """The files of a skill that passes the audit."""
    return {"SKILL.md": SKILL.replace(b"name: sample", f"name: {name}".encode()), "scripts/count.py": SCRIPT}


def write_files(root: Path, files: Mapping[str, bytes]) -> Path:
    """Write `files` (POSIX path to bytes) below `root`."""
    for path, data in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return root


class Repository:
    """A bare repository built from raw objects, as no well-meaning git command would build it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["git", "init", "--quiet", "--bare", "--initial-branch=main", path], check=True, env=self._environment()
        )
        self.git("config", "uploadpack.allowAnySHA1InWant", "true")

    @staticmethod
    def _environment() -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.invalid", "GIT_AUTHOR_DATE": "1700000000 +0000",
            "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.invalid",
            "GIT_COMMITTER_DATE": "1700000000 +0000",
        }  # fmt: skip

    def git(self, *arguments: str, data: bytes = b"") -> str:
        """Run a git command in the repository and return its output, stripped."""
        command = ["git", "--git-dir", os.fspath(self.path), *arguments]
        done = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True, env=self._environment())
        return done.stdout.decode().strip()

    def blob(self, data: bytes) -> str:
        """Store a blob."""
        return self.git("hash-object", "-w", "--stdin", data=data)

    def tree(self, entries: Iterable[tuple[str, bytes, str]]) -> str:
        """Store a tree of (mode, name, object id) exactly as given: any order, any name."""
        raw = b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
        return self.git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", data=raw)

    def commit(self, tree: str, ref: str = "refs/heads/main") -> str:
        """Commit a tree and let `ref` point at it."""
        commit = self.git("commit-tree", tree, "-m", "x")
        self.git("update-ref", ref, commit)
        return commit

    def files(
        self, files: Mapping[str, bytes], modes: Mapping[str, str] | None = None, ref: str = "refs/heads/main"
    ) -> str:
        """Commit `files`; `modes` may give a path another mode than 100644 (``120000`` for a link, ``160000`` …)."""
        stream = io.BytesIO()
        stream.write(
            b"commit %s\ncommitter A <a@example.invalid> 1700000000 +0000\ndata 1\nx\ndeleteall\n" % ref.encode()
        )
        for path, data in files.items():
            mode = (modes or {}).get(path, "100644").encode()
            quoted = (
                b'"' + os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
            )
            if mode == b"160000":
                stream.write(b"M 160000 %s %s\n" % (data, quoted))
            else:
                stream.write(b"M %s inline %s\ndata %d\n%s\n" % (mode, quoted, len(data), data))
        self.git("fast-import", "--quiet", "--force", data=stream.getvalue())
        return self.git("rev-parse", ref)


def zip_of(path: Path, members: Iterable[tuple[str, bytes, int]]) -> Path:
    """A zip of (name, data, Unix mode with its file type); names are written as they are."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data, mode in members:
            info = zipfile.ZipInfo("x")
            info.filename = name
            info.create_system = 3
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.NameToInfo.pop(name, None)  # the library warns about a path that comes twice
            archive.writestr(info, data)
    return path


def zip_files(path: Path, files: Mapping[str, bytes]) -> Path:
    """A zip of ordinary files."""
    return zip_of(path, [(name, data, stat.S_IFREG | 0o644) for name, data in files.items()])


def tar_of(path: Path, members: Iterable[tarfile.TarInfo | tuple[str, bytes]]) -> Path:
    """A tar of ready members or of (name, data); compressed as the suffix says."""
    mode = {".gz": "w:gz", ".bz2": "w:bz2", ".xz": "w:xz"}.get(path.suffix, "w")
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]  # the mode is computed
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return path


def tar_member(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """A tar member without data: a link, hard link, device, FIFO."""
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return info
