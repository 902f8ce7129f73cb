"""The dependency engine: every package a tool declares, installs or runs, and what is odd about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import ClassVar, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.dependencies import other_files, python_files
from skillkeep.auditor.engines.dependencies.advisories import advice_on
from skillkeep.auditor.engines.dependencies.commands import commands, told
from skillkeep.auditor.engines.dependencies.locks import LOCKS, Taken, taken
from skillkeep.auditor.engines.dependencies.lookalike import imitated
from skillkeep.auditor.engines.dependencies.model import Ecosystem, Named, normal
from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile, SourceTree
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Location, Severity

__all__ = ["ENGINE", "DependencyEngine"]

_REQUIREMENTS: Final = compiled(
    r"(?:^|/)(?:[\w.-]*requirements?[\w.-]*|constraints[\w.-]*)\.(?:txt|in|pip)$|(?:^|/)requirements/[^/]+\.txt$"
)
_FILES: Final[dict[str, Callable[[str], Iterator[Named]]]] = {
    "pyproject.toml": python_files.pyproject,
    "setup.cfg": python_files.setup_cfg,
    "setup.py": python_files.setup_py,
    "pipfile": python_files.pipfile,
    "package.json": other_files.package_json,
    "gemfile": other_files.gemfile,
    "go.mod": other_files.go_mod,
    "cargo.toml": other_files.cargo_toml,
}
_COMMIT: Final = compiled(r"[@#][0-9a-f]{40}\b|[@#=]v?\d+(?:\.\d+)+$|/archive/[0-9a-f]{40}\.|/releases/download/")
_MOST: Final = 1_000
_IMPORTING: Final = (Context.PYTHON, Context.JAVASCRIPT, Context.TYPESCRIPT)
_LATEST: Final = frozenset({"latest", "next", "*", "x", ""})

Found = tuple[Named, Segment]


class DependencyEngine(Engine):
    """See the module."""

    name: ClassVar[str] = "dependencies"
    order: ClassVar[int] = 40

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge the packages that one file names."""
        for count, (package, segment) in enumerate(_packages(file)):
            if count >= _MOST:
                emit.incomplete(file.path, f"more than {_MOST} packages, the rest was not looked up")
                return
            _judge(package, segment, emit)
        if file.whole and file.text is not None and file.known_as.rpartition("/")[2].lower() in LOCKS:
            _lock(file, emit)

    def scan_tree(self, tree: SourceTree, emit: Emitter) -> None:
        """Whose place look-alikes take, and what the user's advisories say of every package, when there are any."""
        _in_place_of_another(tree, emit)
        _swapped(tree, emit)
        if not tree.options.advisories:
            return
        named = [found for file in tree.files for found in _packages(file)]
        segments = {id(package): segment for package, segment in named}
        try:
            advised = list(advice_on(tree.options.advisories, [package for package, _ in named]))
        except ValueError as error:
            emit.incomplete("", f"the advisories cannot be read: {str(error)[:120]}")
            return
        for package, advice in advised:
            segment = segments[id(package)]
            rule = "dependency-malicious" if advice.malicious else "dependency-vulnerable"
            doubt = "" if advice.certain else ", in some versions"
            emit.finding(
                rule, segment.locate(package.start, package.end), segment.text[package.start : package.end][:200],
                f"{advice.id} is about {package.name}{doubt}: {advice.summary}".rstrip(": "), segment=segment,
                severity=Severity.WARN if advice.malicious and not advice.certain else None,
            )  # fmt: skip


def _packages(file: SourceFile) -> Iterator[Found]:
    if file.text is None:
        return
    name = file.known_as.rpartition("/")[2].lower()
    if file.whole:
        whole = Segment(file.path, Context.CONFIG, file.text, anchor=file.place)
        reader = python_files.requirements if _REQUIREMENTS.search(file.known_as.lower()) else _FILES.get(name)
        if reader is not None:
            yield from ((package, whole) for package in reader(file.text))
        if "# /// script" in file.text:
            yield from ((package, whole) for package in python_files.inline_metadata(file.text))
    for segment in file.segments:
        if segment.context in {Context.SHELL, Context.POWERSHELL}:
            yield from ((package, segment) for package in commands(segment.text))
        elif segment.context is Context.INSTRUCTION:
            yield from ((package, segment) for package in told(segment.text))


def _judge(package: Named, segment: Segment, emit: Emitter) -> None:
    at = segment.locate(package.start, package.end)
    shown = segment.text[package.start : package.end][:200]

    def report(rule: str, message: str, severity: Severity | None = None) -> None:
        emit.finding(rule, at, shown, message, segment=segment, subject=package.name, severity=severity)

    emit.capability("package", f"{package.ecosystem}/{normal(package.ecosystem, package.name)}", at)
    foreign = bool(package.index) and not _is_known(package.index)
    if foreign:
        report("dependency-other-index", f"{package.name} may come from {package.index[:120]}")
    if package.source:
        _source(package, report)
    elif package.runs and not package.pinned:
        popular = _is_popular(package)
        message = f"whatever version of {package.name} is newest is fetched and run"
        report("dependency-unpinned-runner", message, Severity.INFO if popular else None)
    elif not package.runs and package.spec.strip() in _LATEST and package.ecosystem is not Ecosystem.BREW:
        report("dependency-unpinned", f"any version of {package.name} is taken")
    if target := "" if package.source else imitated(package.ecosystem, package.name):
        message = f"{package.name} looks like {target}"
        if foreign:
            report("dependency-lookalike-elsewhere", f"{message} and comes from {package.index[:120]}")
        else:
            report("dependency-lookalike", message)
            emit.notes.setdefault("lookalikes", []).append((target, message, at, shown))
    else:
        emit.notes.setdefault("packages", set()).add(normal(package.ecosystem, package.name))


def _in_place_of_another(tree: SourceTree, emit: Emitter) -> None:
    """The code imports the popular package, and only its look-alike is installed."""
    named: set[str] = emit.notes.get("packages", set())
    for target, message, at, shown in emit.notes.get("lookalikes", ()):
        if target in named:
            continue
        module = re.escape(target).replace("\\-", "[-_]")
        python = rf"(?m)^[ \t]*(?:import|from)[ \t]+{module}\b"
        imports = re.compile(rf"{python}|(?:\brequire\(|\bfrom[ \t]+|\bimport[ \t(]*)[\"']{module}[\"'/]")
        if any(imports.search(segment.text) for file in tree.files for segment in file.of(*_IMPORTING)):
            emit.finding("dependency-lookalike-imported", at, shown, f"{message}, which the code imports")


def _source(package: Named, report: Callable[..., None]) -> None:
    address = package.source
    if address.startswith(("http://", "git://", "git+http://")):
        report("dependency-plain-http", f"{package.name} is fetched unprotected from {address[:120]}")
    fixed = bool(_COMMIT.search(address))
    severity = Severity.INFO if fixed and host_of(address.removeprefix("git+")).name in _registries() else None
    report("dependency-remote-source", f"{package.name} comes from {address[:160]}", severity)


def _lock(file: SourceFile, emit: Emitter) -> None:
    whole = Segment(file.path, Context.CONFIG, file.text or "", anchor=file.place)
    packages = list(taken(file.known_as.rpartition("/")[2].lower(), whole.text))
    told_hosts: set[str] = set()
    for each in packages:
        address = each.address
        host = host_of(address.removeprefix("git+")).name
        if not address.startswith(("http", "git")) or _is_known(address):
            continue
        at = whole.locate(each.start, each.start + len(address))
        if host not in told_hosts:
            told_hosts.add(host)
            emit.finding("dependency-lock-host", at, address[:200], f"the lock takes packages from {host}")
        if _is_at_its_owners(each.name, host):
            continue
        if _is_popular_name(each.ecosystem, each.name) and (not each.hashed or _is_mixed(packages, host)):
            emit.notes.setdefault("swapped", []).append((host, each, at))


def _is_at_its_owners(name: str, host: str) -> bool:
    """True for ``@acme/tool`` at the registry that Acme runs for its own scope."""
    return host in table("packages")["of_scopes"].get(_scope(name), ())


def _is_mixed(packages: list[Taken], host: str) -> bool:
    """True for a lock of which other packages come from elsewhere than `host`: no mirror of all of them."""
    others = (host_of(each.address.removeprefix("git+")).name for each in packages if "://" in each.address)
    site = host.split(".")[-2:]  # a mirror may have more than one host
    return any(_is_known(each.address) for each in packages) or any(other.split(".")[-2:] != site for other in others)


def _swapped(tree: SourceTree, emit: Emitter) -> None:
    """A lock takes a package that everybody knows from a host that no document names."""
    found: list[tuple[str, Taken, Location]] = emit.notes.get("swapped", [])
    documents = Documents(tree.files) if found else None
    for host, package, at in found:
        if documents is not None and not documents.names(host, exact=True):
            message = f"{package.name}, which its own registry has, comes from {host}, which no document names"
            emit.finding("dependency-lock-swapped", at, package.address[:200], message, subject=package.name)


def _is_known(address: str) -> bool:
    host = host_of(address.removeprefix("git+"))
    return host.local or host.name in _registries() or any(host.name.endswith(f".{name}") for name in _registries())


def _registries() -> frozenset[str]:
    return frozenset(table("packages")["registries"])


def _is_popular(package: Named) -> bool:
    return _is_popular_name(package.ecosystem, package.name)


def _is_popular_name(ecosystem: Ecosystem, name: str) -> bool:
    names = table("popular")
    scope = _scope(name)
    known = names["scopes"] if scope else names.get(str(ecosystem), ())
    return (scope or normal(ecosystem, name)) in known


def _scope(name: str) -> str:
    """``acme`` of ``@acme/tool``; empty for a name without one."""
    return name.partition("/")[0].removeprefix("@") if name.startswith("@") else ""


ENGINE = DependencyEngine()
