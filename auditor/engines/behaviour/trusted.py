"""Rights over a cloud account for somebody outside: a role that trusts a number, a member, an assignment.

What Terraform puts together of variables with their own defaults, `format` and `join` is put together here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.interface import Context, Segment, SourceTree
from skillkeep.auditor.interface import Location

__all__ = ["Trusted", "trusted"]

Trusted = tuple[Location, str, str]  # where, that line, and who gets which rights

_FILES: Final = compiled(r"(?i)\.(?:tf|tf\.json|hcl|tofu|ya?ml|json|template|py|[cm]?[jt]s|sh|go|bicep)$")
_HCL: Final = compiled(r"(?i)\.(?:tf|hcl|tofu)$")
_WORDS: Final = ("arn:aws", "roles/owner", "roles/editor", "azurerm_role_assignment", "_iam_")
_DEFAULT: Final = compiled(
    r"\bvariable[ \t]+\"(?P<name>\w+)\"[ \t]*\{(?P<body>(?:[^{}]|\{[^{}]*\}){0,2000}?\bdefault[ \t]*=[ \t]*"
    r"(?:\"(?P<text>[^\"\n]*)\"|(?:tomap\()?\{(?P<map>[^{}]*)\}))"
)
_LOCALS: Final = compiled(r"\blocals[ \t]*\{(?P<body>(?:[^{}]|\{[^{}]*\})*)\}")
_SET: Final = compiled(r"^[ \t]*\"?(?P<name>\w+)\"?[ \t]*=(?P<value>[^\n]+)$", re.MULTILINE)
_USE: Final = compiled(
    r"\$\{[ \t]*(?P<inner>(?:var|local)(?:\.\w+)+)[ \t]*\}|(?<![\w.\"])(?P<bare>(?:var|local)(?:\.\w+)+)"
)
_GIVEN: Final = r"(?P<given>(?:\s{0,40},?\s{0,40}\"[^\"\n]*\"){1,40})\s{0,40}"
_FORMAT: Final = compiled(rf"\bformat\(\s{{0,40}}\"(?P<form>[^\"\n]*)\"{_GIVEN}\)")
_JOIN: Final = compiled(rf"\bjoin\(\s{{0,40}}\"(?P<form>[^\"\n]*)\"\s{{0,40}},\s{{0,40}}\[?{_GIVEN}\]?\)")
_TEXT: Final = compiled(r"\"([^\"\n]*)\"")
_ACCOUNT: Final = compiled(
    r"\barn:aws[\w-]*:iam::(?P<who>\d{12}):|\bAWS[\"']?[ \t]*[:=][ \t]*\[?[ \t]*[\"'](?P<bare>\d{12})[\"']"
)
_MIGHTY: Final = compiled(
    r"(?:AdministratorAccess|PowerUserAccess|IAMFullAccess)\b"
    r"|\bActions?[\"']?[ \t]*[:=][ \t]*\[?[ \t]*[\"'](?:\*|iam:\*|\*:\*)[\"']"
)
_ASSUMES: Final = compiled(r"\bAssumeRole\w*\b|\bassume_role_policy\b|\bassumeRolePolicy\w*\b|\bassume-role-policy\b")
_MEMBER: Final = compiled(
    r"\brole[\"']?[ \t]*[:=][ \t]*[\"']roles/(?:owner|editor|iam\.securityAdmin|resourcemanager\.\w+Admin)[\"']"
    r"[^{}]{0,300}?[\"'](?:user|serviceAccount|group):(?P<who>[\w.+-]+@[\w.-]+)[\"']"
)
_ASSIGNED: Final = compiled(
    r"\brole_definition_name[ \t]*=[ \t]*\"(?:Owner|Contributor|User Access Administrator)\"[^{}]{0,300}?"
    r"\bprincipal_id[ \t]*=[ \t]*\"(?P<who>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\""
)
_SAMPLES: Final = frozenset({"123456789012", "111122223333", "444455556666", "111111111111", "222222222222"})
_ROUNDS: Final = 4
_LONGEST: Final = 200_000
_LONGEST_VALUE: Final = 300
_MOST: Final = 200


def trusted(tree: SourceTree, documents: Documents) -> Iterator[Trusted]:
    """Everybody outside whom a file gives all rights and no document names."""
    files = [file for file in tree.files if _FILES.search(file.known_as) and file.text and len(file.text) <= _LONGEST]
    plans = [file for file in files if _HCL.search(file.known_as)]
    values: Mapping[str, str] | None = None
    for file in islice(files, _MOST):
        text = file.text or ""
        if not any(word in text for word in _WORDS):
            continue
        if file in plans:
            values = _values("\n".join(plan.text or "" for plan in plans)) if values is None else values
            text = _put_together(text, values)
        whole = Segment(file.path, Context.TEXT, text, anchor=file.place)
        for who, start, what in _given(text):
            if who not in _SAMPLES and not documents.silent and not documents.holds(who):
                at = whole.locate(start, start + 1)
                line = text[text.rfind("\n", 0, start) + 1 :].partition("\n")[0]
                yield at, line.strip()[:200], f"{what} for {who}, whom no document names"
                break


def _given(text: str) -> Iterator[tuple[str, int, str]]:
    for pattern in (_MEMBER, _ASSIGNED):
        for found in pattern.finditer(text):
            yield found["who"], found.start("who"), "the rights of an owner"
    mighty = _MIGHTY.search(text)
    if mighty and _ASSUMES.search(text):
        for found in _ACCOUNT.finditer(text):
            group = "who" if found["who"] else "bare"
            yield found[group], found.start(group), f"a role with {mighty[0][:40]}"


def _values(text: str) -> dict[str, str]:
    """What variables have by default, and what locals are given, as they are spelled."""
    values: dict[str, str] = {}
    for found in islice(_DEFAULT.finditer(text), _MOST):
        if found["text"] is not None:
            values.setdefault(f"var.{found['name']}", f'"{found["text"]}"')
        for item in _SET.finditer(found["map"] or ""):
            values.setdefault(f"var.{found['name']}.{item['name']}", item["value"].strip(" \t,"))
    for found in islice(_LOCALS.finditer(text), _MOST):
        for item in _SET.finditer(found["body"]):
            values.setdefault(f"local.{item['name']}", item["value"].strip(" \t,"))
    return values


def _put_together(text: str, values: Mapping[str, str]) -> str:
    """`text` with these values in it; no line more or less."""
    for _ in range(_ROUNDS):
        told = _USE.sub(lambda found: _value(found, values), text)
        told = _FORMAT.sub(_formatted, told)
        told = _JOIN.sub(lambda found: f'"{found["form"].join(_TEXT.findall(found["given"]))}"', told)
        if told == text or len(told) > 2 * _LONGEST:
            break
        text = told
    return text


def _value(found: re.Match[str], values: Mapping[str, str]) -> str:
    value = values.get(found["inner"] or found["bare"])
    if value is None or len(value) > _LONGEST_VALUE:
        return found[0]
    if found["inner"] is None:
        return value
    return value[1:-1] if _TEXT.fullmatch(value) else found[0]


def _formatted(found: re.Match[str]) -> str:
    given = iter(_TEXT.findall(found["given"]))
    return '"' + re.sub(r"%[sdv]", lambda mark: next(given, mark[0]), found["form"]) + '"'
