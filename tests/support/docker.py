"""A small image made of this machine's own files, for tests against a real container engine."""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skillkeep.runner.containers.engine import UnusableError, check_reachable, local_socket

PROGRAMS = ("sh", "cat", "head", "id", "ls", "rm", "sleep", "touch", "tr", "true")
_SKIPPED = re.compile(
    r"/(__pycache__|test|tests|idlelib|tkinter|turtledemo|ensurepip|lib2to3|config-[^/]*|dist-packages|site-packages)$"
)


def why_no_engine() -> str:
    """Empty when a container engine answers here, else the reason, for a skip."""
    try:
        check_reachable(local_socket(os.environ))
    except UnusableError as error:
        return f"no container engine: {error}; `.ci/docker-up start` starts one"
    return ""


_REASON = why_no_engine()
NEEDS_ENGINE = [
    pytest.mark.docker,
    pytest.mark.skipif(bool(_REASON), reason=_REASON or "-"),
    pytest.mark.timeout(1200),  # the first one waits until other files are done with the engine
]
"""Marks of every test that takes `imported_image`."""


def engine_client() -> Any:
    """A client of the engine that the backend itself would use."""
    import docker

    return docker.APIClient(base_url=f"unix://{local_socket(os.environ)}", version="auto", timeout=60)


def imported_image() -> Iterator[str]:
    """Import the image, give its id, remove it afterwards; whoever has one has the engine for itself meanwhile.

    The tests count containers and wait for their starts, and each start removes what dead callers left: also those
    that another worker's test has just killed, and looks for.
    """
    with _alone():
        yield from _imported_image()


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process tests with this engine; the folder of its socket is the lock."""
    lock = os.open(os.path.dirname(local_socket(os.environ)), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _imported_image() -> Iterator[str]:
    client = engine_client()
    answer = client.import_image_from_data(root_archive(), repository="skillkeep-test", tag=f"pid{os.getpid()}")
    image = [json.loads(line) for line in answer.splitlines()][-1]["status"].strip()
    try:
        yield image
    finally:
        client.remove_image(image, force=True)
        client.close()


def root_archive() -> bytes:
    """A tar of a minimal root: a shell, some tools, the system's Python if it has one, and what they link to."""
    programs = [found for name in PROGRAMS if (found := _host_program(name))]
    python = _host_program("python3")
    files = {f"/bin/{path.name}": path for path in programs}
    if python:
        files["/bin/python3"] = python
        files.update(_standard_library(python))
    for library in _libraries([*programs, *([python] if python else [])]):
        files[str(library)] = library
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("work", "tool", "proc", "sys", "dev", "etc"):
            _add_folder(archive, name, 0o755)
        _add_folder(archive, "tmp", 0o1777)
        _add_bytes(archive, "etc/passwd", b"nobody:x:65534:65534:nobody:/:/bin/false\n")
        for target, path in sorted(files.items()):
            info = archive.gettarinfo(str(path.resolve()), target.lstrip("/"))
            info.uid = info.gid = 0
            with path.open("rb") as stream:
                archive.addfile(info, stream)
    return buffer.getvalue()


def _host_program(name: str) -> Path | None:
    return next((Path(folder, name) for folder in ("/usr/bin", "/bin") if Path(folder, name).exists()), None)


def _libraries(programs: list[Path]) -> set[Path]:
    found: set[Path] = set()
    for program in programs:
        listing = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
        found.update(Path(match) for match in re.findall(r"(/\S+\.so\S*) \(0x", listing))
    return found


def _standard_library(python: Path) -> dict[str, Path]:
    asked = "import sysconfig; print(sysconfig.get_path('stdlib'))"
    home = Path(subprocess.run([python, "-I", "-c", asked], capture_output=True, text=True, check=True).stdout.strip())
    files: dict[str, Path] = {}
    for folder, folders, names in os.walk(home):
        folders[:] = [name for name in folders if not _SKIPPED.search(f"/{name}")]
        files.update({f"{folder}/{name}": Path(folder, name) for name in names if Path(folder, name).is_file()})
    extensions = home / "lib-dynload"
    for library in _libraries(sorted(extensions.glob("*.so"))) if extensions.is_dir() else ():
        files[str(library)] = library
    return files


def _add_folder(archive: tarfile.TarFile, name: str, mode: int) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, mode
    archive.addfile(info)


def _add_bytes(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))
