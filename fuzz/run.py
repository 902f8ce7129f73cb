"""`make fuzz`: every reader of untrusted input under atheris, one after the other, at low priority.

  make fuzz                                   every target for a minute
  make fuzz ARGS="--seconds 600 --target zip --target tar"
  make fuzz ARGS="--list"

What atheris finds is tried again without instrumentation; only what then still breaks a promise counts. Corpora grow
in build/fuzz/corpus and are used again. Exits 1 when there is a defect.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PLACE = ROOT / "build" / "fuzz"
PACKAGES = PLACE / "packages"
ONE = str(HERE / "one.py")
sys.path[:0] = [str(HERE), str(ROOT / "tests")]

# libFuzzer counts on the wall clock, and instrumented code is slower: what it calls slow is measured again.
FLAGS = ("-timeout=20", "-rss_limit_mb=768", "-max_len=65536", "-print_final_stats=1", "-verbosity=1")


def install() -> None:
    """Atheris into a folder of its own: the development environment stays as its lock says."""
    wanted = (ROOT / "requirements" / "fuzz.txt").read_text(encoding="utf-8")
    stamp = PACKAGES / ".installed"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    print("fuzz: installing atheris into build/fuzz/packages")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", str(PACKAGES)]
    done = subprocess.run([*command, "--requirement", str(ROOT / "requirements" / "fuzz.txt")])
    if done.returncode:
        sys.exit("fuzz: atheris cannot be installed here (it has wheels for CPython on Linux and macOS only)")
    stamp.write_text(wanted, encoding="utf-8")


def fuzz(name: str, seconds: int) -> list[str]:
    """Fuzz one target; the defects that were confirmed."""
    from fuzzing.target import broken_inputs
    from fuzzing.targets import all_targets

    corpus, found = PLACE / "corpus" / name, PLACE / "found" / name
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    for data in (*all_targets()[name].seeds(), *(path.read_bytes() for path in broken_inputs(name))):
        (corpus / sha256(data).hexdigest()[:16]).write_bytes(data)
    before = set(found.iterdir())
    command = [
        sys.executable,
        ONE,
        name,
        *FLAGS,
        f"-max_total_time={seconds}",
        f"-artifact_prefix={found}/",
        str(corpus),
    ]
    paths = os.pathsep.join((str(PACKAGES), os.environ.get("PYTHONPATH", "")))
    try:
        done = subprocess.run(
            ["nice", "-n", "15", *command], env={**os.environ, "PYTHONPATH": paths}, timeout=seconds + 240,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return [f"{name}: the fuzzer itself hangs"]
    said = done.stdout.decode("utf-8", "replace")
    tried = re.search(r"stat::number_of_executed_units:\s*(\d+)", said)
    print(f"{name:18} {tried[1] if tried else '?':>9} inputs, {len(list(corpus.iterdir()))} kept", flush=True)
    fresh = sorted(set(found.iterdir()) - before)
    if done.returncode and not fresh:
        return [f"{name}: the fuzzer ended with {done.returncode}\n{said[-2000:]}"]
    return [defect for path in fresh if (defect := confirmed(name, path))]


def confirmed(name: str, path: Path) -> str:
    """What is wrong with the input at `path`, tried in a fresh process; empty when only the fuzzer was slow."""
    try:
        done = subprocess.run([sys.executable, ONE, "--check", name, str(path)], capture_output=True, timeout=300)
    except subprocess.TimeoutExpired:
        reason = "it does not end"
    else:
        reason = (done.stdout + (b"" if done.returncode in {0, 1} else done.stderr)).decode("utf-8", "replace").strip()
        if not done.returncode:
            return ""
    kept = HERE / "broken" / name
    return f"{name}: {reason}\n  Once it is fixed: mkdir -p {kept} && cp {path} {kept}/"


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description="Fuzz the readers of untrusted input.")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    parser.add_argument("--target", action="append", help="only this one; may be repeated")
    parser.add_argument("--list", action="store_true", help="show the targets and stop")
    asked = parser.parse_args()
    from fuzzing.targets import all_targets

    targets = all_targets()
    if asked.list:
        print("\n".join(f"{name:18} {target.about}" for name, target in targets.items()))
        return 0
    if unknown := sorted(set(asked.target or ()) - set(targets)):
        parser.error(f"no such target: {', '.join(unknown)}; see --list")
    install()
    defects = [each for name in asked.target or targets for each in fuzz(name, asked.seconds)]
    for each in defects:
        print(f"\nDEFECT {each}")
    print(f"\n{len(defects)} defects")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
