"""Broken and mutated code: no engine raises, and none loops, whatever the rules' own examples are cut into."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from skillkeep.auditor.collect import Collector
from skillkeep.auditor.engines import (
    decoders,
    javascript_syntax,
    powershell_syntax,
    python_ast,
    ruby_syntax,
    shell_commands,
)
from skillkeep.auditor.engines.interface import Context, Engine, Segment, SourceFile
from skillkeep.auditor.rulebook import Example, default_rulebook

ENGINES: tuple[tuple[str, Context, Engine], ...] = (
    (".py", Context.PYTHON, python_ast.ENGINE),
    (".js", Context.JAVASCRIPT, javascript_syntax.ENGINE),
    (".ts", Context.TYPESCRIPT, javascript_syntax.ENGINE),
    (".sh", Context.SHELL, shell_commands.ENGINE),
    (".ps1", Context.POWERSHELL, powershell_syntax.ENGINE),
    (".rb", Context.RUBY, ruby_syntax.ENGINE),
)
NOISE = "()[]{}'\"`$\\;|&<>#=.,:\n\t\0é\u202e*?!~"


def examples(suffix: str) -> list[str]:
    rules = default_rulebook().rules.values()
    items = [item for rule in rules for kind in (rule.bad, rule.good, rule.evasion) for item in kind]
    return [item.text for item in items if isinstance(item, Example) and item.file.endswith(suffix)]


def mutated(pool: list[str], chance: random.Random) -> str:
    text = "".join(chance.sample(pool, chance.randint(1, min(4, len(pool)))))
    for _ in range(chance.randint(1, 6)):
        at, other = sorted((chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)))
        text = chance.choice(
            [
                text[:at] + chance.choice(NOISE) * chance.choice([1, 1, 2, 50]) + text[at:],
                text[:at] + text[at + chance.randint(1, 5) :],
                text[:at] + text[at:other] + text[at:],
            ]
        )
    return text


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    def ring(_signal: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def judge(text: str, context: Context, engine: Engine) -> None:
    file = SourceFile("x", text.encode("utf-8", "replace"), text, False, (Segment("x", context, text),))
    for each in (engine, decoders.ENGINE):
        each.scan_file(file, Collector(default_rulebook()).bound(each.name))


@pytest.mark.parametrize(("suffix", "context", "engine"), ENGINES, ids=[suffix for suffix, _, _ in ENGINES])
def test_mutated_examples_are_survived(suffix: str, context: Context, engine: Engine) -> None:
    pool, chance = examples(suffix), random.Random(suffix)
    for _ in range(250):
        text = mutated(pool, chance)
        try:
            with at_most(20):
                judge(text, context, engine)
        except Exception as error:
            raise AssertionError(f"{engine.name} failed on {text!r}") from error


def test_a_stray_bracket_among_arguments_does_not_loop() -> None:
    """Found by mutation: the end of an argument was its own beginning."""
    with at_most(20):
        judge("eval(String.fromCharCode(97, }}}} 116));\n", Context.JAVASCRIPT, javascript_syntax.ENGINE)
