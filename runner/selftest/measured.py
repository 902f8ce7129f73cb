"""Attacks that need a run of their own and are judged from outside it: exhaustion, outliving, leaking, meeting.

Every payload is bounded in itself: it takes at most a few hundred MiB, a few dozen processes and a few seconds, so
that it does no harm where nothing holds it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillkeep.runner.interface import AssuranceLevel, Backend, Bind, Cause, RunRequest, RunResult, SandboxPolicy
from skillkeep.runner.selftest.bait import Bait
from skillkeep.runner.selftest.inside.harness import ABSENT, CLOSED, OPEN, Answer

__all__ = ["MEASURED", "Measured"]

MIB = 1 << 20
_LOOK_SECONDS = 60.0


@dataclass(frozen=True)
class Measured:
    """One such attack; `intended` as in `Attack`."""

    name: str
    area: str
    title: str
    run: Callable[[Backend, Bait], Answer]
    intended: Mapping[str, str] = field(default_factory=dict)


MEASURED: list[Measured] = []


def _measured(
    area: str, title: str, **intended: str
) -> Callable[[Callable[[Backend, Bait], Answer]], Callable[[Backend, Bait], Answer]]:
    def keep(run: Callable[[Backend, Bait], Answer]) -> Callable[[Backend, Bait], Answer]:
        MEASURED.append(Measured(run.__name__.strip("_"), area, title, run, intended))
        return run

    return keep


def _python(backend: Backend, code: str, stdin: bytes | int | None = None, **policy: Any) -> RunResult:
    request = RunRequest(
        ("python3", "-I", "-S", "-c", code),
        SandboxPolicy(**{"wall_seconds": 20.0, **policy}),
        stdin=stdin,
        min_assurance=AssuranceLevel.FILTERED,
    )
    return backend.run(request)


def _shown(folder: Path) -> Bind:
    return Bind(str(folder), "/grant", writable=True)


def _held(result: RunResult, limit: str) -> Answer:
    """Closed when the payload did not get to its last words."""
    reached = b"had it" in result.stdout
    return (OPEN, f"beyond {limit}") if reached else (CLOSED, f"{result.cause} at {limit}")


_HOLD = "\nprint('had it', flush=True)\n"


def _exhausting(name: str, title: str, code: str, limit: str, **policy: Any) -> None:
    def run(backend: Backend, bait: Bait) -> Answer:
        return _held(_python(backend, code, **policy), limit)

    MEASURED.append(Measured(name, "exhaustion", title, run))


def _memory(name: str, what: str, code: str, **policy: Any) -> None:
    title = f"take more memory than allowed: {what}"
    _exhausting(f"memory_{name}", title, code + _HOLD, "64 MiB", memory_bytes=64 * MIB, **policy)


_memory("private", "private pages", "held = bytearray(160 << 20)")
_memory(
    "shared",
    "shared pages",
    "import mmap, time\nheld = mmap.mmap(-1, 160 << 20)\nfor at in range(0, 160 << 20, 4096): held[at] = 1\n"
    "time.sleep(1)",
)
_memory(
    "let_go",
    "shared pages that nobody has mapped any more",
    "import mmap, time\nheld = []\nfor _ in range(10):\n"
    "    held.append(mmap.mmap(-1, 16 << 20))\n    for at in range(0, 16 << 20, 4096): held[-1][at] = 1\n"
    "    held[-1].madvise(mmap.MADV_DONTNEED); time.sleep(0.05)\n",
)
_memory(
    "memfd",
    "files without a name (memfd)",
    "import os, time\nfd = os.memfd_create('x', 9)\nfor _ in range(160): os.write(fd, b'x' * (1 << 20))\ntime.sleep(1)",
)
_memory(
    "segments",
    "System V segments",
    "import ctypes, time\nlibc = ctypes.CDLL(None); libc.shmat.restype = ctypes.c_void_p\n"
    "for n in range(5):\n"
    "    segment = libc.shmget(0, 32 << 20, 0o1600)\n"
    "    if segment < 0: raise SystemExit('refused')\n"
    "    ctypes.memset(libc.shmat(segment, None, 0), 1, 32 << 20)\n"
    "time.sleep(1)",
)
_memory(
    "scratch",
    "files in scratch and /dev/shm",
    "for place in ('/tmp/x', '/dev/shm/x'):\n    with open(place, 'wb') as file:\n"
    "        for _ in range(100): file.write(b'x' * (1 << 20))\n",
    tmp_bytes=64 * MIB,
)
_memory(
    "spread",
    "many small processes",
    "import os, time\n"
    "for _ in range(8):\n"
    "    if os.fork() == 0:\n        held = bytearray(24 << 20); time.sleep(3); os._exit(0)\n"
    "if any(os.wait()[1] for _ in range(8)): raise SystemExit('killed')",
)
_exhausting(
    "processes",
    "make more processes than allowed",
    "import os, time\nfor _ in range(40):\n    if os.fork() == 0: time.sleep(15); os._exit(0)\n"
    "print('had it', flush=True); os._exit(0)",
    "20 processes",
    processes=20,
)
_exhausting(
    "threads",
    "make more threads than allowed",
    "import os, threading, time\n"
    "for _ in range(40): threading.Thread(target=time.sleep, args=(15,), daemon=True).start()\n"
    "print('had it', flush=True); os._exit(0)",
    "20 threads",
    processes=20,
)


@_measured("exhaustion", "use more processor time than its share")
def _cpu(backend: Backend, bait: Bait) -> Answer:
    code = (
        "import os, time\nbegan = time.monotonic()\n"
        "try: os.sched_setaffinity(0, range(1024))\nexcept OSError: pass\n"
        "for _ in range(3):\n    if os.fork() == 0:\n"
        "        while time.monotonic() < began + 2: pass\n        os._exit(0)\n"
        "for _ in range(3): os.wait()\nused = os.times()\n"
        "print((used.children_user + used.children_system) / (time.monotonic() - began))"
    )
    share = float(_python(backend, code, cpus=1.0).stdout or b"0")
    return (OPEN if share > 1.4 else CLOSED), f"{share:.1f} of 1.0 processors"


@_measured("exhaustion", "print without end")
def _output(backend: Backend, bait: Bait) -> Answer:
    result = _python(backend, "import sys\nfor _ in range(64): sys.stdout.write('x' * (1 << 20))", output_bytes=100_000)
    kept = len(result.stdout)
    held = result.stdout_truncated and kept <= 100_000 and result.cause is Cause.OUTPUT_CAP
    return (CLOSED if held else OPEN), f"{kept} bytes kept, {result.cause}"


@_measured("exhaustion", "write a larger file than allowed into a granted folder")
def _file_size(backend: Backend, bait: Bait) -> Answer:
    grant = bait.grant_of("file_size")
    _python(backend, "open('/grant/large', 'wb').truncate(64 << 20)", binds=(_shown(grant),), file_bytes=1 * MIB)
    size = (grant / "large").stat().st_size if (grant / "large").exists() else 0
    return (OPEN if size > MIB else CLOSED), f"{size} bytes"


def _outlives(backend: Backend, code: str, seconds: float) -> Answer:
    mark = "skillkeep-selftest-" + secrets.token_hex(8)
    began = time.monotonic()
    result = _python(backend, f"{code}\n# {mark}", wall_seconds=seconds)
    took = time.monotonic() - began
    deadline = time.monotonic() + _LOOK_SECONDS
    while (left := _marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    if left:
        return OPEN, f"{len(left)} processes were left"
    return (OPEN if took > 40 else CLOSED), f"{result.cause} after {result.wall_seconds:.1f} s, nothing left"


def _marked(mark: str) -> list[str]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:
                if mark.encode() in file.read():
                    found.append(name)
    return found


_IGNORES = "import os, signal, time\nfor n in (1, 2, 3, 15): signal.signal(n, signal.SIG_IGN)\n"


@_measured("outliving", "ignore every signal beyond the time limit")
def _ignore_signals(backend: Backend, bait: Bait) -> Answer:
    return _outlives(backend, _IGNORES + "time.sleep(60)", 1.0)


@_measured("outliving", "leave a daemon behind: double fork, a session of its own, streams closed")
def _daemon(backend: Backend, bait: Bait) -> Answer:
    code = (
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        "        os.closerange(0, 3)\n        time.sleep(60)\n    os._exit(0)\nos.wait()"
    )
    return _outlives(backend, _IGNORES + code, 20.0)


@_measured("outliving", "leave a daemon that holds the output open")
def _daemon_with_pipe(backend: Backend, bait: Bait) -> Answer:
    return _outlives(backend, _IGNORES + "if os.fork() == 0:\n    os.setsid()\n    time.sleep(60)", 20.0)


@_measured("outliving", "stop instead of ending")
def _stopped(backend: Backend, bait: Bait) -> Answer:
    return _outlives(backend, _IGNORES + "os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(60)", 1.0)


@_measured(
    "leaving",
    "leave a setuid file, a FIFO, a socket or a device in a granted folder",
    docker="a FIFO or a socket does nothing until somebody on the host opens it by its name",
)
def _litter(backend: Backend, bait: Bait) -> Answer:
    grant = bait.grant_of("litter")
    code = (
        "import os, socket\n"
        "def way(what):\n    try: what()\n    except OSError: pass\n"
        "os.chdir('/grant')\nopen('plain', 'w').close()\n"
        "way(lambda: os.chmod('plain', 0o4755))\nway(lambda: os.mkfifo('fifo'))\n"
        "way(lambda: socket.socket(socket.AF_UNIX).bind('socket'))\nway(lambda: os.mknod('device', 0o20666, 0x103))\n"
    )
    _python(backend, code, binds=(_shown(grant),))
    found = []
    for entry in os.scandir(grant):
        mode = entry.stat(follow_symlinks=False).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or mode & 0o6000:
            found.append(entry.name)
    return (OPEN, ", ".join(sorted(found))) if found else (CLOSED, "plain files and folders only")


@_measured("leaving", "write files of root into a granted folder")
def _root_files(backend: Backend, bait: Bait) -> Answer:
    grant = bait.grant_of("root_files")
    _python(backend, "open('/grant/owned', 'w').close()", binds=(_shown(grant),))
    path = grant / "owned"
    if not path.exists():
        return CLOSED, "nothing was written"
    owner = path.stat().st_uid
    return (OPEN if owner == 0 else CLOSED), f"it belongs to user {owner}"


@_measured("leaving", "leave a core dump")
def _core(backend: Backend, bait: Bait) -> Answer:
    grant = bait.grant_of("core")
    code = (
        "import ctypes, os, resource\nos.chdir('/grant')\n"
        "try: resource.setrlimit(resource.RLIMIT_CORE, (-1, -1))\nexcept (OSError, ValueError): pass\n"
        "ctypes.string_at(0)"
    )
    before = set(os.listdir(grant))
    _python(backend, code, binds=(_shown(grant),))
    left = set(os.listdir(grant)) - before
    return (OPEN, ", ".join(left)) if left else (CLOSED, "no file was left")


@_measured("session", "type into a real terminal that was handed over as standard input")
def _terminal(backend: Backend, bait: Bait) -> Answer:
    code = (
        "import ctypes\nlibc = ctypes.CDLL(None)\nletter = ctypes.create_string_buffer(b'!')\n"
        "for fd in (0, 1, 2):\n    for request in (0x5412, 0x5412 | 1 << 32):\n"
        "        libc.ioctl(fd, ctypes.c_ulong(request), letter)\n"
        "import os\nprint(any(os.isatty(fd) for fd in (0, 1, 2)))"
    )
    master, terminal = os.openpty()
    try:
        os.write(master, b"\x04")  # end of input, so that a backend which reads it on comes to an end
        result = _python(backend, code, stdin=terminal)
        os.set_blocking(terminal, False)
        with contextlib.suppress(BlockingIOError):
            if b"!" in os.read(terminal, 100):
                return OPEN, "a letter was typed"
    finally:
        os.close(master)
        os.close(terminal)
    return (OPEN, "it has the terminal itself") if b"True" in result.stdout else (CLOSED, "no terminal came in")


@_measured("session", "see a granted variable's value in a command line or in the run's record")
def _secret_in_view(backend: Backend, bait: Bait) -> Answer:
    value = "value-" + secrets.token_hex(8)
    seen: list[str] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            seen.extend(_marked(value))
            stop.wait(0.05)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        result = _python(backend, "import time; time.sleep(0.5)", env=(("GRANTED", value),))
    finally:
        stop.set()
        watcher.join()
    if seen:
        return OPEN, "in a command line"
    return (OPEN, "in the record") if value in str(result.to_json()) else (CLOSED, "neither")


@_measured("meeting", "meet another sandbox that runs at the same time")
def _other_sandbox(backend: Backend, bait: Bait) -> Answer:
    key, name = secrets.randbits(24), "selftest-" + secrets.token_hex(8)
    first = (
        "import ctypes, socket, sys\n"
        f"ctypes.CDLL(None).shmget({key}, 4096, 0o1666)\ns = socket.socket(socket.AF_UNIX)\ns.bind(chr(0) + '{name}')\n"
        f"s.listen()\nopen('/tmp/{name}', 'w').close(); open('/dev/shm/{name}', 'w').close()\n"
        f"sys.stdin.read()  # {name}"
    )
    second = (
        "import ctypes, os, socket\nfound = []\n"
        f"if ctypes.CDLL(None).shmget({key}, 0, 0) >= 0: found.append('segment')\n"
        "s = socket.socket(socket.AF_UNIX)\n"
        f"name = '{name[:12]}' + '{name[12:]}'\n"
        "try: s.connect(chr(0) + name); found.append('socket')\nexcept OSError: pass\n"
        "found += [place for place in ('/tmp/' + name, '/dev/shm/' + name) if os.path.exists(place)]\n"
        "for pid in os.listdir('/proc'):\n    if pid.isdigit() and int(pid) != os.getpid():\n"
        "        try: found += ['process'] * (name.encode() in open('/proc/' + pid + '/cmdline', 'rb').read())\n"
        "        except OSError: pass\nprint(found)"
    )
    ours, theirs = os.pipe()
    other = threading.Thread(target=_python, args=(backend, first, ours), kwargs={"wall_seconds": 90.0})
    other.start()
    try:
        deadline = time.monotonic() + _LOOK_SECONDS
        while not _marked(name) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        if not _marked(name):
            return ABSENT, "the other sandbox did not start in time"
        found = _python(backend, second).stdout.decode(errors="replace").strip()
    finally:
        os.close(theirs)
        other.join()
        os.close(ours)
    return (CLOSED, "nothing of it is in sight") if found == "[]" else (OPEN, found or "no answer")
