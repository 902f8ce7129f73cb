"""Our own source files, parsed once: what the laws read. Nothing here imports the code it looks at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("skillkeep", "rules", "auditor", "vault", "ingest", "runner", "dispatch")


@dataclass(frozen=True)
class Import:
    """One imported module name, absolute and dotted (`from a.b import c` gives `a.b` and `a.b.c`)."""

    name: str
    line: int
    inside_function: bool
    typing_only: bool


@dataclass(frozen=True)
class Source:
    """One Python file: where it is, what it is imported as, and its syntax tree."""

    path: Path
    module: str
    folder: str
    tree: ast.Module

    @property
    def relative(self) -> str:
        """The path below the repository, POSIX form."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def is_package(self) -> bool:
        """Whether the file is a package's `__init__.py`."""
        return self.path.name == "__init__.py"

    @property
    def in_cli_layer(self) -> bool:
        """Whether the file is part of a CLI layer: `cli.py`, or anything below a `cli` folder."""
        return self.path.name == "cli.py" or "cli" in self.path.relative_to(ROOT).parts[:-1]


def read_source(path: Path) -> Source:
    """Parse one file of ours."""
    relative = path.relative_to(ROOT)
    parts = list(relative.with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    folder = relative.parts[0]
    if folder in FOLDERS and folder != "skillkeep":
        parts.insert(0, "skillkeep")
    return Source(path, ".".join(parts), folder, ast.parse(path.read_text(encoding="utf-8"), str(path)))


@cache
def product_sources() -> tuple[Source, ...]:
    """Every Python file of the product's folders, sorted by path."""
    return tuple(read_source(path) for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))


@cache
def helper_sources(*folders: str) -> tuple[Source, ...]:
    """Every Python file below the named folders of the repository (`tests`, `benchmarks`, `scripts`, `demo`)."""
    return tuple(read_source(path) for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))


@cache
def imports_of(source: Source) -> tuple[Import, ...]:
    """Every import statement of a file, relative ones made absolute."""
    return tuple(_walk_imports(source, source.tree, inside_function=False, typing_only=False))


def _walk_imports(source: Source, node: ast.AST, *, inside_function: bool, typing_only: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, child.lineno, inside_function, typing_only)
        elif isinstance(child, ast.ImportFrom):
            base = _absolute(source, child)
            yield Import(base, child.lineno, inside_function, typing_only)
            for alias in child.names:
                yield Import(f"{base}.{alias.name}", child.lineno, inside_function, typing_only)
        else:
            yield from _walk_imports(
                source,
                child,
                inside_function=inside_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef),
                typing_only=typing_only or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)),
            )


def _absolute(source: Source, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = source.module.split(".") if source.is_package else source.module.split(".")[:-1]
    base = package[: len(package) - (node.level - 1)]
    return ".".join([*base, node.module] if node.module else base)


def our_folder(module: str) -> str | None:
    """The folder that a dotted name of ours lives in, or None when it is not ours."""
    parts = module.split(".")
    if parts[0] != "skillkeep":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in FOLDERS else "skillkeep"


def dotted(node: ast.expr) -> str:
    """`a.b.c` for a chain of names and attributes, with `?` for what is neither."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return "?"


@cache
def calls(source: Source) -> tuple[tuple[str, ast.Call], ...]:
    """Every call of a file with the dotted name it calls."""
    return tuple((dotted(node.func), node) for node in ast.walk(source.tree) if isinstance(node, ast.Call))
