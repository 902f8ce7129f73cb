"""A tape does what its steps say, on both architectures, and a failed step is named and is the last."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.syscalls import machine
from skillkeep.kernel.tape import BASE, FAILURE, SIZE, Label, Program, Tape, Word, strings
from skillkeep.kernel.tape_image import elf, program_file

ARCHITECTURES = ("x86_64", "aarch64")


@dataclass(frozen=True)
class Ended:
    """How the program ended, and what it wrote to its standard output."""

    code: int
    output: bytes


def run(program: Program, arch: str, image: bytes | None = None, folder: Path | None = None) -> Ended:
    """Carry out a tape by the program for `arch`, emulated where this machine is another one."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        binary, tape = Path(place, "program"), Path(place, "tape")
        binary.write_bytes(elf(arch))
        binary.chmod(0o500)
        tape.write_bytes(program.image if image is None else image)
        emulator = [] if arch == machine() else [_emulator(arch)]
        words = ["sh", "-c", 'exec 3<"$1"; shift; exec "$@"', "sh", str(tape), *emulator, str(binary)]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=240)
        return Ended(done.returncode, done.stdout)


def _emulator(arch: str) -> str:
    found = shutil.which(f"qemu-{arch}-static") or shutil.which(f"qemu-{arch}")
    if found is None:
        pytest.skip(f"no qemu-user for {arch} here (apt-get install qemu-user-static)")
    return found


def tape_for(arch: str) -> tuple[Tape, Label]:
    return Tape(arch), Label()


def finish(tape: Tape, failed: Label) -> Program:
    """End with 0; a failed step writes its report and ends with 1."""
    tape.call("end", "exit_group", 0)
    tape.mark(failed)
    tape.call("end", "write", 1, BASE, FAILURE.size)
    tape.call("end", "exit_group", 1)
    return tape.finish(failed)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_steps_are_carried_out_in_order_with_their_results_kept(arch: str, tmp_path: Path) -> None:
    tape, failed = tape_for(arch)
    fd = tape.cell()
    path = str(tmp_path / "made").encode()
    tape.call("files", "openat", -100, path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600, into=fd)
    tape.call("files", "write", Word(fd), b"one ", 4)
    tape.call("files", "pwrite64", Word(fd), b"two", 3, 4)
    tape.call("files", "close", Word(fd))
    tape.call("files", "write", 1, b"done", 4)
    assert run(finish(tape, failed), arch) == Ended(0, b"done")
    assert (tmp_path / "made").read_bytes() == b"one two"


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_the_first_failed_step_is_reported_and_is_the_last(arch: str) -> None:
    tape, failed = tape_for(arch)
    tape.call("first", "getpid")
    tape.call("second", "openat", -100, b"/no/such/file", os.O_RDONLY, 0)
    tape.call("third", "write", 1, b"never", 5)
    program = finish(tape, failed)
    ended = run(program, arch)
    address, number = FAILURE.unpack(ended.output)
    assert ended.code == 1
    assert (program.steps[address].layer, number) == ("second", errno.ENOENT)
    assert program.steps[address].detail == "openat /no/such/file"


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_only_the_tolerated_error_is_gone_over(arch: str) -> None:
    for tolerate, code in ((errno.EBADF, 0), (-1, 0), (errno.EPERM, 1), (0, 1)):
        tape, failed = tape_for(arch)
        tape.call("close", "close", 999, tolerate=tolerate)
        assert run(finish(tape, failed), arch).code == code, tolerate


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("equal", [True, False])
def test_a_jump_is_taken_by_what_the_cells_hold(arch: str, equal: bool) -> None:
    tape, failed = tape_for(arch)
    one, same, other = tape.cell(7), tape.cell(7 + (1 << 32)), tape.cell(8)
    over, under = Label(), Label()
    tape.jump_if_equal(one, same if equal else other, over)
    tape.call("x", "write", 1, b"A", 1)
    tape.mark(over)
    tape.jump_unless_equal(one, same if equal else other, under)
    tape.call("x", "write", 1, b"B", 1)
    tape.mark(under)
    assert run(finish(tape, failed), arch).output == (b"B" if equal else b"A")


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_what_must_be_equal_and_is_not_fails_as_its_layer(arch: str) -> None:
    tape, failed = tape_for(arch)
    tape.require_equal("good", "they are", tape.cell(3), tape.cell(3))
    tape.require_equal("bad", "they differ", tape.cell(3), tape.cell(4))
    program = finish(tape, failed)
    address, _ = FAILURE.unpack(run(program, arch).output)
    assert (program.steps[address].layer, program.steps[address].detail) == ("bad", "they differ")


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_named_cells_and_the_tail_belong_to_one_run(arch: str) -> None:
    tape, failed = tape_for(arch)
    text, size = tape.cell(name="text"), tape.cell(name="size")
    tape.call("x", "write", 1, Word(text), Word(size))
    program = finish(tape, failed)
    for words in (b"first", b"another one"):
        image = program.patched({"text": program.tail, "size": len(words)}, words)
        assert run(program, arch, image).output == words
    assert program.image == program.patched({})


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_pointer_in_the_data_leads_to_its_target(arch: str) -> None:
    tape, failed = tape_for(arch)
    vector = tape.space(bytes(16))
    tape.point(vector, tape.data(b"through an iovec"))
    tape.point(vector.plus(8), 16)
    tape.call("x", "writev", 1, vector, 1)
    assert run(finish(tape, failed), arch).output == b"through an iovec"


def test_a_program_can_be_started_with_arguments_and_environment() -> None:
    tape, failed = tape_for(machine())
    tape.call("x", "execve", b"/bin/sh", Word(tape.cell(name="argv")), Word(tape.cell(name="env")))
    program = finish(tape, failed)
    argv = strings([b"sh", b"-c", b'printf %s "$A$1"', b"sh", b"\xff two"], program.tail)
    env = strings([b"A=one "], program.tail + len(argv))
    image = program.patched({"argv": program.tail, "env": program.tail + len(argv)}, argv + env)
    assert run(program, machine(), image).output == b"one \xff two"


def test_what_does_not_fit_is_refused() -> None:
    tape, failed = tape_for(machine())
    program = finish(tape, failed)
    with pytest.raises(ValueError, match="room for"):
        program.patched({}, bytes(SIZE))


def test_an_unknown_call_or_machine_is_a_clear_error() -> None:
    with pytest.raises(KernelError, match="no_such_call"):
        Tape().call("x", "no_such_call")
    with pytest.raises(KernelError, match="no launcher for riscv64"):
        elf("riscv64")


def test_the_program_file_cannot_be_changed() -> None:
    with pytest.raises(PermissionError), open(f"/proc/self/fd/{program_file()}", "r+b") as file:
        file.write(b"x")
