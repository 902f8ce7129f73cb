"""Imports point one way, and a third-party package has one door each."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections import defaultdict

import pytest
from support.sources import FOLDERS, ROOT, Source, helper_sources, imports_of, our_folder, product_sources

MAY_IMPORT = {
    "skillkeep": {"skillkeep"},
    "rules": set(),
    "auditor": {"auditor", "skillkeep", "rules"},
    "vault": {"vault", "skillkeep"},
    "runner": {"runner", "vault", "skillkeep"},
    "ingest": {"ingest", "auditor", "vault", "skillkeep"},
    "dispatch": set(FOLDERS),
}
# Packages that have a place instead of one module: typer and rich belong to CLI layers, pydantic to boundaries.
PLACED = {"typer", "rich", "pydantic"}
# A job named by text is imported all the same: `run_confined("skillkeep.ingest.worker:fetch", …)`.
JOB_NAME = re.compile(r"^skillkeep(\.\w+)+(:\w+)?$")


def third_party(name: str) -> str | None:
    top = name.split(".")[0]
    return None if top == "skillkeep" or top in sys.stdlib_module_names else top


def named_modules(source: Source) -> list[str]:
    """Modules of ours that a file names in text, as a confined job or a lazy import does."""
    if source.relative == "skillkeep/confined.py":  # names the folders a worker may read, imports none
        return []
    texts = [node.value for node in ast.walk(source.tree) if isinstance(node, ast.Constant)]
    return [text.split(":")[0] for text in texts if isinstance(text, str) and JOB_NAME.match(text)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_imports_only_the_floors_below_it(folder: str) -> None:
    wrong = [
        f"{source.relative}: {name}"
        for source in product_sources()
        if source.folder == folder
        for name in [*(found.name for found in imports_of(source)), *named_modules(source)]
        if (target := our_folder(name)) and target not in MAY_IMPORT[folder]
    ]
    assert wrong == []


def test_nothing_imports_a_folder_of_ours_as_a_top_level_module() -> None:
    generic = set(FOLDERS) - {"skillkeep"}
    everything = (*product_sources(), *helper_sources("tests", "benchmarks", "scripts", "demo"))
    wrong = [
        f"{source.relative}:{found.line}: {found.name}"
        for source in everything
        for found in imports_of(source)
        if found.name.split(".")[0] in generic
    ]
    assert wrong == []


def test_the_ground_floor_needs_only_the_standard_library() -> None:
    wrong = [
        f"{source.relative}:{found.line}: {found.name}"
        for source in product_sources()
        if source.folder == "skillkeep"
        for found in imports_of(source)
        if (package := third_party(found.name)) and package not in ({"typer", "rich"} if source.in_cli_layer else set())
    ]
    assert wrong == []


def test_typer_and_rich_stay_in_command_line_layers() -> None:
    wrong = [
        f"{source.relative}:{found.line}: {found.name}"
        for source in product_sources()
        if not source.in_cli_layer
        for found in imports_of(source)
        if third_party(found.name) in {"typer", "rich"}
    ]
    assert wrong == []


def test_each_third_party_package_is_imported_by_one_module() -> None:
    importers: dict[str, set[str]] = defaultdict(set)
    for source in product_sources():
        for found in imports_of(source):
            package = third_party(found.name)
            if package and package not in PLACED:
                importers[package].add(source.relative)
    assert {package: sorted(files) for package, files in importers.items() if len(files) > 1} == {}


def test_third_party_packages_are_imported_at_use_and_not_at_start() -> None:
    wrong = [
        f"{source.relative}:{found.line}: {found.name}"
        for source in product_sources()
        for found in imports_of(source)
        if (package := third_party(found.name))
        and package not in PLACED
        and not found.inside_function
        and not found.typing_only
    ]
    assert wrong == []


def test_every_imported_package_is_a_declared_dependency() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["dependencies"] + [d for extra in project["optional-dependencies"].values() for d in extra]
    names = {re.split(r"[\s\[<>=!~;]", text)[0].lower() for text in declared}
    distribution = {"git": "gitpython", "yaml": "pyyaml", "markdown_it": "markdown-it-py", "re2": "google-re2"}
    used = {third_party(found.name) for source in product_sources() for found in imports_of(source)} - {None}
    assert {
        package for package in used if distribution.get(str(package), str(package).replace("_", "-")) not in names
    } == set()


def test_what_programs_beside_the_product_name_of_ours_is_there() -> None:
    """Benchmarks and scripts run seldom, and no type checker reads them."""
    wrong = []
    for source in helper_sources("benchmarks", "scripts", "demo", "fuzz"):
        modules: dict[str, str] = {}
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "skillkeep":
                modules |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        members = [
            f"{modules[node.value.id]}.{node.attr}"
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules
        ]
        wrong += [f"{source.relative}: {name}" for name in (*modules.values(), *members) if not _is_there(name)]
    assert wrong == []


def _is_there(name: str) -> bool:
    """Whether that dotted name is a module, or leads to something in one; of what is no module nothing is asked."""
    owner, _, last = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ImportError:
        try:
            return hasattr(importlib.import_module(owner), last)
        except ImportError:
            return True  # a member of a class or value
    return True
