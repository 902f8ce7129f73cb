"""The program that carries out a tape, as an ELF file made here: no compiler is needed at install.

It reads the tape from descriptor 3 to `BASE` and goes from step to step. Listing (x86-64; rbx is the step; aarch64
does the same with x19, x8 and x0 to x5; the tests disassemble and run both):

    read(3, BASE, SIZE);  rbx = BASE + 32
    next:    rax = [rbx];  if rax < 0 goto compare
             rdi rsi rdx r10 r8 r9 = [rbx+8 ...], each replaced by what it points at when its bit of [rbx+64] is set
             syscall;  if [rbx+56]: [[rbx+56]] = rax
             if rax is an error and -rax != [rbx+72] and [rbx+72] != -1:
                 [BASE] = rbx;  [BASE+8] = -rax;  rbx = [BASE+16];  goto next
    advance: rbx += 80;  goto next
    compare: -1: goto [rbx+24] when the words at [rbx+8] and [rbx+16] are equal; -2: when they differ; else advance
"""

from __future__ import annotations

import fcntl
import os
import struct
from functools import cache

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.syscalls import machine
from skillkeep.kernel.tape import BASE, SIZE

__all__ = ["LAYER", "elf", "program_file"]

LAYER = "launcher"

_TEXT = 0x40_0000
_X86_64 = bytes.fromhex(
    "31c0bf03000000be00000010ba000040000f05bb20000010488b034885c00f8891000000488b7b08f64340017403488b3f48"
    "8b7310f64340027403488b36488b5318f64340047403488b124c8b5320f643400874034d8b124c8b4328f643401074034d8b"
    "004c8b4b30f643402074034d8b090f05488b4b384885c97403488901483d01f0ffff73064883c350eb8a48f7d8488b4b4848"
    "39c174ee4883f9ff74e8ba0000001048891a48894208488b5a10e963ffffff488b4b08488b53108b093b0a0f95c148ffc074"
    "0380f10184c975b8488b5b18e93fffffff"
)
_AARCH64 = bytes.fromhex(
    "600080d20100a2d20208a0d2e80780d2010000d41300a2d273820091680240f9e804f8b7692240f9608640a9628e41a96496"
    "42a949000036000040f949000836210040f949001036420040f949001836630040f949002036840040f949002836a50040f9"
    "010000d46a1e40f94a0000b4400100f9eb0300cb7f0500f183000054ecff81d27f010ceb6900005473420191e3ffff176c26"
    "40f99f010beb80ffff549f0500b140ffff540d00a2d2b30100f9ab0500f9b30940f9d9ffff1769aa40a9290140b94a0140b9"
    "3f010a6beb079f1a1f0500b1ec079f1a6b010c4a8bfdff35730e40f9ceffff17"
)
_CODE = {"x86_64": (62, _X86_64), "aarch64": (183, _AARCH64)}
"""ELF machine number and code."""
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_FILE_HEADER = struct.Struct("=16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("=IIQQQQQQ")
_ALIGN = 0x1_0000  # the largest page of either
_LOAD, _EXECUTE, _WRITE, _READ = 1, 1, 2, 4


def elf(arch: str) -> bytes:
    """The program for an architecture. Raises KernelError("launcher") for one that has none."""
    if arch not in _CODE:
        raise KernelError(LAYER, 0, f"no launcher for {arch}", "Use a container backend here.")
    number, code = _CODE[arch]
    start = _FILE_HEADER.size + 2 * _SEGMENT.size
    identity = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    sizes = (_FILE_HEADER.size, _SEGMENT.size, 2, 0, 0, 0)
    header = _FILE_HEADER.pack(identity, 2, number, 1, _TEXT + start, _FILE_HEADER.size, 0, 0, *sizes)
    whole = start + len(code)
    text = _SEGMENT.pack(_LOAD, _READ | _EXECUTE, 0, _TEXT, _TEXT, whole, whole, _ALIGN)
    memory = _SEGMENT.pack(_LOAD, _READ | _WRITE, 0, BASE, BASE, 0, SIZE, _ALIGN)
    return header + text + memory + code


@cache
def program_file() -> int:
    """The program for this machine in a sealed memory file, as a descriptor that lives as long as the process."""
    with guarded(LAYER, "write the launcher"):
        writable = os.memfd_create("skillkeep-tape", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.write(writable, elf(machine()))
            os.fchmod(writable, 0o500)
            fcntl.fcntl(writable, fcntl.F_ADD_SEALS, _SEALS)
            return os.open(f"/proc/self/fd/{writable}", os.O_RDONLY | os.O_CLOEXEC)
        finally:
            os.close(writable)
