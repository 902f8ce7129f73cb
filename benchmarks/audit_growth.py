"""How the time of an audit grows with adversarial text, for every pattern of the rules and for every engine.

Prints the exponent of growth (1 is linear, 2 quadratic) between two sizes a factor of four apart, worst first, from
the fastest of several runs in CPU time. Report only: a measurement under a millisecond says nothing and is left out.

    python benchmarks/audit_growth.py [--kilobytes 64] [--patterns | --engines]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from skillkeep.auditor.interface import AuditOptions
from skillkeep.auditor.rulebook import Example, Owner, default_rulebook
from skillkeep.auditor.worker import read_tree

FACTOR = 4
ROUNDS = 3
LEAST_SECONDS = 0.002
TEXT_OF_PATTERNS = 10  # times longer than that of engines: a pattern reads half a gigabyte a second
SHOWN = 12
WITHOUT_LIMITS = AuditOptions(
    bandit=False, semgrep=False, file_seconds=3600.0, total_seconds=36000.0, file_bytes=64 << 20
)
UNITS = {
    "a": "a", "blanks": " ", "tabs": "\t", "lines": "\n", "brackets": "[", "braces": "{", "parentheses": "(",
    "backticks": "`", "backtick lines": "```\n", "tilde lines": "~~~\n", "comments": "<!--", "tags": "<a a=",
    "quotes": "> ",
    "bullets": "- ", "numbers": "1. ", "bullet lines": "- a\n", "nested quotes": ">", "rules": "* ",
    "aliases": "a: &x *x\n",
    "front matter": "---\n", "keys": "a: b\n", "references": "[a]: b\n", "escapes": "\\x41", "percents": "%41",
    "base64": "QUJD", "zero width": "a\u200b",
    "double quotes": '"', "single quotes": "'", "substitutions": "$(",
    "heredocs": "<<A\n",
    "commands": "curl x | ", "pipes": "|", "addresses": "https://a.example.invalid/ ", "words": "never ignore all ",
    "calls": "f(", "additions": "'a'+", "arrows": "=>{", "templates": "`${", "bangs": "!`a", "scripts": "<script>",
    "comments of code": "# a\n", "continued": "\\\n", "indents": "    a\n", "setext": "a\n=\n", "emoji": "\U0001f600",
}  # fmt: skip
NAMES = (
    "SKILL.md",
    "a.py",
    "a.js",
    "a.ts",
    "a.sh",
    "a.ps1",
    "a.rb",
    "a.json",
    "a.yaml",
    "a.html",
    "a.txt",
    "package.json",
)


@dataclass(frozen=True)
class Growth:
    """What grew on which text: the exponent, and the seconds at the larger size."""

    what: str
    text: str
    exponent: float
    seconds: float


def fastest(work: Callable[[], object]) -> float:
    """CPU seconds of the fastest of several runs."""
    best = math.inf
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def exponent(small: float, large: float) -> float | None:
    """The power of the size that the time grew with, or None where there was too little to measure."""
    return math.log(large / small, FACTOR) if large >= LEAST_SECONDS and small > 0 else None


def repeated(unit: str, size: int) -> str:
    """`unit` over and over, `size` characters."""
    return (unit * (size // len(unit) + 1))[:size]


def near_misses(rule: Owner) -> Iterator[str]:
    """What the rule finds, with its end cut off: everything but the last step of a match."""
    for item in (*rule.bad, *rule.evasion)[:3]:
        text = item.text if isinstance(item, Example) else item
        yield text[: len(text) * 2 // 3].strip() + " "


def of_patterns(size: int) -> Iterator[Growth]:
    """Each pattern over near misses of its own rule and over plain repetitions."""
    compiled = default_rulebook().compiled
    done: set[int] = set()
    for owner, index in zip(compiled.owners, compiled.places, strict=True):
        if index in done:
            continue
        done.add(index)
        units = [*near_misses(owner), "a", " ", "curl a b ", "never "]
        worst: Growth | None = None
        for unit in units:
            texts = [repeated(unit, length).encode() for length in (size, size * FACTOR)]
            small, large = (
                fastest(lambda text=text, index=index: list(compiled.patterns.find(index, text, 25))) for text in texts
            )
            power = exponent(small, large)
            if power is not None and (worst is None or power > worst.exponent):
                name = getattr(owner, "id", "") or owner.reports
                worst = Growth(f"pattern {index} of {name}", unit[:24], power, large)
        if worst is not None:
            yield worst


def of_engines(size: int) -> Iterator[Growth]:
    """A whole audit of one file of one repeated unit, for each unit and each kind of file; the worst of each."""
    with tempfile.TemporaryDirectory() as folder:
        audit(Path(folder), "SKILL.md", "# A\n\nRun `ls`.\n")
        for title, unit in UNITS.items():
            grown = [
                Growth(name, title, power, large)
                for name in NAMES
                if (pair := timed(Path(folder), name, unit, size)) and (power := exponent(*pair)) is not None
                for large in (pair[1],)
            ]
            yield from sorted(grown, key=lambda each: -each.exponent)[:2]


def timed(folder: Path, name: str, unit: str, size: int) -> tuple[float, float]:
    """Seconds at both sizes."""
    small, large = (
        fastest(lambda length=length: audit(folder, name, repeated(unit, length))) for length in (size, size * FACTOR)
    )
    return small, large


def audit(folder: Path, name: str, text: str) -> None:
    """Audit one file in this process."""
    for old in folder.iterdir():
        old.unlink()
    (folder / name).write_text(text, encoding="utf-8")
    with contextlib.redirect_stderr(io.StringIO()):
        read_tree(folder, WITHOUT_LIMITS)


def show(title: str, grown: list[Growth]) -> None:
    """The worst of them."""
    worst = sorted(grown, key=lambda each: -each.exponent)
    top = worst[0].exponent if worst else 0.0
    print(f"{title}: {len(worst)} measured, worst growth exponent {top:.2f}")
    for each in worst[:SHOWN]:
        print(f"  {each.exponent:5.2f}  {each.seconds * 1000:8.1f} ms  {each.what:<44} {each.text!r}")


def main() -> None:
    """Measure and print both tables, or one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kilobytes", type=int, default=64, help="the smaller size; the larger is four times that")
    parser.add_argument("--patterns", action="store_true", help="only the patterns")
    parser.add_argument("--engines", action="store_true", help="only the engines")
    wanted = parser.parse_args()
    size = wanted.kilobytes * 1000
    if not wanted.engines:
        show("patterns", list(of_patterns(size * TEXT_OF_PATTERNS)))
    if not wanted.patterns:
        show("engines", list(of_engines(size)))


if __name__ == "__main__":
    main()
