"""The shape a newcomer meets: small modules, a job in the first line of each package, all packages shipped."""

from __future__ import annotations

import ast
import tomllib

from support.sources import ROOT, helper_sources, product_sources

LONGEST_MODULE = 400


def test_no_module_is_longer_than_four_hundred_lines() -> None:
    everything = (*product_sources(), *helper_sources("benchmarks", "scripts", "demo", "fuzz"))
    long = {s.relative: n for s in everything if (n := len(s.path.read_bytes().splitlines())) > LONGEST_MODULE}
    assert long == {}


def test_every_package_says_its_job_in_one_line() -> None:
    silent = [
        source.relative
        for source in product_sources()
        if source.is_package and not (ast.get_docstring(source.tree) or "").partition("\n")[0].endswith(".")
    ]
    assert silent == []


def test_every_module_has_a_docstring() -> None:
    assert [source.relative for source in product_sources() if not ast.get_docstring(source.tree)] == []


def test_every_folder_of_modules_is_a_declared_package() -> None:
    folders = {source.path.parent for source in product_sources()}
    assert [str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").is_file()] == []
    declared = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    assert declared == {source.module for source in product_sources() if source.is_package}


def test_the_rules_folder_holds_data_and_no_logic() -> None:
    logic = [
        f"{source.relative}:{node.lineno}"
        for source in product_sources()
        if source.folder == "rules"
        for node in source.tree.body
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    assert logic == []


def test_a_module_that_lists_its_public_names_has_them() -> None:
    missing = []
    for source in product_sources():
        assigned = {
            target.id: node.value
            for node in source.tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        listed = assigned.get("__all__")
        if isinstance(listed, ast.List | ast.Tuple):
            names = {node.value for node in listed.elts if isinstance(node, ast.Constant)}
            missing += [f"{source.relative}: {name}" for name in names - _bound(source.tree) - {"__version__"}]
    assert missing == []


def _bound(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names |= {alias.asname or alias.name for alias in node.names}
    return names
