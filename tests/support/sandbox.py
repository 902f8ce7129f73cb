"""Runs the same attack outside and inside the native sandbox, as root and as a user without rights."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.waiting import kill, until

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
FOLDERS = ("skillkeep", "runner", "vault")


@dataclass(frozen=True)
class Who:
    """A user to attack as. `uid` None: the user that runs the tests."""

    name: str
    uid: int | None


def attackers() -> list[Who]:
    """Root and nobody when root runs the tests, else that user alone."""
    return [Who("root", None), Who("nobody", NOBODY)] if os.geteuid() == 0 else [Who("user", None)]


@functools.cache
def staged_packages() -> Path:
    """An installed-like copy of the packages the runner needs, readable by everyone; lives as long as the tests."""
    folder = Path(tempfile.mkdtemp(prefix="skillkeep-tests-"))
    os.chmod(folder, 0o755)
    for name in FOLDERS:
        target = folder / "skillkeep" / ("" if name == "skillkeep" else name)
        shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    for path in [folder, *folder.rglob("*")]:
        os.chmod(path, 0o755 if path.is_dir() else 0o644)
    _STAGED.append(folder)
    return folder


_STAGED: list[Path] = []


def remove_staged() -> None:
    """Remove what `staged_packages` made."""
    while _STAGED:
        shutil.rmtree(_STAGED.pop())
    staged_packages.cache_clear()


@functools.cache
def python_for(uid: int | None) -> str:
    """A Python 3.11 or later that this user can start; skips the test where there is none."""
    code = "import sys; sys.exit(sys.version_info < (3, 11))"
    for path in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        with contextlib.suppress(OSError):
            if subprocess.run([path, "-I", "-c", code], user=uid, group=uid, cwd="/", stderr=-3).returncode == 0:
                return path
    pytest.skip("no Python 3.11 that the user nobody can start")


@dataclass(frozen=True)
class Bench:
    """One attacker and a folder of its own: `home` is readable only by it, `tool` is its tool's tree."""

    who: Who
    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def tool(self) -> Path:
        return self.folder / "tool"

    def outside(self, code: str, *args: object, timeout: float = 30.0) -> subprocess.CompletedProcess[bytes]:
        """Run Python `code` as the attacker without a sandbox."""
        return subprocess.run(
            [python_for(self.who.uid), "-I", "-c", code, *map(str, args)],
            user=self.who.uid,
            group=self.who.uid,
            extra_groups=None if self.who.uid is None else [],
            capture_output=True,
            cwd=self.folder,
            env={"HOME": str(self.home), "PATH": os.defpath},
            timeout=timeout,
        )

    def inside(self, code: str, *args: object, **options: Any) -> dict[str, Any]:
        """Run the same in the sandbox; `options` as for `run`."""
        return self.run("python3", "-I", "-c", code, *map(str, args), **options)

    def run(self, *argv: str, stdin: str | None = None, level: int = 2, **policy: Any) -> dict[str, Any]:
        """Run a command in the sandbox with the tool at /tool; the result's (or the error's) JSON object.

        `stdin` "pty" hands over a terminal, "open:PATH" a descriptor opened for reading and writing.
        """
        request = self.request(argv, stdin, level, policy)
        if self.who.uid is None:
            from support.sandbox_driver import answer as answer_here

            with _environment(self.identity()["env"]):
                return answer_here(json.loads(request))
        done = subprocess.run(self.driver(), input=request, capture_output=True, **self.identity())
        assert done.returncode == 0, done.stderr.decode()
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def request(self, argv: Sequence[str], stdin: str | None, level: int, policy: dict[str, Any]) -> bytes:
        """What `driver` reads: the request as JSON. `policy` may also hold `explain`."""
        binds = [*policy.get("binds", []), {"source": str(self.tool), "target": "/tool"}]
        asked = {"argv": argv, "stdin": stdin, "level": level, "policy": {**policy, "binds": binds}}
        return json.dumps(asked).encode()

    def driver(self) -> list[str]:
        """The command that runs one request from its stdin."""
        driver = "import runpy,sys; sys.path[0:0]=sys.argv[1:2]; runpy.run_path(sys.argv[2], run_name='__main__')"
        script = staged_packages() / "driver.py"
        if not script.exists():
            shutil.copy(Path(__file__).with_name("sandbox_driver.py"), script)
            os.chmod(script, 0o644)
        return [python_for(self.who.uid), "-I", "-c", driver, str(staged_packages()), str(script)]

    @property
    def runtime(self) -> Path:
        """Where a fork server of the bench's own listens, once `own_server` has been called."""
        return self.folder / "runtime"

    def own_server(self) -> None:
        """From now on do not use the user's fork server, which other tests need alive, but one of the bench's own."""
        self.runtime.mkdir(mode=0o700)
        if self.who.uid is not None:
            os.chown(self.runtime, self.who.uid, self.who.uid)

    def servers(self) -> list[int]:
        """Host pids of the bench's own fork server, of starters that are about to end, and of its newest child.

        That one shows the server's command line until it has become its own program.
        """
        return [pid for pid in marked_processes(f"{self.runtime}/") if pid in marked_processes("boot.py")]

    def server(self) -> int:
        """Host pid of the bench's own fork server."""
        found: list[int] = []

        def is_alone() -> bool:
            found[:] = self.servers()
            return len(found) == 1

        assert until(is_alone), found
        return found[0]

    def identity(self) -> dict[str, Any]:
        """Arguments of subprocess that start a program as the attacker."""
        groups = None if self.who.uid is None else []
        environment = {"HOME": str(self.home), "PATH": os.environ.get("PATH", os.defpath), "A_SECRET": "in-the-env"}
        environment |= {"XDG_RUNTIME_DIR": str(self.runtime)} if self.runtime.exists() else {}
        return {"user": self.who.uid, "group": self.who.uid, "extra_groups": groups, "cwd": "/", "env": environment}


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def bench(who: Who) -> Iterator[Bench]:
    """A bench for this attacker, removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="skillkeep-bench-"))
    made = Bench(who, folder)
    os.chmod(folder, 0o755)
    for path, mode in ((made.home, 0o700), (made.tool, 0o755)):
        path.mkdir()
        os.chmod(path, mode)
        if who.uid is not None:
            os.chown(path, who.uid, who.uid)
    try:
        yield made
    finally:
        while servers := made.servers():  # one that ends by itself, or is killed, removes its files until it has ended
            for pid in servers:
                with contextlib.suppress(ProcessLookupError):
                    kill(pid)
        shutil.rmtree(folder)


def marked_processes(mark: str) -> list[int]:
    """Host pids of living processes (zombies left out) whose command line holds `mark`, the caller left out."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError):
                if mark.encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                    found.append(int(name))
    return found


def without_namespaces(argv: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a command where user.max_user_namespaces is 0, in a nested user namespace; skips where that fails.

    The command sees itself as uid 0 there, without any right over the host.
    """
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    probe = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh", "true"], capture_output=True
    )
    if probe.returncode:
        pytest.skip(f"no nested user namespace can be made here: {probe.stderr.decode(errors='replace')}")
    return subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh", *argv], **options)


def without_control_groups(argv: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a command as root where no control group hierarchy is in sight (a mount namespace without it)."""
    script = 'umount -l /sys/fs/cgroup && exec "$@"'
    return subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", *argv], **options)


def refusing(names: dict[str, int], argv: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a command under a seccomp filter that makes these system calls fail with these errnos: a real kernel
    that refuses a layer.
    """
    code = (
        "import json,os,sys; sys.path.insert(0, sys.argv[1]);"
        "from skillkeep.kernel.process import forbid_new_privileges as n;"
        "from skillkeep.kernel.seccomp import ALLOW, Filter, deny;"
        "n(); Filter({k: deny(v) for k, v in json.loads(sys.argv[2]).items()}, ALLOW).install();"
        "os.execvp(sys.argv[3], sys.argv[3:])"
    )
    command = [sys.executable, "-I", "-c", code, str(staged_packages()), json.dumps(names), *argv]
    return subprocess.run(command, **options)
