"""One open environment: runs commands in it, and makes it stand again when its holder has ended."""

from __future__ import annotations

import contextlib
import math
import os
import select
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from skillkeep.kernel.errors import KernelError
from skillkeep.runner.environments.door import Door
from skillkeep.runner.environments.enter import Entered, Inside, Used
from skillkeep.runner.environments.errors import EnvironmentsError
from skillkeep.runner.environments.outcome import Ended, result_of_ended
from skillkeep.runner.environments.place import Lock, Place
from skillkeep.runner.environments.prepare import Command, look_around
from skillkeep.runner.environments.relay import Kept, Sink, relay
from skillkeep.runner.environments.standing import Standing, is_alive
from skillkeep.runner.environments.waiting import Waiters
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import PATH, RunResult
from skillkeep.runner.native.failures import LayerError, StartError
from skillkeep.runner.native.feed import Feeder
from skillkeep.runner.native.plan import POLICY_FILE, POLICY_VARIABLE
from skillkeep.runner.native.streams import Pipe

__all__ = ["Environment", "How"]

_LONGEST_SECONDS = 1e8


@dataclass(frozen=True)
class How:
    """How one command differs from the next.

    `fresh`: pid, ipc and mount namespaces of its own and an empty /tmp, all of which end with it. `stdin` is the
    whole input, a descriptor or None. `env` is added to the environment's own PATH, HOME, USER, TMPDIR and LANG.
    `workdir` None is the project. `seconds` None is no limit.
    """

    fresh: bool = False
    stdin: bytes | int | None = None
    env: tuple[tuple[str, str], ...] = ()
    workdir: str | None = None
    seconds: float | None = None
    output_bytes: int = 1_000_000

    def __post_init__(self) -> None:
        """Raises `RunnerError` (`bad_policy`) for a time limit that is none."""
        if self.seconds is not None and not (math.isfinite(self.seconds) and self.seconds > 0):
            hint = "Give a number of seconds above zero, or none for no limit."
            raise RunnerError("bad_policy", "the time limit must be a positive number", hint)


class Environment:
    """An environment that this process has open, and which nobody removes meanwhile. Made by `Environments.open`.

    `presence` is the environment's lock, shared; it is taken over. `rebuild` makes it stand anew, for when its holder
    was killed. Threads may share one.
    """

    def __init__(self, place: Place, standing: Standing, presence: Lock, rebuild: Callable[[], Standing]) -> None:
        record = place.record()
        assert record is not None  # nobody removes it while `presence` is held
        self.place, self.record = place, record
        self._rebuild, self._lock = rebuild, presence
        self._changing = threading.Lock()
        self._door: Door | None = None
        try:
            self._door = Door(standing, look_around(standing))
            self._waiters = Waiters(self._door, place.waiting_lock)
        except KernelError as error:
            self._lock.close()
            raise _layer_failed(error) from error

    @property
    def standing(self) -> Standing:
        """Where it runs."""
        with self._open_door() as door:
            return door.standing

    def close(self) -> None:
        """Leave it; it stays for the next one."""
        with self._changing:
            if self._door is not None:
                self._waiters.close()
                self._door.close()
                self._door = None
        self._lock.note_use()
        self._lock.close()

    def __enter__(self) -> Environment:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, argv: Sequence[str], how: How = How()) -> RunResult:
        """Run a command to its end, with everything that holds a one-shot run around it.

        Raises RunnerError as `Backend.run` does, EnvironmentsError (`environment_ended`) when it ended under way.
        """
        out, err = Kept(how.output_bytes), Kept(how.output_bytes)
        with Pipe() as feed, Pipe() as one, Pipe() as two:
            streams = (feed.read_end, one.write_end, two.write_end)
            started = time.monotonic()
            command = self.command(argv, how)
            entered = self.enter(command, streams)
            for pipe, end in ((feed, feed.read_end), (one, one.write_end), (two, two.write_end)):
                pipe.close(end)
            feeder = Feeder(b"" if how.stdin is None else how.stdin, feed.give(feed.write_end))
            stopped = self.serve(entered, [(one.read_end, out), (two.read_end, err)], feeder, how.seconds)
            result = self.outcome(entered, stopped, started, (out, err))
            self._waiters.note(command)
            return result

    def command(self, argv: Sequence[str], how: How, terminal: bool = False) -> Command:
        """The command `argv` with the environment variables it gets. Raises RunnerError (`bad_policy`)."""
        words = [*argv, *(word for pair in how.env for word in pair)]
        if not argv or not argv[0] or any("\0" in word for word in words):
            raise RunnerError("bad_policy", "there is no command, or it holds a NUL byte", "Give a program to run.")
        name = self.record.name
        own = {
            "PATH": PATH, "HOME": f"/home/{name}", "USER": name, "LOGNAME": name, "TMPDIR": "/tmp",  # noqa: S108
            "LANG": "C.UTF-8",
        }  # fmt: skip
        env = tuple({**own, **dict(how.env), POLICY_VARIABLE: POLICY_FILE}.items())
        return Command(tuple(argv), env, how.workdir or self.record.project, how.fresh, terminal)

    def enter(self, command: Command, streams: Sequence[int]) -> Inside:
        """Start a command with these streams; in an environment built anew when it has ended. Raises RunnerError."""
        try:
            with self._open_door() as door:
                try:
                    return self._waiters.enter(command, streams) or Entered(door, command, streams)
                except (KernelError, LayerError):
                    if is_alive(door.standing):
                        raise
            with self._open_door(looked=True) as door:
                return Entered(door, command, streams)
        except (KernelError, LayerError) as error:
            raise _layer_failed(error) from error

    def serve(self, entered: Inside, outputs: Sequence[tuple[int, Sink]], feeder: Feeder, seconds: float | None) -> str:
        """`relay` of this environment, in which nothing goes on when its holder has ended; closes `feeder`."""
        try:
            return relay(entered, outputs, feeder, seconds or _LONGEST_SECONDS, entered.holder)
        except BaseException:
            entered.kill()
            self.finish(entered)
            raise
        finally:
            feeder.close()

    def finish(self, entered: Inside) -> tuple[int | None, Used]:
        """Wait for its end: wait status (None: killed before it could say) and usage in seconds and bytes.

        Raises RunnerError: `program_not_found`, `program_not_runnable`, `sandbox_died` when waited for elsewhere.
        """
        try:
            status, used = entered.end()
        except KernelError as error:
            raise _layer_failed(error) from error
        except StartError as error:
            raise _not_started(error) from error
        except ChildProcessError as error:
            hint = "Let it wait for its own children by pid, or start commands from a process of their own."
            raise RunnerError("sandbox_died", "This program took the command's status itself.", hint) from error
        self._lock.note_use()
        return status, used

    def outcome(
        self, entered: Inside, stopped: str, started: float, kept: tuple[Kept, Kept] | None = None
    ) -> RunResult:
        """Wait for its end and say how it ended; `stopped` is `relay`'s, `started` in monotonic seconds.

        Raises as `finish`, and EnvironmentsError (`environment_ended`).
        """
        standing = entered.standing
        status, used = self.finish(entered)
        ended = Ended(
            status=status,
            stopped=stopped,
            wall_seconds=time.monotonic() - started,
            user_seconds=used.user,
            system_seconds=used.system,
            peak_memory=used.memory,
            memory_limit=standing.plan.memory_bytes,
        )
        if ended.killed:
            if not is_alive(standing):
                raise self._ended()
            ended = replace(ended, starved=entered.starved)
        return result_of_ended(ended, *(kept or (Kept(0), Kept(0))), entered.assurance)

    @contextlib.contextmanager
    def _open_door(self, *, looked: bool = False) -> Iterator[Door]:
        """The door, to a holder that lives at this moment; one that is just ending shows only when `looked` at.

        Another thread that leaves the environment meanwhile does not close it here.
        """
        with self._changing:
            if self._door is None:
                raise EnvironmentsError("environment_ended", "the environment was closed", "Open it again.")
            if _is_over(self._door.holder) or (looked and not is_alive(self._door.standing)):
                standing = self._rebuild()
                door = Door(standing, look_around(standing))
                self._waiters.close()
                self._door.close()
                self._door = door
                self._waiters = Waiters(self._door, self.place.waiting_lock)
            door = self._door
            door.enter()
        try:
            yield door
        finally:
            door.leave()

    def _ended(self) -> EnvironmentsError:
        return EnvironmentsError(
            "environment_ended",
            f"the environment {self.record.name} ended: its holder was killed",
            "Run the command again: the environment is then built anew, its home is kept.",
        )


def _is_over(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


def _layer_failed(error: KernelError | LayerError) -> RunnerError:
    layer = error.layer
    detail = error.what if isinstance(error, KernelError) else error.detail
    hint = error.hint or "Run `runner doctor` to see which layers work here."
    message = f"The sandbox layer {layer} failed: {detail}"
    return RunnerError("sandbox_layer_failed", message, hint, layer=layer, backend="native")


def _not_started(error: StartError) -> RunnerError:
    if error.number in (2, 20):  # ENOENT, ENOTDIR
        hint = "Check the name; inside only the project, the environment's home and /usr exist."
        return RunnerError("program_not_found", f"There is no program {error.program!r} in the environment.", hint)
    hint = "Check its mode, its first line (#!) and its architecture."
    return RunnerError(
        "program_not_runnable", f"{error.program!r} cannot be executed: {os.strerror(error.number)}.", hint
    )
