"""The confined side of an audit: reads the tree once, hands each file to every engine, returns plain data.

A file's number is written to stderr before it is read, so that the parent knows which file killed its reader.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from skillkeep.auditor.checkout import own_git
from skillkeep.auditor.collect import Collector
from skillkeep.auditor.declared import declared_names, named_services
from skillkeep.auditor.engines import file_engines
from skillkeep.auditor.engines.behaviour.defaults import fallback_hosts
from skillkeep.auditor.engines.interface import Engine, SourceFile, SourceTree
from skillkeep.auditor.interface import AuditOptions, EngineRun, LedgerEntry, Location, Observation
from skillkeep.auditor.logins import kept_logins, not_by_program, own_logins
from skillkeep.auditor.own_accounts import own_accounts
from skillkeep.auditor.own_entries import own_entries
from skillkeep.auditor.own_installers import own_installers, own_instructions, own_pages
from skillkeep.auditor.own_keys import own_keys
from skillkeep.auditor.own_schedules import told_hooks, told_schedules
from skillkeep.auditor.own_settings import self_hosted
from skillkeep.auditor.own_variables import other_names, set_variables
from skillkeep.auditor.pages import looked_up_pages
from skillkeep.auditor.patterns import forget_compiled
from skillkeep.auditor.rulebook import Rulebook, default_rulebook
from skillkeep.auditor.shipped_hosts import UNKNOWN, reads_own_data, shipped_hosts
from skillkeep.auditor.sources import cut_file, decode, derived_file, source_file
from skillkeep.auditor.started import Started
from skillkeep.auditor.store import FileStore
from skillkeep.auditor.verdict import implied, listed, own_services, settle, settle_capabilities
from skillkeep.auditor.watch import TooSlowError, Watch
from skillkeep.auditor.wire import FILE_MARK, options_from, plain
from skillkeep.digest import sha256_bytes
from skillkeep.errors import SkillkeepError
from skillkeep.kernel.process import give_memory_back
from skillkeep.manifest import Manifest, ManifestEntry
from skillkeep.tree import EntryKind, TreeEntry, TreeView

__all__ = ["read_tree", "scan"]

_GARBAGE = 50_000  # objects
_MAKES_ROOM = 1000  # files that were packed


@dataclass
class _Audit:
    options: AuditOptions
    rulebook: Rulebook
    engines: Sequence[Engine]
    collector: Collector
    deadline: float
    watch: Watch = field(default_factory=Watch)
    store: FileStore = field(default_factory=lambda: FileStore(cut_file))
    started: Started = field(default_factory=Started)
    declared: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)  # by files that are packed
    hashed: list[ManifestEntry] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def scan(request: Mapping[str, Any]) -> dict[str, Any]:
    """The job: ``root``, ``options``, ``observations``, ``skip`` (paths not to read) in, findings and more out."""
    observations = tuple(Observation(**item) for item in request.get("observations", ()))
    options = options_from(request["options"])
    return read_tree(Path(request["root"]), options, observations, frozenset(request.get("skip", ())))


def read_tree(
    root: Path, options: AuditOptions, observations: Sequence[Observation] = (), skip: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Audit a tree in this very process. Only `scan` and tests of rules on our own examples call it."""
    with _rare_collection():
        return _read(root, options, observations, skip)


def _read(
    root: Path, options: AuditOptions, observations: Sequence[Observation], skip: frozenset[str]
) -> dict[str, Any]:
    rulebook = default_rulebook()
    chosen = [engine for engine in file_engines() if _wanted(engine, options)]
    audit = _Audit(options, rulebook, chosen, Collector(rulebook), time.monotonic() + options.total_seconds * 0.9)
    with TreeView.open(root, options.limits) as view, audit.watch.ticking():
        for number, entry in enumerate(view.files()):
            _one(audit, view, number, entry, skip)
        _as_started(audit)
        if audit.store.packed:
            forget_compiled()
        if options.checkout:
            observations = (*observations, *own_git(root))
        _observed(audit, observations)
        tree = SourceTree(
            root, tuple(audit.store.files), options, frozenset(audit.declared), view.entries, view.unread,
            tuple(observations), tuple(audit.collector.capabilities),
        )  # fmt: skip
        for engine in chosen:
            _call(audit, engine, "", partial(engine.scan_tree, tree, audit.collector.bound(engine.name)))
            if len(audit.collector.capabilities) > len(tree.capabilities):  # an address that another file holds
                tree = replace(tree, capabilities=tuple(audit.collector.capabilities))
        _drain(audit)
        digest = _digest(audit, view)
    return _answer(audit, tree, digest)


@contextmanager
def _rare_collection() -> Iterator[None]:
    """Collect garbage a seventieth as often: most of what an audit makes lives until its end, and then it is gone."""
    before = gc.get_threshold()
    gc.set_threshold(_GARBAGE, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _wanted(engine: Engine, options: AuditOptions) -> bool:
    if engine.name == "bandit" and not options.bandit:
        return False
    return options.engines is None or engine.name in options.engines


def _one(audit: _Audit, view: TreeView, number: int, entry: TreeEntry, skip: frozenset[str]) -> None:
    """Read one file, the only time that it is read, and let every engine judge it."""
    emit = audit.collector.bound("audit")
    if entry.path in skip:
        return
    if time.monotonic() > audit.deadline:
        emit.incomplete(entry.path, "out of time before it was read")
        return
    print(f"{FILE_MARK}{number}", file=sys.stderr, flush=True)  # noqa: T201 -- the parent reads it
    try:
        data = view.read(entry.path)
    except SkillkeepError as error:
        emit.incomplete(entry.path, error.message)
        return
    audit.hashed.append(ManifestEntry(entry.path, entry.executable, len(data), sha256_bytes(data)))
    made: list[SourceFile] = []

    def cut() -> None:
        decoded = decode(entry.path, data)
        made.append(source_file(entry.path, data, decoded, entry.executable))
        audit.declared |= declared_names(made)
        audit.started.note(decoded.text or "")
        if decoded.note:
            rule = "tree-text-nul" if "NUL" in decoded.note else "tree-text-encoding"
            emit.finding(rule, Location(entry.path), decoded.note, f"The text {decoded.note}")

    _guarded(audit, "audit", entry.path, cut)
    for file in made:
        read, reason = ("read", "") if file.text is not None else ("skipped", "not text")
        audit.collector.ledger[LedgerEntry(entry.path, "audit", read, reason)] = None
        _judge(audit, file)
        _drain(audit)
        if audit.store.keep(file):
            audit.named |= named_services([file])
            if not audit.store.packed % _MAKES_ROOM:
                _make_room()


def _as_started(audit: _Audit) -> None:
    """Judge files in the languages that the tool starts them in, too. None is a document any more."""
    for index, file in enumerate(audit.store.files):
        _guarded(audit, "audit", file.path, partial(_one_as_started, audit, index, file))


def _one_as_started(audit: _Audit, index: int, file: SourceFile) -> None:
    more = audit.started.more(file)
    if more is not None:
        _judge(audit, more)
        _drain(audit)
        audit.store.widen(index, more.segments)


def _make_room() -> None:
    """Give back what a large tree's files have had made: automata, garbage, and what the C library holds in reserve."""
    forget_compiled()
    gc.collect()
    give_memory_back()


def _judge(audit: _Audit, file: SourceFile) -> None:
    for engine in audit.engines:
        emit = audit.collector.bound(engine.name, file.depth)
        _call(audit, engine, file.path, partial(engine.scan_file, file, emit))
    audit.collector.parsed.clear()


def _drain(audit: _Audit) -> None:
    while audit.collector.queue:
        found = audit.collector.queue.pop()
        if time.monotonic() > audit.deadline:
            audit.collector.bound("audit").incomplete(found.at.path, "out of time for text inside text")
            continue
        _judge(audit, derived_file(found))


def _call(audit: _Audit, engine: Engine, path: str, work: Callable[[], None]) -> None:
    start = time.perf_counter()
    _guarded(audit, engine.name, path, work)
    audit.seconds[engine.name] = audit.seconds.get(engine.name, 0.0) + time.perf_counter() - start
    audit.files[engine.name] = audit.files.get(engine.name, 0) + bool(path)


def _guarded(audit: _Audit, name: str, path: str, work: Callable[[], None]) -> None:
    """Run `work`; whatever it raises, running out of time and memory included, is a finding about `path`."""
    reason = ""
    try:
        audit.watch.run(work, audit.options.file_seconds, max(0.5, audit.deadline - time.monotonic()))
    except TooSlowError:
        reason = "out of time"
    except MemoryError:
        reason = "out of memory"
    except RecursionError:
        reason = "nested too deep"
    except Exception as error:  # the law: a crash of an analyser is a finding
        reason = f"failed: {type(error).__name__}: {str(error)[:160]}"
        audit.failed[name] = reason
    if reason:
        audit.collector.bound(name).incomplete(path, reason)


def _observed(audit: _Audit, observations: Sequence[Observation]) -> None:
    emit = audit.collector.bound("fetch")
    for seen in observations:
        rule = seen.rule if seen.rule in audit.rulebook.rules else "tree-anomaly"
        emit.finding(rule, Location(seen.path), seen.detail, seen.detail)


def _digest(audit: _Audit, view: TreeView) -> str:
    """The manifest's digest, over the very bytes that were judged; empty where no manifest is possible."""
    whole = not view.unread and all(entry.kind in {EntryKind.FILE, EntryKind.FOLDER} for entry in view.entries)
    if whole and len(audit.hashed) == sum(1 for _ in view.files()):
        return Manifest(audit.hashed).digest
    try:
        return Manifest.of_tree(view).digest
    except SkillkeepError:
        return ""


def _looked_up(tree: SourceTree) -> frozenset[str]:
    return looked_up_pages(_Texts({file.path: file for file in tree.files if not file.is_program}))


def _text_of(tree: SourceTree, path: str) -> str:
    texts = tree.texts()
    return (texts[path].text or "") if path in texts else ""


def _pages(texts: Mapping[str, SourceFile]) -> Iterator[str]:
    return (file.text or "" for path, file in texts.items() if path.lower().endswith(".md"))


class _Texts(Mapping[str, str]):
    """Texts of files by path, each unpacked when it is asked for: those of a whole tree may not fit into memory."""

    def __init__(self, files: Mapping[str, SourceFile]) -> None:
        self._files = files

    def __getitem__(self, path: str) -> str:
        return self._files[path].text or ""

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def _all_texts(tree: SourceTree) -> Iterator[str]:
    return (file.text or "" for file in tree.texts().values())


def _answer(audit: _Audit, tree: SourceTree, digest: str) -> dict[str, Any]:
    collector = audit.collector
    runs = [
        EngineRun(
            engine.name,
            "failed" if engine.name in audit.failed else "ran",
            audit.files.get(engine.name, 0),
            round(audit.seconds.get(engine.name, 0.0), 4),
            engine.version,
            audit.failed.get(engine.name, ""),
        )
        for engine in audit.engines
    ]
    cut = collector.flooded or collector.capabilities_cut
    own: frozenset[str] = frozenset()
    told = tree.declared - not_by_program(collector.raws, collector.capabilities)
    if not cut and any(raw.subject for raw in collector.raws):
        own = own_services(collector.raws, collector.capabilities, lambda: _all_texts(tree))
        own |= own_logins(collector.raws, collector.capabilities)
        named = named_services(audit.store.unpacked()) | audit.named
        own |= implied(collector.raws, collector.capabilities, named, tree.declared)
        texts = tree.texts()
        shipped = cache(lambda: shipped_hosts(texts.values()))

        def text_of(path: str) -> str:
            return (texts[path].text or "") if path in texts else "//not.read"

        own |= kept_logins(
            collector.raws, collector.capabilities, named,
            lambda paths: shipped().union(
                *(fallback_hosts(text_of(path)) for path in paths), {UNKNOWN} if reads_own_data(texts.values()) else ()
            ),
        )  # fmt: skip
        own |= self_hosted(collector.raws, collector.capabilities, text_of, shipped)
        programs = (file.text or "" for file in texts.values() if file.is_program)
        own |= own_keys(collector.raws, collector.capabilities, text_of, programs, shipped)
        own |= set_variables(collector.raws, text_of)
        own |= other_names(collector.raws, told | own, text_of)
        own |= told_schedules(collector.raws, texts.values, text_of)
        own |= told_hooks(collector.raws, texts.values, text_of)
        own |= own_entries(
            collector.raws, collector.capabilities, named, text_of, partial(_pages, texts), partial(_all_texts, tree)
        )
        own |= own_installers(collector.raws, named) | own_instructions(collector.raws, named, texts.values())
        own |= own_accounts(collector.raws, told | own)
        own |= own_pages(collector.raws, named, _all_texts(tree))
    settled = settle(collector.raws, told | own, audit.rulebook, partial(_looked_up, tree), partial(_text_of, tree))
    findings, left_out = listed(settled)
    more = [LedgerEntry("", "audit", "skipped", f"{count} more of {rule}") for rule, count in left_out.items()]
    return {
        "digest": digest,
        "findings": [plain(finding) for finding in findings],
        "capabilities": [plain(item) for item in settle_capabilities(collector.capabilities, tree.declared)],
        "ledger": [plain(entry) for entry in (*collector.ledger, *more)],
        "engines": [plain(run) for run in runs],
        "ruleset": audit.rulebook.digest,
        "declared": sorted(tree.declared),
        "files": len(tree.files),
    }
