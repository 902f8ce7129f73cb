"""The request: our instructions, and the tool's files as numbered data between lines that carry a random nonce.

The nonce occurs nowhere in the data, so no file can close its own delimiter or open another one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from skillkeep.auditor.rubric.interface import Prompt
from skillkeep.auditor.rubric.reply import reply_schema
from skillkeep.auditor.rubric.selection import Shown, estimated_tokens
from skillkeep.auditor.rubric.text import Rubric

__all__ = ["build_prompt", "instructions", "overhead", "shown_path"]

_CLOSING = 400


def shown_path(path: str) -> str:
    """A path as the prompt writes it: one line of ASCII, unambiguous."""
    return json.dumps(path)[1:-1]


def instructions(rubric: Rubric) -> str:
    """The system message without the nonce: the rubric and its categories."""
    listed = "\n".join(f"  - {each.name}: {each.ask}" for each in rubric.categories)
    return f"{rubric.system.rstrip()}\n{listed}\n  - other: anything else worth a look; a warning at most\n"


def overhead(rubric: Rubric) -> int:
    """Estimated tokens of everything but the files."""
    return estimated_tokens(instructions(rubric)) + _CLOSING


def build_prompt(files: Sequence[Shown], left_out: int, rubric: Rubric, make_nonce: Callable[[], str]) -> Prompt:
    """One prompt over `files`; `left_out` files are not shown, which the reviewer is told."""
    parts = ["\n".join(_numbered(each)) for each in files]
    names = [shown_path(each.path) for each in files]
    nonce = make_nonce()
    while any(nonce in text for text in (*parts, *names)):
        nonce = make_nonce()
    blocks = [_block(each, body, nonce) for each, body in zip(files, parts, strict=True)]
    closing = f"{nonce}: end of the untrusted data, {len(files)} files shown, {left_out} not shown.\n"
    system = f"{instructions(rubric)}\nThe nonce of this request is {nonce}.\n"
    user = "\n".join([*blocks, closing, 'Reply with the one JSON object {"findings": [...]} now.'])
    return Prompt(system, user, reply_schema(rubric))


def _numbered(shown: Shown) -> list[str]:
    return [f"{number:>5}| {line}" for number, line in enumerate(shown.lines, 1)]


def _block(shown: Shown, body: str, nonce: str) -> str:
    extent = f"lines=1-{len(shown.lines)} of {shown.total}"
    head = f'<<<{nonce} FILE path="{shown_path(shown.path)}" sha256={shown.sha256} {extent}'
    return f"{head}\n{body}\n{nonce} END>>>\n"
