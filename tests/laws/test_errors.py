"""Errors: one tree, every code declared once and used, every one with a hint."""

from __future__ import annotations

import ast
import importlib
import pickle
import re

import pytest
from support.sources import Source, imports_of, product_sources

from skillkeep.errors import Exit, SkillkeepError, all_codes


def every_code() -> dict[str, tuple[type[SkillkeepError], object]]:
    for source in product_sources():
        if source.path.name == "errors.py":
            importlib.import_module(source.module)
    return dict(all_codes())


def raised(source: Source) -> list[tuple[str, ast.Call]]:
    """Calls that build an error with a literal code, `SomethingError("code", …)`; a class may have its own form."""
    classes = {cls.__name__ for cls, _ in every_code().values() if cls.__init__ is SkillkeepError.__init__}
    return [
        (str(node.args[0].value), node)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in classes
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ]


def test_codes_are_unique_and_spelt_alike() -> None:
    codes = every_code()
    assert [name for name in codes if not re.fullmatch(r"[a-z][a-z0-9_]*[a-z0-9]", name)] == []
    assert len(codes) >= 15


def test_an_error_without_a_hint_or_with_an_unknown_code_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="hint"):
        SkillkeepError("io_error", "a message", "")
    with pytest.raises(ValueError, match="does not declare"):
        SkillkeepError("no_such_code", "a message", "a hint")


def test_every_raised_code_is_declared_by_the_class_that_carries_it() -> None:
    codes = every_code()
    wrong = [
        f"{source.relative}:{node.lineno}: {code}"
        for source in product_sources()
        for code, node in raised(source)
        if code not in codes or not isinstance(node.func, ast.Name) or codes[code][0].__name__ != node.func.id
    ]
    assert wrong == []


def test_every_error_is_raised_with_a_message_and_a_hint() -> None:
    wrong = [
        f"{source.relative}:{node.lineno}"
        for source in product_sources()
        for _, node in raised(source)
        if len(node.args) + sum(keyword.arg in {"message", "hint"} for keyword in node.keywords) < 3
        and not any(isinstance(argument, ast.Starred) for argument in node.args)
    ]
    assert wrong == []


def test_every_declared_code_is_used_somewhere() -> None:
    used = set()
    for source in product_sources():
        nodes = list(ast.walk(source.tree))
        keys = {id(key) for node in nodes if isinstance(node, ast.Dict) for key in node.keys}
        used |= {node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in keys}
    assert sorted(set(every_code()) - used) == []


def test_an_error_crosses_a_process_border_whole() -> None:
    before = SkillkeepError("io_error", "a message", "a hint", path="/x")
    after = pickle.loads(pickle.dumps(before))
    assert after.to_json() == before.to_json()
    assert after.exit_code is Exit.TOOL_FAILURE


def test_an_exception_outside_the_tree_stays_in_its_own_folder() -> None:
    """Only `SkillkeepError` crosses a border; what a folder raises and catches within itself nobody else may name."""
    inside: dict[str, str] = {}
    for source in product_sources():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and node.name != "SkillkeepError":
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                if bases & {"Exception", "BaseException", "RuntimeError", "ValueError", "OSError"}:
                    inside[f"{source.module}.{node.name}"] = source.folder
    crossing = [
        f"{source.relative}: {found.name}"
        for source in product_sources()
        for found in imports_of(source)
        if inside.get(found.name, source.folder) != source.folder
    ]
    assert crossing == []
