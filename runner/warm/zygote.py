"""The program inside the sandbox of a warm interpreter; its text is handed to the sandbox's own python3.

It runs none of the tool's code: its environment is its own, no variable that was granted is in it, and nothing of what
the tool is shown is looked at for a library. For each call it forks twice, ahead of time: the first child becomes pid 1
of new namespaces and only waits, the second lays down every right for good, reads the tool's script, and is what one
call runs in; it gets the variables that were granted with its words. Two calls wait. The zygote and pid 1 are out of a
call's reach: of other pid namespaces or pid 1, closed to inspection, and no descriptor leads to them; they end with
their parents. Standard library only. What it is told comes as JSON in its first argument:

``modules`` to import ahead, ``room`` and ``rights`` (tapes in base64, see `skillkeep.kernel.tape`), ``base`` (where
they lie in memory), ``end`` (the number of the call that ends a tape), ``script``, ``home`` (of a call).
"""

import atexit
import base64
import contextlib
import ctypes
import gc
import importlib
import importlib.machinery
import itertools
import json
import os
import select
import signal
import site
import socket
import struct
import sys
import threading
import types
from collections.abc import Callable

CONTROL = 4
KEPT = 2
"""Calls that are ready: the next one, and one more, which the caller looks at while that runs."""
FAILED, ENDED, READY = 1, 2, 3
INTERRUPTED = -1
_MOST = 1 << 20
_ROW, _HEAD = struct.Struct("=10q"), 32
_EQUAL, _DIFFERENT, _ANY = -1, -2, -1
_NEW_PID = 0x20000000
_REPORT = struct.Struct("=QqqddQ")
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.mmap.restype = ctypes.c_void_p


class TapeError(Exception):
    """A step of a tape that failed: its address and the errno."""


class Memory:
    """Room for a tape at the one address that it was written for."""

    def __init__(self, base: int, size: int) -> None:
        fixed_anonymous_private = 0x100000 | 0x20 | 0x02
        place = _libc.mmap(
            ctypes.c_void_p(base), ctypes.c_size_t(size), 3, fixed_anonymous_private, -1, ctypes.c_long(0)
        )
        if place != base:
            raise OSError(ctypes.get_errno(), "no room for a tape")
        self._base, self._bytes = base, (ctypes.c_char * size).from_address(base)

    def carry_out(self, image: bytes, end: int) -> None:
        """Make the system calls of a tape, up to its first `end`. Raises TapeError."""
        ctypes.memmove(self._base, image, len(image))
        at = self._base + _HEAD
        while True:
            number, *words, into, indirect, tolerated = _ROW.unpack_from(self._bytes, at - self._base)
            if number in (_EQUAL, _DIFFERENT):
                same = self._word(words[0]) & 0xFFFFFFFF == self._word(words[1]) & 0xFFFFFFFF
                at = words[2] if same is (number == _EQUAL) else at + _ROW.size
                continue
            if number == end:
                return
            given = [self._word(word) if indirect >> n & 1 else word for n, word in enumerate(words)]
            ctypes.set_errno(0)
            result = _libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, given))
            error = ctypes.get_errno() if result == -1 else 0
            if into:
                struct.pack_into("=q", self._bytes, into - self._base, -error if error else result)
            if error and tolerated not in (error, _ANY):
                raise TapeError(at, error)
            at += _ROW.size

    def _word(self, address: int) -> int:
        (value,) = struct.unpack_from("=q", self._bytes, address - self._base)
        return int(value)


def main(told: dict[str, object]) -> None:
    """Serve until nobody calls for a while, or the caller has gone."""
    go_home(str(told["home"]))
    for name in told["modules"]:  # type: ignore[attr-defined]
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    newest = next(reversed(sys.modules))
    images = [base64.b64decode(str(told[name])) for name in ("room", "rights")]
    memory = Memory(int(str(told["base"])), max(map(len, images)))
    importlib.machinery.SourceFileLoader("practice", "").source_to_code(b"", "")  # makes the types of all syntax trees
    gc.collect()
    gc.freeze()
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    control = socket.socket(fileno=CONTROL)

    def make(others: list[int]) -> int:
        return make_slot(control, memory, images, told, [own, *others], newest)

    serve(control, make)


def go_home(home: str) -> None:
    """Have the home of the calls: with it at its start, the interpreter would look there for code to run."""
    os.environ["HOME"] = home
    site.USER_BASE = site.USER_SITE = None
    site.getusersitepackages()


def serve(control: socket.socket, make: Callable[[list[int]], int]) -> None:
    """Keep calls ready, of which one after the other is told what to run. The next is made when one has ended.

    The caller says which call shall end by its number: that may have ended meanwhile.
    """
    poll = select.poll()
    poll.register(control.fileno(), select.POLLIN)
    numbers, alive = itertools.count(), dict[int, tuple[int, int]]()
    while True:
        while len(alive) < KEPT:
            pid = make([pidfd for _, pidfd in alive.values()])
            pidfd = os.pidfd_open(pid)
            poll.register(pidfd, select.POLLIN)
            alive[next(numbers)] = pid, pidfd
        events = dict(poll.poll())
        if control.fileno() in events:
            word, _, which = control.recv(_MOST).partition(b" ")
            if not word:
                os._exit(0)  # the caller has gone, or nobody has called for too long
            if (number := int(which)) in alive:
                signal.pidfd_send_signal(alive[number][1], signal.SIGKILL)
        for number, (pid, pidfd) in tuple(alive.items()):
            if pidfd in events:
                poll.unregister(pidfd)
                os.waitpid(pid, 0)
                os.close(pidfd)
                del alive[number]


def make_slot(
    control: socket.socket, memory: Memory, images: list[bytes], told: dict[str, object], held: list[int], newest: str
) -> int:
    """Fork the next call ahead of time, and hand the caller what leads to it; the pid of its pid 1.

    `held` are the zygote's own descriptors, its pid namespace first: no call gets any of them.
    """
    pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in ("talk", "report")]
    (talk, inner), (report, told_by) = pairs
    talk.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    for number, words in (("setns", (held[0], _NEW_PID)), ("unshare", (_NEW_PID,))):
        if _libc.syscall(ctypes.c_long(told[number]), *map(ctypes.c_long, words)):  # type: ignore[arg-type]
            raise OSError(ctypes.get_errno(), number)
    first = os.fork()
    if first == 0:
        try:
            for unused in (talk, report, control):
                unused.close()
            for fd in held:
                os.close(fd)
            be_first(memory, images, told, (inner, told_by), newest)
        finally:
            os._exit(1)
    socket.send_fds(control, [b"slot"], [talk.fileno(), report.fileno()])
    for sock in (*pairs[0], *pairs[1]):
        sock.close()
    return first


def be_first(
    memory: Memory,
    images: list[bytes],
    told: dict[str, object],
    sockets: tuple[socket.socket, socket.socket],
    newest: str,
) -> None:
    """Pid 1: build the room, fork the call, wait for it, end all that it left, and tell how it ended."""
    talk, report = sockets
    end, tape = int(str(told["end"])), 0
    try:
        memory.carry_out(images[0], end)
        call = os.fork()
        if call == 0:
            tape = 1
            memory.carry_out(images[1], end)
            report.close()
            be_call(str(told["script"]), talk, newest)
    except TapeError as failure:
        report.send(_REPORT.pack(FAILED, *failure.args, 0, 0, tape))
        os._exit(1)
    talk.close()
    # Once for practice, as `rehearse` does; the call may have ended already.
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, 0)
    with contextlib.suppress(ChildProcessError):
        os.wait4(1, os.WNOHANG)  # itself, which is no child
    pid, status, usage = os.wait4(-1, os.WNOHANG)
    _REPORT.pack(ENDED, status, 0, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024)
    while pid != call:
        pid, status, usage = os.wait4(-1, 0)
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(-1, signal.SIGKILL)
        while True:
            os.wait4(-1, 0)
    report.send(_REPORT.pack(ENDED, status, 0, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024))
    os._exit(0)


def be_call(script: str, talk: socket.socket, newest: str) -> None:
    """One call: confined already, it reads the script, says so, waits for its words, and runs it."""
    loader = importlib.machinery.SourceFileLoader("__main__", os.path.join(os.getcwd(), script))
    code = None
    with contextlib.suppress(Exception):  # the run itself says what is wrong with the script
        code = code_of(loader)
    rehearse(loader, script, newest)
    talk.send(struct.pack("=Q", READY))
    _, fds, _, _ = socket.recv_fds(talk, _MOST, 3)
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    os.dup2(talk.detach(), 3)
    os.closerange(4, max(fds, default=4) + 64)
    talk = socket.socket(fileno=3)
    data = talk.recv(_MOST)
    if not data:
        os._exit(0)
    talk.close()
    tool = os.getcwd()
    words, granted = words_of(data)
    for name, value in granted:
        os.environ.pop(name, None)  # what is set again comes last, as in an ordinary run
        os.environ[name] = value
    status = run_script(loader, code, script, words)
    finish(newest, tool)
    os.closerange(0, 3)  # whoever reads the streams looks whether this was the end
    if status == INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status)


def words_of(data: bytes) -> tuple[list[str], list[tuple[str, str]]]:
    """The arguments, and the variables that were granted: how many, their names and values, the arguments."""
    count, *told = os.fsdecode(data).split("\0")
    size = 2 * int(count)
    return told[size:], list(zip(told[:size:2], told[1:size:2], strict=True))


def code_of(loader: importlib.machinery.SourceFileLoader) -> types.CodeType:
    """What the script's text says: Python takes no compiled file for the script that it is started with."""
    code = loader.source_to_code(loader.get_data(loader.path), loader.path)
    assert isinstance(code, types.CodeType)
    return code


def nothing() -> None:
    """What is run for practice."""


def rehearse(loader, script: str, newest: str) -> None:  # type: ignore[no-untyped-def]
    """Do once what each call does with its words, before it says that it waits.

    The first change of a page that a fork shares copies it: that is done before anybody waits. What is left of it are
    pages. What there is so far is never garbage: the last collection need not look at it.
    """
    kept = sys.modules["__main__"], sys.argv, sys.orig_argv, sys.path[:]
    words, _ = words_of(b"1\0practice\0no\0practice")
    run_script(loader, nothing.__code__, script, words)
    let_go(newest, os.getcwd())
    sys.modules["__main__"], sys.argv, sys.orig_argv, sys.path[:] = kept
    gc.collect()
    gc.freeze()


def run_script(loader, code, script: str, words: list[str]) -> int:  # type: ignore[no-untyped-def]
    """Run the script as ``python3 script`` does; the exit code."""
    module = types.ModuleType("__main__")
    module.__dict__.update(
        __file__=loader.path, __loader__=loader, __builtins__=sys.modules["builtins"], __cached__=None,
        __annotations__={},
    )  # fmt: skip
    sys.modules["__main__"] = module
    sys.argv, sys.orig_argv = [script, *words], ["python3", script, *words]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    try:
        exec(code or code_of(loader), module.__dict__)  # noqa: S102  this is the sandbox
    except SystemExit as end:
        return exit_code(end.code)
    except BaseException as error:
        # Our own frames are no part of the script's story.
        trace = error.__traceback__.tb_next if code and error.__traceback__ else None
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def exit_code(code: object) -> int:
    """What `sys.exit` means."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def finish(newest: str, tool: str) -> None:
    """Do what the end of an interpreter does: threads, exit functions, open files, streams."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    let_go(newest, tool)


def let_go(newest: str, tool: str) -> None:
    """Let go of what the tool's modules hold, and write out what the streams hold.

    Modules older than `newest` are the zygote's; to look at them all would copy a page for nearly each.
    """
    for name in ["__main__", *itertools.takewhile(lambda name: name != newest, reversed(sys.modules))]:
        # What only the tool's own modules hold is let go, so that its open files are written out.
        module = sys.modules[name]
        if name == "__main__" or (getattr(module, "__file__", None) or "").startswith(tool):
            with contextlib.suppress(Exception):
                vars(module).clear()
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
