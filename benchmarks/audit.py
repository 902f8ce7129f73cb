"""How fast the auditor reads, in MB/s a core and against `ast.parse` and hashing of the same files in the same run.

CPU time of this process, engines in process (no worker), without semgrep; bandit's cost is shown apart. Corpora are
made from this installation: the standard library for Python, Python's documentation strings as Markdown, JSON from
its tables, and scripts built from the rules' own examples. Report only; the bars are in docs (budgets of the design).

    python benchmarks/audit.py [--megabytes 2] [--json]
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import inspect
import io
import json
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from skillkeep.auditor.interface import AuditOptions
from skillkeep.auditor.rulebook import Example, default_rulebook
from skillkeep.auditor.worker import read_tree

ALL_TIME = 3600.0


@dataclass(frozen=True)
class Measured:
    """One corpus: its size, the speed of the audit, and ratios to its peers (higher is faster)."""

    corpus: str
    megabytes: float
    megabytes_a_second: float
    against_parse: float | None
    against_hashing: float
    bandit_seconds_a_megabyte: float | None
    slowest: tuple[tuple[str, float], ...]


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of `work`."""
    start = time.process_time()
    work()
    return time.process_time() - start


def python_texts() -> Iterator[str]:
    """Modules of the standard library."""
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        with contextlib.suppress(UnicodeDecodeError):
            yield path.read_text(encoding="utf-8")


def markdown_texts() -> Iterator[str]:
    """Docstrings of the standard library as Markdown pages with a fenced example each."""
    for text in python_texts():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        pages = [inspect.cleandoc(doc) for node in ast.walk(tree) if (doc := _docstring(node))]
        if pages:
            body = "\n\n".join(f"## Part\n\n{page}\n\n```python\nprint(1)\n```" for page in pages)
            yield f"# Module\n\n{body}\n"


def _docstring(node: ast.AST) -> str | None:
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return ast.get_docstring(node, clean=False) if isinstance(node, kinds) else None


def config_texts() -> Iterator[str]:
    """JSON documents of nested records."""
    for number in range(10_000):
        records = [{"id": n, "name": f"item {n}", "tags": ["a", "b"], "nested": {"on": True}} for n in range(200)]
        yield json.dumps({"number": number, "records": records}, indent=2)


def script_texts(suffix: str) -> Iterator[str]:
    """The good examples of the rules in one language, repeated: short, typical, harmless code."""
    examples = [item for rule in default_rulebook().rules.values() for item in rule.good]
    bodies = [item.text for item in examples if isinstance(item, Example) and item.file.endswith(suffix)]
    while bodies:
        yield "\n".join(bodies * 20)


def corpus(root: Path, texts: Iterator[str], suffix: str, megabytes: float) -> int:
    """Write files of `texts` until they hold `megabytes`; the bytes written."""
    size = 0
    for number, text in enumerate(texts):
        data = text.encode()
        (root / f"file{number}{suffix}").write_bytes(data)
        size += len(data)
        if size >= megabytes * 1e6:
            break
    return size


def audit(root: Path, *, bandit: bool) -> list[tuple[str, float]]:
    """Audit the corpus in this process; seconds by engine."""
    options = AuditOptions(bandit=bandit, semgrep=False, total_seconds=ALL_TIME, file_seconds=ALL_TIME)
    with contextlib.redirect_stderr(io.StringIO()):
        answer = read_tree(root, options)
    return sorted(((run["name"], run["seconds"]) for run in answer["engines"]), key=lambda pair: -pair[1])


def parse_all(root: Path) -> None:
    """The peer: `ast.parse` of every file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in root.iterdir():
            ast.parse(path.read_bytes())


def hash_all(root: Path) -> None:
    """The other peer: reading and hashing."""
    for path in root.iterdir():
        hashlib.sha256(path.read_bytes()).digest()


def measure(name: str, texts: Iterator[str], suffix: str, megabytes: float) -> Measured:
    """One corpus, warmed up once so that loading the rules does not count."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        size = corpus(root, texts, suffix, megabytes) / 1e6
        engines: list[tuple[str, float]] = []
        seconds = cpu(lambda: engines.extend(audit(root, bandit=False)))
        python = suffix == ".py"
        parse = cpu(lambda: parse_all(root)) if python else None
        hashing = cpu(lambda: hash_all(root))
        bandit = dict(audit(root, bandit=True))["bandit"] / size if python else None
    return Measured(
        corpus=name,
        megabytes=round(size, 2),
        megabytes_a_second=round(size / seconds, 2),
        against_parse=round(parse / seconds, 2) if parse is not None else None,
        against_hashing=round(hashing / seconds, 4),
        bandit_seconds_a_megabyte=round(bandit, 2) if bandit is not None else None,
        slowest=tuple((engine, round(spent, 3)) for engine, spent in engines[:3]),
    )


def main() -> None:
    """Measure every corpus and print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=2.0, help="size of each corpus")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:  # loads rules, tables and engines
        corpus(Path(folder), script_texts(".py"), ".py", 0.01)
        audit(Path(folder), bandit=True)
    results = [
        measure("Markdown", markdown_texts(), ".md", chosen.megabytes),
        measure("config", config_texts(), ".json", chosen.megabytes),
        measure("Python", python_texts(), ".py", chosen.megabytes),
        measure("JavaScript", script_texts(".js"), ".js", chosen.megabytes / 4),
        measure("shell", script_texts(".sh"), ".sh", chosen.megabytes / 4),
    ]
    if chosen.json:
        print(json.dumps([asdict(item) for item in results]))
        return
    print(
        f"{'corpus':<11} {'MB':>6} {'MB/s':>7} {'x ast.parse':>12} {'x sha256':>9} {'bandit s/MB':>12}  slowest engines"
    )
    for item in results:
        parse = "" if item.against_parse is None else f"{item.against_parse:.2f}"
        bandit = "" if item.bandit_seconds_a_megabyte is None else f"{item.bandit_seconds_a_megabyte:.2f}"
        slowest = ", ".join(f"{engine} {spent:.2f} s" for engine, spent in item.slowest)
        print(
            f"{item.corpus:<11} {item.megabytes:>6.2f} {item.megabytes_a_second:>7.2f} {parse:>12} "
            f"{item.against_hashing:>9.4f} {bandit:>12}  {slowest}"
        )


if __name__ == "__main__":
    main()
