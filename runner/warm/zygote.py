"""The program inside the sandbox of a warm interpreter; its text is handed to the sandbox's own python3.

It runs none of the tool's code. For each call it forks twice, ahead of time: the first child becomes pid 1 of new
namespaces and only waits, the second lays down every right for good, reads the tool's script, and is what one call
runs in. The zygote and pid 1 are out of a call's reach: of other pid namespaces or pid 1, closed to inspection, and no
descriptor leads to them. Standard library only. What it is told comes as JSON in its first argument:

``modules`` to import ahead, ``room`` and ``rights`` (tapes in base64, see `skillkeep.kernel.tape`), ``base`` (where
they lie in memory), ``end`` (the number of the call that ends a tape), ``script``, ``idle`` (seconds).
"""

import atexit
import base64
import contextlib
import ctypes
import gc
import importlib
import importlib.machinery
import json
import os
import select
import signal
import socket
import struct
import sys
import threading
import types

CONTROL = 4
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
    sys.path.pop(0)  # the working folder: nothing of the tool's may be taken for a library
    for name in told["modules"]:  # type: ignore[attr-defined]
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    known = set(sys.modules)
    images = [base64.b64decode(str(told[name])) for name in ("room", "rights")]
    memory = Memory(int(str(told["base"])), max(map(len, images)))
    gc.collect()
    gc.freeze()
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    control = socket.socket(fileno=CONTROL)
    while True:
        first, slot = make_slot(memory, images, told, own, known)
        if not serve_one(control, first, slot, float(str(told["idle"]))):
            os._exit(0)


def make_slot(
    memory: Memory, images: list[bytes], told: dict[str, object], own: int, known: set[str]
) -> tuple[int, socket.socket]:
    """Fork the next call ahead of time: the pid of its pid 1, and the socket that its request goes to."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for number, words in (("setns", (own, _NEW_PID)), ("unshare", (_NEW_PID,))):
        if _libc.syscall(ctypes.c_long(told[number]), *map(ctypes.c_long, words)):  # type: ignore[arg-type]
            raise OSError(ctypes.get_errno(), number)
    first = os.fork()
    if first == 0:
        try:
            ours.close()
            os.close(own)
            be_first(memory, images, told, theirs, known)
        finally:
            os._exit(1)
    theirs.close()
    return first, ours


def be_first(
    memory: Memory, images: list[bytes], told: dict[str, object], slot: socket.socket, known: set[str]
) -> None:
    """Pid 1: build the room, fork the call, and wait for it. Its end ends whatever the call left behind."""
    end, tape = int(str(told["end"])), 0
    try:
        memory.carry_out(images[0], end)
        call = os.fork()
        if call == 0:
            tape = 1
            memory.carry_out(images[1], end)
            be_call(str(told["script"]), slot, known)
    except TapeError as failure:
        slot.send(_REPORT.pack(FAILED, *failure.args, 0, 0, tape))
        os._exit(1)
    os.close(CONTROL)
    while True:
        pid, status, usage = os.wait4(-1, 0)
        if pid == call:
            break
    slot.send(_REPORT.pack(ENDED, status, 0, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024))
    os._exit(0)


def serve_one(control: socket.socket, first: int, slot: socket.socket, idle: float) -> bool:
    """Hand the next request to the waiting call, and its end to the caller; False when there is no next one."""
    poll = select.poll()
    poll.register(control, select.POLLIN)
    if not poll.poll(1000 * idle):
        return False
    data, fds, _, _ = socket.recv_fds(control, _MOST, 4)
    if not data:
        return False
    with contextlib.suppress(OSError):  # a call that failed before it was asked has said why
        socket.send_fds(slot, [data], fds)
    for fd in fds:
        os.close(fd)
    poll.register(slot, select.POLLIN)
    report = b""
    while not report:
        for fd, _ in poll.poll():
            if fd == control.fileno():  # the caller says stop, or has gone: all ends with pid 1
                if not control.recv(_MOST):
                    os._exit(0)
                os.kill(first, signal.SIGKILL)
            report = report or (slot.recv(_MOST) or _REPORT.pack(ENDED, signal.SIGKILL, 0, 0, 0, 0))
    slot.close()
    os.waitpid(first, 0)
    control.send(report)
    return True


def be_call(script: str, slot: socket.socket, known: set[str]) -> None:
    """One call: confined already, it reads the script, waits for the request and the word, and runs it."""
    loader = importlib.machinery.SourceFileLoader("__main__", os.path.join(os.getcwd(), script))
    code = None
    with contextlib.suppress(Exception):  # the run itself says what is wrong with the script
        code = loader.get_code("__main__")
    data, fds, _, _ = socket.recv_fds(slot, _MOST, 4)
    if not data:
        os._exit(0)
    words = json.loads(data)
    talk = socket.socket(fileno=fds[0])
    for number, fd in enumerate(fds[1:]):
        os.dup2(fd, number)
    talk.send(struct.pack("=Q", READY))
    if not talk.recv(8):
        os._exit(0)
    talk.detach()
    slot.detach()
    os.closerange(3, max(fds) + 64)
    tool = os.getcwd()
    status = run_script(loader, code, script, words)
    finish(known, tool)
    if status == INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status)


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
        exec(code or loader.get_code("__main__"), module.__dict__)  # noqa: S102  this is the sandbox
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


def finish(known: set[str], tool: str) -> None:
    """Do what the end of an interpreter does: threads, exit functions, open files, streams."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for name, module in tuple(sys.modules.items()):
        # What only the tool's own modules hold is let go, so that its open files are written out.
        if name == "__main__" or (name not in known and (getattr(module, "__file__", None) or "").startswith(tool)):
            with contextlib.suppress(Exception):
                vars(module).clear()
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
