"""`make test-vm`: the sandbox's tests on a kernel with cgroup v2 and systemd, in a virtual machine.

Boots Debian's own kernel under qemu-system-x86_64 (software emulation: no /dev/kvm is needed), runs the tests as root,
as a person who has logged in and as a job without a session, and prints the three summaries last. Exit 1 when a test
failed or a run did not end; 2 when the machine cannot be made here. The guest is cached in `~/.cache/skillkeep/vm`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTHONS = {"bookworm": "3.11", "trixie": "3.13"}
TESTS = "tests/kernel tests/runner"
_NOT_NEEDED = re.compile(r"^(semgrep|mypy|ruff|opentelemetry|openai|types-|librt|peewee|glom|ruamel)")
_PROGRAMS = {"qemu-system-x86_64": "qemu-system-x86", "mmdebstrap": "mmdebstrap", "mkfs.ext4": "e2fsprogs"}
_SUMMARY = re.compile(r"^(=+ )?\d+ (passed|failed|skipped|error).* in [\d.:]+s")


def main() -> int:
    """Parse the command line, make what is missing, boot, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", choices=PYTHONS, default="bookworm", help="Debian release of the guest")
    parser.add_argument("--who", nargs="+", choices=["root", "person", "job"], default=["root", "person", "job"])
    parser.add_argument("--tests", default=TESTS, help="arguments of pytest, divided at blanks")
    parser.add_argument("--minutes", type=float, default=90.0, help="for everything after the boot")
    parser.add_argument("--cpus", type=int, default=2, help="of the guest")
    parser.add_argument("--nice", type=int, default=19, help="of the machine, among this host's processes")
    parser.add_argument("--commit", help="test this commit, not the tree as it is")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    _install_missing()
    guest = _guest(options.suite)
    with tempfile.TemporaryDirectory(prefix="skillkeep-vm-") as name:
        work = Path(name)
        _make_input(work, options)
        lines = _boot(guest, work, options)
    return _report(lines, options.who)


def _install_missing() -> None:
    """Install the programs that are not here, as root; else say what to install."""
    missing = [package for program, package in _PROGRAMS.items() if shutil.which(program, path=_path()) is None]
    if not missing:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        _stop(f"install {' '.join(missing)} first, or run it once as root on Debian or Ubuntu")
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    _must(["apt-get", "update", "-qq"])
    _must(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing])


def _guest(suite: str) -> Path:
    """The folder with disk.img, vmlinuz and initrd; made when the recipe or the packages have changed."""
    needed = [
        line
        for line in (ROOT / "requirements/dev.txt").read_text().splitlines()
        if line and not _NOT_NEEDED.match(line)
    ]
    recipe = "\n".join([(HERE / "image.sh").read_text(), suite, *needed])
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "skillkeep" / "vm"
    made = cache / f"{suite}-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"
    if (made / "disk.img").exists():
        return made
    if os.geteuid() != 0:
        _stop("the guest has to be made first, which takes root: sudo make test-vm")
    print(f"making the guest ({suite}; two minutes or more, once)", flush=True)
    cache.mkdir(parents=True, exist_ok=True)
    for old in cache.glob(f"{suite}-*"):
        shutil.rmtree(old)
    with tempfile.TemporaryDirectory(prefix="skillkeep-vm-", dir=cache) as name:
        wheels, new = Path(name) / "wheels", Path(name) / "guest"
        (Path(name) / "needed.txt").write_text("\n".join(needed))
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        pip += ["--python-version", PYTHONS[suite], "--implementation", "cp", "--platform", "any"]
        pip += [word for tag in ("2014", "_2_17", "_2_28") for word in ("--platform", f"manylinux{tag}_x86_64")]
        _must([*pip, "--dest", str(wheels), "--requirement", f"{name}/needed.txt"])
        _must(["bash", str(HERE / "image.sh"), str(new), suite, str(wheels)])
        new.rename(made)
    return made


def _make_input(work: Path, options: argparse.Namespace) -> None:
    """A tar for the second disk: the repository, its wheel, the plan."""
    source = work / "src"
    source.mkdir()
    packed = work / "packed.tar"
    if options.commit:
        _must(["git", "-C", str(ROOT), "archive", "--output", str(packed), options.commit])
    else:
        (work / "names").write_bytes(_tracked())
        _must(
            ["tar", "-C", str(ROOT), "--null", "--verbatim-files-from", "-T", str(work / "names"), "-cf", str(packed)]
        )
    _must(["tar", "-C", str(source), "-xf", str(packed)])
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    _must([*pip, "--wheel-dir", str(work), str(source)])
    for folder in (source / "build", *source.glob("*.egg-info")):
        shutil.rmtree(folder, ignore_errors=True)
    seconds = int(options.minutes * 60 / len(options.who))
    words = {"WHO": " ".join(options.who), "TESTS": options.tests, "SECONDS_EACH": str(seconds)}
    (work / "plan").write_text("".join(f"{name}={shlex.quote(value)}\n" for name, value in words.items()))
    with tarfile.open(work / "input.tar", "w") as tar:
        for path in (source, work / "plan", *work.glob("*.whl"), HERE / "guest.sh"):
            tar.add(path, arcname=path.name, filter=_as_root)


def _tracked() -> bytes:
    """The files of the tree as it is now, each name ended by a zero; what is ignored or deleted is left out."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True).stdout.split(b"\0")
    return b"".join(name + b"\0" for name in names if name and os.path.lexists(os.fsencode(ROOT) + b"/" + name))


def _as_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def _boot(guest: Path, work: Path, options: argparse.Namespace) -> list[str]:
    """Boot, print what the guest says, and return it; the machine is gone afterwards, whatever happened."""
    console, said = work / "console.log", work / "said.log"
    said.touch()
    disk = "format=raw,if=virtio"
    command = ["nice", "-n", str(options.nice), "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max"]
    command += ["-smp", str(options.cpus), "-m", "3072", "-nic", "none", "-no-reboot"]
    command += ["-kernel", str(guest / "vmlinuz"), "-initrd", str(guest / "initrd")]
    command += [
        "-append",
        "root=/dev/vda ro console=ttyS0 quiet panic=-1 mitigations=off audit=0 systemd.show_status=0",
    ]
    command += ["-drive", f"file={guest / 'disk.img'},{disk},snapshot=on"]
    command += ["-drive", f"file={work / 'input.tar'},{disk},readonly=on"]
    command += ["-display", "none", "-monitor", "none", "-serial", f"file:{console}", "-serial", f"file:{said}"]
    deadline = time.monotonic() + options.minutes * 60 + 600
    lines = []
    with _running(command) as machine:
        for line in _followed(said, machine, deadline):
            print(line, flush=True)
            lines.append(line)
    if "== END" not in lines:
        print("-- the guest did not come to its end; its console:")
        print(console.read_text(errors="replace")[-4000:])
    return lines


@contextmanager
def _running(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    machine = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        yield machine
    finally:
        machine.kill()
        machine.wait()


def _followed(path: Path, machine: subprocess.Popen[bytes], deadline: float) -> Iterator[str]:
    """The whole lines of a file that grows, until the machine has ended or the time is over."""
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        rest = ""
        while True:
            ended = machine.poll() is not None or time.monotonic() > deadline
            rest += file.read()
            *whole, rest = rest.split("\n")
            yield from (line.rstrip("\r") for line in whole)
            if ended:
                return
            time.sleep(0.5)


def _report(lines: list[str], who: list[str]) -> int:
    """The summary of each run, last; 0 when all passed."""
    codes, summaries, summary = {}, {}, "no summary"
    for line in lines:
        if found := re.match(r"== RESULT (\w+) (\d+)$", line):
            codes[found[1]], summaries[found[1]] = int(found[2]), summary
            summary = "no summary"
        elif _SUMMARY.match(line):
            summary = line.strip("= ")
    print()
    for name in who:
        print(f"{name:7} {summaries.get(name, 'did not end')}")
    return int(any(codes.get(name) != 0 for name in who))


def _must(command: list[str]) -> None:
    """Run a step of the preparation; what it said is shown only when it failed."""
    environment = {**os.environ, "PATH": _path()}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=-1, stderr=subprocess.STDOUT, env=environment)
    if done.returncode:
        print(done.stdout.decode(errors="replace")[-4000:], file=sys.stderr)
        _stop(f"{' '.join(command[:3])} failed")


def _path() -> str:
    return os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"


def _stop(why: str) -> None:
    print(f"test-vm: {why}", file=sys.stderr)
    raise SystemExit(2)


if __name__ == "__main__":
    sys.exit(main())
