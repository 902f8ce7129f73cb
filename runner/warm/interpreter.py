"""One warm interpreter: a sandbox of its own for one tool, policy and script, and the zygote in it.

It lives as long as the process that made it, at most: the sandbox ends with a pipe that this process holds, however it
ends. Calls go one after another. Each is measured from outside before it touches anything of the tool.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shutil
import socket
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.procfs import started_at
from skillkeep.kernel.syscalls import number
from skillkeep.kernel.tape import Program
from skillkeep.runner.environments.door import Door
from skillkeep.runner.environments.enter import spawn
from skillkeep.runner.environments.outcome import Ended, result_of_ended
from skillkeep.runner.environments.place import Place, Record
from skillkeep.runner.environments.prepare import Command, look_around, prepare_entrance, shape_of
from skillkeep.runner.environments.relay import Kept, relay
from skillkeep.runner.environments.standing import Standing
from skillkeep.runner.environments.start import build
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import RunRequest, RunResult
from skillkeep.runner.native import messages
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.feed import Feeder
from skillkeep.runner.native.identity import DEFAULT_ID_BASE
from skillkeep.runner.native.layout import ETC_MADE
from skillkeep.runner.native.messages import Kind
from skillkeep.runner.native.place import server_folder
from skillkeep.runner.native.plan import POLICY_FILE, POLICY_VARIABLE, make_plan
from skillkeep.runner.warm import forks
from skillkeep.runner.warm.ending import Peak
from skillkeep.runner.warm.keeper import Keeper
from skillkeep.runner.warm.shown import Shown
from skillkeep.runner.warm.slot import REPORT, Slot
from skillkeep.runner.warm.source import modules, source
from skillkeep.runner.warm.tapes import make_rights, make_room, make_zygote_entrance

__all__ = ["WarmInterpreter", "sweep"]

_ENDED = 2
_STOPPED = REPORT.pack(_ENDED, 9, 0, 0.0, 0.0, 0)
"""What is said of a call whose pid 1 was killed on our word."""
_NO_HOME = "/dev/null"
"""The zygote's own: a home may hold code that an interpreter runs when it starts."""
_REMOVE_SECONDS = 2.0
_SLOTS = 1 << 22
_NAME = re.compile(r"warm-(\d+)-(\d+)-\w+\Z")


class WarmInterpreter:
    """Ready when it is made. `script` is the tool's script as argv names it, relative to the tool's folder.

    Raises RunnerError, KernelError, LayerError, OSError when it cannot be made; then nothing of it is left.
    """

    def __init__(self, request: RunRequest, script: str, idle_seconds: float) -> None:
        self._script = script
        self._control: socket.socket | None = None
        self._zygote = -1
        self._door: Door | None = None
        self._pipes: list[int] = []
        self._complaints = -1
        self._present: Slot | None = None
        self._keeper: Keeper | None = None
        self._peak = Peak()
        self._shown: Shown | None = None
        self._died = False
        self._forked = False
        self._plan = make_plan(request, DEFAULT_ID_BASE)
        self._bare = dict(make_plan(_without_variables(request), DEFAULT_ID_BASE).env)
        made = tempfile.mkdtemp(prefix=f"warm-{os.getpid()}-{started_at(os.getpid())}-", dir=server_folder())
        self._folder = Path(os.path.realpath(made))
        self._alive = self._held = -1
        forks.watch(self)
        try:
            with forks.changing:
                self._alive, self._held = os.pipe2(os.O_CLOEXEC)
            self._standing = self._build(request)
            self._shown = Shown(_shown_of(request), self._plan.binds, self._standing.holder)
            self._start(request, idle_seconds)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End it, and remove what it left; in a process that forked off, nothing."""
        if self._forked:
            return
        self._end_sandbox()
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._door is not None:
            self._door.close()
            self._door = None
        self._peak.close()
        if self._shown is not None:
            self._shown.close()
            self._shown = None
        self._close_pipes()
        if self._alive >= 0:
            os.close(self._alive)
            self._alive = -1
        if self._zygote >= 0:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._zygote, 0)
            self._zygote = -1
        _remove(self._folder)

    def let_go(self) -> None:
        """In a process that forked off: close its copies of what holds the sandbox, which is its parent's."""
        if self._forked:
            return
        self._forked = True
        self._end_sandbox()
        self._close_pipes()
        if self._keeper is not None:
            self._keeper.let_go()
            self._keeper = None
        if self._present is not None:
            self._present.let_go()
        if self._control is not None:
            self._control.close()

    def _close_pipes(self) -> None:
        while self._pipes:
            os.close(self._pipes.pop())

    def _end_sandbox(self) -> None:
        """All in it end."""
        with forks.changing:
            if self._held >= 0:
                fd, self._held = self._held, -1
                os.close(fd)

    @property
    def is_over(self) -> bool:
        """Whether no call comes from it any more."""
        return self._died or self._keeper is None or self._keeper.is_over

    @property
    def bounded(self) -> bool:
        """Whether control groups bound it, as they bound an ordinary run where there are any."""
        return self._standing.bounded_by.keys() >= {"memory", "pids", "cpu"}

    def run(self, request: RunRequest) -> RunResult:
        """One call of the script with the arguments and the input of `request`; the limits of its policy hold.

        Raises LayerError, KernelError, OSError, ValueError when nothing of the tool ran, RunnerError (`sandbox_died`)
        when it may have.
        """
        out, err = Kept(request.policy.output_bytes), Kept(request.policy.output_bytes)
        words = _words(request)
        keeper = self._served
        self._present = slot = keeper.next()
        try:
            assurance = slot.measured(self._standing)
            assert self._shown is not None
            self._shown.check(_shown_of(request))
            kills = self._memory_kills()
            self._peak.begin()
            slot.talk.send(words)
            try:
                ended = self._follow(slot, request, out, err)
            except (KernelError, LayerError, OSError, ValueError) as error:
                hint = "What it did until then stands; the next call is an ordinary run."
                message = f"The warm interpreter failed while a call ran: {error}"
                raise RunnerError("sandbox_died", message, hint) from error
        except RunnerError:
            self._died = True  # its keeper may not have seen it yet
            raise
        finally:
            keeper.give_back(slot)
        if ended.killed:
            ended = replace(ended, starved=self._memory_kills() > kills)
        tool = None if request.tool is None else request.tool.digest
        return result_of_ended(ended, out, err, assurance, request.policy.digest, request.run_id, tool)

    def _follow(self, slot: Slot, request: RunRequest, out: Kept, err: Kept) -> Ended:
        """The end of the call that has just got its words."""
        started = time.monotonic()
        feeder = Feeder(b"" if request.stdin is None else request.stdin, slot.take_feed())
        try:
            stopped = relay(self, [(slot.out, out), (slot.err, err)], feeder, request.policy.wall_seconds)
        finally:
            feeder.close()
        wall = time.monotonic() - started
        status, user, system, memory = self._how_it_ended(slot, stopped)
        return Ended(
            status=status,
            stopped=stopped,
            wall_seconds=wall,
            user_seconds=user,
            system_seconds=system,
            peak_memory=memory,
            memory_limit=request.policy.memory_bytes,
        )

    def _memory_kills(self) -> int:
        return 0 if self._door is None else self._door.memory_kills()

    def _how_it_ended(self, slot: Slot, stopped: str) -> tuple[int, float, float, int]:
        """Wait status, seconds of the user's and the system's CPU, bytes of memory at the most."""
        if slot.seen is not None and (peak := self._peak.end()) is not None:
            return slot.seen.status, slot.seen.user, slot.seen.system, peak
        report = slot.report.recv(REPORT.size) or (_STOPPED if stopped else b"")
        if len(report) != REPORT.size:
            hint = "Run it again; if it happens twice, please report it."
            raise RunnerError("sandbox_died", "The warm interpreter ended while a call ran.", hint)
        _, status, _, user, system, memory = REPORT.unpack(report)
        return status, user, system, memory

    def is_seen_over(self) -> bool:
        """Whether the present call has ended, which pid 1 will tell some time later."""
        assert self._present is not None
        return self._peak.counts and self._present.look_at_end()

    @property
    def pidfd(self) -> int:
        """Readable when the present call has ended."""
        assert self._present is not None
        return self._present.report.fileno()

    def kill(self) -> None:
        """End the present call."""
        assert self._present is not None
        try:
            self._socket.send(b"kill %d" % self._present.number)
        except OSError:  # the zygote has gone
            self._end_sandbox()

    @property
    def _served(self) -> Keeper:
        if self._keeper is None:
            raise LayerError("zygote", "the warm interpreter was closed")
        return self._keeper

    @property
    def _socket(self) -> socket.socket:
        assert self._control is not None
        return self._control

    def _build(self, request: RunRequest) -> Standing:
        assert request.tool is not None
        place = Place(self._folder)
        place.home.mkdir(0o700)
        place.passwd.write_text(ETC_MADE["passwd"], encoding="ascii")
        os.chmod(place.passwd, 0o644)
        slot = int.from_bytes(os.urandom(4)) % _SLOTS
        build(
            place,
            Record("sandbox", str(request.tool.path), slot, 0.0),
            self._plan.without_command(),
            self._alive,
        )
        os.close(self._alive)
        self._alive = -1
        standing = place.standing()
        if standing is None:
            raise LayerError("setup", "the sandbox ended as soon as it stood")
        return standing

    def _start(self, request: RunRequest, idle_seconds: float) -> None:
        """Let the zygote in, with pipes for streams, as its calls will have."""
        standing = self._standing
        self._door = Door(standing, look_around(standing))
        self._peak.open(standing.bounded_by.get("memory"))
        told = json.dumps(self._told(request))
        own = {**self._bare, "HOME": _NO_HOME}
        command = Command(("python3", "-c", source(), told), tuple(own.items()), "/")
        program, image = prepare_entrance(command, standing, self._door.ground, make_zygote_entrance)
        self._complaints, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._pipes += [self._complaints, write_end]

        def begin() -> socket.socket:
            self._enter(program, image, write_end)
            return self._socket

        self._keeper = Keeper(begin, standing, self._steps, self._complaints, idle_seconds)

    def _enter(self, program: Program, image: bytes, words: int) -> None:
        """Start the zygote, which writes to `words`, and let it go when it is inside."""
        assert self._door is not None
        silent, unheard = os.pipe2(os.O_CLOEXEC)
        try:
            self._control, launcher = spawn(image, self._door, (silent, words, words))
        finally:
            os.close(silent)
            os.close(unheard)
        self._expect_ready(program, launcher)
        messages.tell(self._socket, messages.GO)

    def _expect_ready(self, program: Program, launcher: int) -> None:
        try:
            message = messages.receive(self._socket, program.steps)
            if message is None or message.kind is not Kind.READY:
                raise LayerError("zygote", "the warm interpreter ended early")
            self._zygote = message.pid
        finally:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(launcher, 0)

    def _told(self, request: RunRequest) -> dict[str, object]:
        assert request.tool is not None
        assert self._door is not None
        workdir = self._plan.workdir
        shape = shape_of(Command(("python3",), tuple(self._bare.items()), workdir), self._standing, self._door.ground)
        room, rights = make_room(shape), make_rights(shape, workdir)
        self._steps = (room.steps, rights.steps)
        return {
            "modules": modules(request.tool.path / self._script),
            "room": base64.b64encode(room.image).decode(),
            "rights": base64.b64encode(rights.image).decode(),
            "base": room.base,
            "end": number("exit_group"),
            "setns": number("setns"),
            "unshare": number("unshare"),
            "script": self._script,
            "home": self._bare["HOME"],
        }


def _words(request: RunRequest) -> bytes:
    """What the zygote's `be_call` is told: the variables that are granted, then the arguments. Raises ValueError."""
    granted = {**dict(request.policy.env), POLICY_VARIABLE: POLICY_FILE} if request.policy.env else {}
    pairs = [text for pair in granted.items() for text in pair]
    return os.fsencode("\0".join([str(len(granted)), *pairs, *request.argv[2:]]))


def _shown_of(request: RunRequest) -> object:
    """What decides which paths of the host a run is shown."""
    return request.tool and request.tool.path, request.policy.binds


def _without_variables(request: RunRequest) -> RunRequest:
    return replace(request, policy=replace(request.policy, env=()))


def sweep() -> None:
    """Remove what the interpreters of processes that were killed left."""
    folder = Path(server_folder())
    for name in os.listdir(folder):
        match = _NAME.match(name)
        if match and started_at(int(match[1])) != int(match[2]):
            _remove(folder / name)


def _remove(folder: Path) -> None:
    """Remove a folder and the control groups that its sandbox was in, whose last process may be ending just now."""
    standing = Place(folder).last_standing()
    deadline = time.monotonic() + _REMOVE_SECONDS
    left = [] if standing is None else [part.path for part in standing.groups]
    while left and time.monotonic() < deadline:
        for path in tuple(left):
            with contextlib.suppress(OSError):
                os.rmdir(path)
            if not os.path.exists(path):
                left.remove(path)
        if left:
            time.sleep(0.002)
    shutil.rmtree(folder, ignore_errors=True)
