"""Fetches from git: one commit, shallow, into a bare repository; files are read from the object store.

There is no checkout, so no filter, attribute, hook or link of the repository ever acts. The only module that
imports GitPython, which here only starts git; what git sees is in `git_config`. Runs inside a confined worker that
may connect to the remote's port alone.
"""

from __future__ import annotations

import os
import selectors
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from skillkeep.confined import Confinement
from skillkeep.ingest import observations as seen
from skillkeep.ingest.errors import IngestError
from skillkeep.ingest.fetchers.git_config import environment, write_config
from skillkeep.ingest.fetchers.git_errors import from_stderr, ref_missing
from skillkeep.ingest.fetchers.git_tree import GitEntry, parse_listing
from skillkeep.ingest.fetchers.interface import Fetcher, FetchFacts, FetchOrder
from skillkeep.ingest.giturl import is_commit
from skillkeep.ingest.observations import Observations
from skillkeep.ingest.source import SourceKind
from skillkeep.ingest.writer import TreeWriter, too_much

__all__ = ["GitFetcher"]

_FETCHED = "refs/skillkeep/fetched"
_MIB = 1 << 20
_TICK = 0.1
_STDERR_BYTES = 16 << 10
_LISTING_BYTES = 64 * _MIB
_LINK_BYTES = 4096


class GitFetcher(Fetcher):
    """Any git remote of an allowed scheme."""

    kind = SourceKind.GIT

    def confinement(self, order: FetchOrder) -> Confinement:
        read = [os.path.dirname(order.program)]
        if order.local:
            read.append(order.local)
        if order.scheme == "ssh":
            read.append(os.path.expanduser("~/.ssh"))
        return Confinement(
            read=tuple(read),
            write=(order.folder,),
            tcp_ports=_ports(order),
            programs=True,
            memory_bytes=1024 * _MIB,
            wall_seconds=order.limits.seconds + 10,
            cpu_seconds=int(order.limits.seconds) + 10,
            file_bytes=order.limits.total_bytes + _MIB,
            environment=environment(order),
        )

    def _fetch(self, order: FetchOrder, writer: TreeWriter, notes: Observations) -> FetchFacts:
        if order.local:
            _check_local(Path(order.local))
        write_config(order)
        git = _Git(order)
        git.run("init", "--quiet", "--bare", "--template=", git.folder)
        wanted, proven = _choose_ref(git, order)
        _fetch_commit(git, order, wanted)
        commit = git.run("rev-parse", "--verify", f"{_FETCHED}^{{commit}}").decode("ascii").strip()
        root = _subtree(git, commit, order.path) if order.path else GitEntry("", "tree", commit, 0, "")
        _copy_out(git, root, order.limits.entries, (writer, notes))
        return FetchFacts(commit, proven)


def _fetch_commit(git: _Git, order: FetchOrder, wanted: str) -> None:
    try:
        git.run(
            "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
            "--no-auto-maintenance", "--", order.url, f"{wanted}:{_FETCHED}",
        )  # fmt: skip
    except IngestError as error:
        if error.code == "ref_not_found" and not order.ref:
            raise IngestError(
                "empty_source",
                "the repository has no commit on its default branch",
                "Name a branch with --ref, or check that a git repository is at that address.",
            ) from error
        raise


def _ports(order: FetchOrder) -> tuple[int, ...]:
    """The remote's port, or the user's proxy's for https; none for a local repository."""
    if order.scheme == "https" and order.proxy:
        return (urlsplit(order.proxy).port or 1080,)
    return (order.port,) if order.port else ()


def _check_local(repository: Path) -> None:
    """Refuse a local repository whose folder or objects are somewhere else: `file://` means this folder alone."""
    inner = repository / ".git"
    folder = inner if os.path.lexists(inner) else repository
    elsewhere = [folder, *(folder / part for part in ("objects", "refs", "HEAD", "packed-refs"))]
    if any(part.is_symlink() for part in elsewhere) or (folder == inner and not folder.is_dir()):
        raise _borrowed("its .git is a link or a pointer to another folder")
    if (folder / "commondir").exists() or _has_text(folder / "objects" / "info" / "alternates"):
        raise _borrowed("it borrows objects from another repository")
    if not (folder / "objects").is_dir():
        raise IngestError("source_not_found", "there is no git repository in this folder", "Check the path.")


def _size_of(file: os.DirEntry[str]) -> int:
    """The bytes of `file`; none where git has given it its final name since the folder was listed."""
    try:
        return file.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0


def _has_text(path: Path) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode) or path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _borrowed(what: str) -> IngestError:
    return IngestError(
        "borrowed_objects",
        f"the local repository cannot be taken: {what}",
        "Clone it with `git clone --no-local --dissociate` and ingest the clone, or ingest the folder itself.",
    )


def _choose_ref(git: _Git, order: FetchOrder) -> tuple[str, bool]:
    """What to ask the server for, and whether a branch or tag of the repository vouches for it.

    A hosted repository also serves commits of its forks and of pull requests, which anybody may write: a bare
    commit or a ref outside heads and tags is proven only when a branch or tag points at it.
    """
    if not order.ref:
        return "HEAD", True
    if is_commit(order.ref):
        tips = _remote_refs(git, order, "refs/heads/*", "refs/tags/*")
        return order.ref, order.ref in tips.values()
    full = order.ref.startswith("refs/")
    names = [order.ref] if full else [f"refs/heads/{order.ref}", f"refs/tags/{order.ref}"]
    listed = _remote_refs(git, order, *names)
    found = [name for name in names if name in listed]
    if not found:
        raise ref_missing(order.ref)
    if len(found) > 1:
        raise IngestError(
            "ambiguous_ref",
            "the ref is both a branch and a tag",
            f"Say which: --ref {found[0]} or --ref {found[1]}.",
            ref=order.ref,
        )
    return found[0], found[0].startswith(("refs/heads/", "refs/tags/"))


def _remote_refs(git: _Git, order: FetchOrder, *patterns: str) -> dict[str, str]:
    raw = git.run("ls-remote", "--quiet", "--", order.url, *patterns, limit=_LISTING_BYTES)
    pairs = (line.split("\t", 1) for line in raw.decode("utf-8", "surrogateescape").splitlines() if "\t" in line)
    return {name: commit for commit, name in pairs}


def _subtree(git: _Git, commit: str, path: str) -> GitEntry:
    listing = git.stream("ls-tree", "-z", "-l", "--full-tree", commit, "--", path)
    for entry in parse_listing(listing):
        if entry.path == path and entry.kind in {"tree", "blob"} and entry.mode != "120000":
            return entry
    raise IngestError("source_not_found", "the repository has no such file or folder", "Check --path.", path=path)


def _copy_out(git: _Git, root: GitEntry, most: int, into: tuple[TreeWriter, Observations]) -> None:
    writer, notes = into
    with git.blobs() as blobs:
        if root.kind == "blob":
            name = root.path.rpartition("/")[2]
            writer.file(name, root.mode == "100755", root.size, blobs.read(root))
            return
        listing = git.stream("ls-tree", "-r", "-z", "-l", "--full-tree", root.oid)
        for number, entry in enumerate(parse_listing(listing)):
            if number >= most:
                raise too_much("entries", most)
            if entry.kind == "commit":
                notes.add(seen.GITLINK, entry.path, f"submodule at {entry.oid}, not fetched")
            elif entry.mode == "120000":
                if entry.size > _LINK_BYTES:
                    notes.add(seen.LINK_DANGLING, entry.path, "the link's target is no path")
                else:
                    target = b"".join(blobs.read(entry))
                    writer.link(entry.path, os.fsdecode(target))
            elif entry.kind == "blob":
                writer.file(entry.path, entry.mode == "100755", entry.size, blobs.read(entry))
            else:
                notes.add(seen.SPECIAL_FILE, entry.path, f"an entry of mode {entry.mode}")


class _Git:
    """Starts git for one order, within its time and byte limits."""

    def __init__(self, order: FetchOrder) -> None:
        from git.cmd import Git

        self.folder = f"{order.folder}/git"
        self._order = order
        self._program = order.program
        self._driver = Git(order.folder)
        self._deadline = time.monotonic() + order.limits.seconds

    def _start(self, arguments: tuple[str, ...], stdin: int | None = None) -> subprocess.Popen[bytes]:
        command = [self._program, "--git-dir", self.folder, "--no-replace-objects", *arguments]
        started: Any = self._driver.execute(command, istream=stdin, as_process=True, shell=False)
        process: subprocess.Popen[bytes] = started.proc
        started.proc = None  # GitPython would otherwise interrupt it when its wrapper is collected
        return process

    def run(self, *arguments: str, limit: int = _MIB) -> bytes:
        """Run one command to its end and return stdout, at most `limit` bytes. Raises what git's stderr says."""
        process = self._start(arguments)
        out, err = bytearray(), bytearray()
        try:
            for stream, chunk in self._watch(process):
                if stream is process.stdout:
                    out += chunk
                    if len(out) > limit:
                        raise too_much("bytes of references", limit)
                else:
                    err += chunk
                    del err[:-_STDERR_BYTES]
            if process.wait():
                self._check_limits()  # a pack that met its limit shows as a git that died
                raise from_stderr(err.decode("utf-8", "surrogateescape"))
        finally:
            _stop(process)
        return bytes(out)

    def _watch(self, process: subprocess.Popen[bytes]) -> Iterator[tuple[IO[bytes], bytes]]:
        """What the process writes, while time and the size of the arriving pack are looked after."""
        with selectors.DefaultSelector() as selector:
            for stream in (process.stdout, process.stderr):
                assert stream
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                self._check_limits()
                for key, _ in selector.select(_TICK):
                    chunk = os.read(key.fd, 1 << 16)
                    if not chunk:
                        selector.unregister(key.fileobj)
                    else:
                        yield key.fileobj, chunk  # type: ignore[misc]  # we registered streams only

    def _check_limits(self) -> None:
        if time.monotonic() > self._deadline:
            raise IngestError(
                "fetch_timeout",
                "the source did not arrive in time",
                "Try again later, or raise fetch_seconds in config.toml.",
                seconds=self._order.limits.seconds,
            )
        packs = f"{self.folder}/objects/pack"
        if os.path.isdir(packs):
            with os.scandir(packs) as files:
                if sum(map(_size_of, files)) > self._order.limits.total_bytes:
                    raise too_much("bytes", self._order.limits.total_bytes)

    def stream(self, *arguments: str) -> Iterator[bytes]:
        """A command's stdout in chunks; the command ends with the iterator."""
        process = self._start(arguments)
        err = bytearray()
        try:
            for stream, chunk in self._watch(process):
                if stream is process.stdout:
                    yield chunk
                else:
                    err += chunk
                    del err[:-_STDERR_BYTES]
            if process.wait():
                raise from_stderr(err.decode("utf-8", "surrogateescape"))
        finally:
            _stop(process)

    def blobs(self) -> _Blobs:
        """A reader of blobs by id."""
        return _Blobs(self._start(("cat-file", "--batch"), subprocess.PIPE))


class _Blobs:
    """One `git cat-file --batch`: ask for an id, read its bytes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def __enter__(self) -> _Blobs:
        return self

    def __exit__(self, *exc: object) -> None:
        _stop(self._process)

    def read(self, entry: GitEntry) -> Iterator[bytes]:
        """The blob's bytes in chunks; nothing is asked for until the first chunk is wanted."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        stdin.write(entry.oid.encode("ascii") + b"\n")
        stdin.flush()
        head = stdout.readline().split()
        if len(head) != 3 or head[1] != b"blob":
            raise from_stderr("missing blob")
        left = int(head[2]) + 1  # git puts a line feed behind every blob
        while left > 0:
            chunk = stdout.read(min(left, _MIB))
            if not chunk:
                raise from_stderr("corrupt: the object store ended early")
            left -= len(chunk)
            yield chunk if left > 0 else chunk[:-1]


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            try:
                stream.close()
            except BrokenPipeError:
                continue
