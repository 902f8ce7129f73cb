"""One target in one process. `one.py NAME -flag=value … CORPUS` fuzzes it by atheris; `one.py --check NAME FILE` tries
one input without instrumentation, and exits 1 with the reason when a promise is broken, 0 when all hold.

Limits of one input of at most 64 KiB: 5 s of CPU, 512 MiB of memory, no exception that the reader does not document.
"""

from __future__ import annotations

import resource
import sys
import traceback
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

SECONDS = 5.0
MEMORY = 512 << 20


def check(name: str, path: Path) -> str:
    """Why the input at `path` is a defect of the target, or an empty text."""
    from fuzzing.targets import all_targets

    target = all_targets()[name]
    data = path.read_bytes()
    for seed in list(target.seeds())[:3]:  # rules and tables are loaded once, and not on the input's account
        target.check(seed)
    before = resource.getrusage(resource.RUSAGE_SELF)
    try:
        target.check(data)
    except BaseException:
        return traceback.format_exc(limit=-8)
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if spent > SECONDS:
        return f"it took {spent:.1f} s of CPU for {len(data)} bytes"
    if after.ru_maxrss * 1024 > MEMORY:
        return f"it took {after.ru_maxrss >> 10} MiB"
    return ""


def fuzz(name: str, flags: list[str]) -> None:
    """Fuzz until libFuzzer's limits are reached. Does not return."""
    import atheris  # type: ignore[import-not-found,unused-ignore]  # not part of the development environment

    with atheris.instrument_imports(include=["skillkeep"]):
        from fuzzing.mutate import mutated, reshaped
        from fuzzing.targets import all_targets

        target = all_targets()[name]  # its modules are imported here, inside, or nothing is instrumented

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        chance = Random(seed)
        if target.grammar == "python" and chance.random() < 0.6:
            return reshaped(data, chance)[:most]
        return mutated(data, chance)[:most] if chance.random() < 0.4 else atheris.Mutate(data, most)

    atheris.Setup([sys.argv[0], *flags], target.check, custom_mutator=mutate)
    atheris.Fuzz()


def main() -> int:
    """See the module."""
    if sys.argv[1] == "--check":
        reason = check(sys.argv[2], Path(sys.argv[3]))
        print(reason, end="")
        return 1 if reason else 0
    fuzz(sys.argv[1], sys.argv[2:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
