"""What a ``.pyc`` means beside its source: Python runs the bytecode, people read the source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.containers.bytecode import Bytecode, names_of_source, read_bytecode
from skillkeep.auditor.engines.interface import Emitter, SourceFile
from skillkeep.auditor.interface import Location

__all__ = ["judge_bytecode"]

_CACHED: Final = compiled(
    r"^(?:(?P<folder>.*)/)?__pycache__/(?P<stem>[^/]+?)\.(?:cpython|pypy)[\w-]*?(?:\.opt-\d)?\.pyc$"
)
# Names the compiler makes, and private names as it mangles them.
_MADE: Final = compiled(
    r"^(?:<.*>|\.\w+|AssertionError|_[A-Za-z0-9]\w*?__\w+|__(?:name|module|qualname|class|classcell|classdict"
    r"|classdictcell|annotations|annotate|annotate_func|conditional_annotations|static_attributes|firstlineno|doc|debug"
    r"|type_params|build_class|enter|exit|aenter|aexit)__)$"
)
_ANNOTATES: Final = 3600  # the first magic number of Python 3.14
_LATER: Final = frozenset({"format"})  # the parameter of the function that makes annotations when asked (PEP 649)
_RUNS: Final = frozenset({"exec", "eval", "compile", "system", "popen", "Popen", "spawn", "execv", "__import__"})
_BRINGS: Final = frozenset(
    {"b64decode", "b85decode", "decompress", "unhexlify", "urlopen", "urlretrieve", "requests", "socket", "fromhex"}
)
_LONGEST_TEXT: Final = 20
_MOST_TEXTS: Final = 200


def judge_bytecode(files: Mapping[str, SourceFile], file: SourceFile, emit: Emitter) -> None:
    """Compare one bytecode file with the one of `files` (by path) that Python would take for its source."""
    place = Location(file.path)
    found = read_bytecode(file.data)
    if not found.whole:
        emit.incomplete(file.path, "the bytecode cannot be walked")
    source = files.get(_source_path(file.path))
    if source is None or source.text is None:
        _alone(found, place, emit)
        return
    known = names_of_source(source.text)
    if known is None:
        _alone(found, place, emit)
        return
    made = _LATER if found.magic >= _ANNOTATES or "__annotate__" in found.names else frozenset()
    other = sorted(name for name in found.names - known.names - made if not _MADE.match(name))
    texts = [text for text in found.texts if len(text) >= _LONGEST_TEXT and " ".join(text.split()) not in known.texts]
    if found.flags & 1 and not found.flags & 2:
        emit.finding("bytecode-unchecked", place, "", "Python runs this bytecode without looking at the source")
    taken = found.flags & 1 or found.source_size == len(source.data) & 0xFFFFFFFF
    if other and taken:
        shown = ", ".join(other[:12])
        emit.finding("bytecode-mismatch", place, shown, f"the bytecode names what {source.path} does not: {shown}")
        _texts(texts, place, emit)
    elif other:
        emit.finding("bytecode-stale", place, ", ".join(other[:12]), f"not compiled from {source.path} as it is")
    elif taken:
        _texts(texts, place, emit)


def _alone(found: Bytecode, place: Location, emit: Emitter) -> None:
    runs, brings = found.names & _RUNS, found.names & _BRINGS
    message = "the bytecode has no source beside it"
    if runs and brings:
        shown = ", ".join(sorted(runs | brings))
        emit.finding("bytecode-hidden-execution", place, shown, f"{message} and names {shown}")
    else:
        emit.finding("bytecode-alone", place, "", message)
    _texts([text for text in found.texts if len(text) >= _LONGEST_TEXT], place, emit)


def _texts(texts: list[str], place: Location, emit: Emitter) -> None:
    """Texts that no source shows are audited as what they look like."""
    for text in texts[:_MOST_TEXTS]:
        emit.derive(text, None, place, "bytecode")


def _source_path(path: str) -> str:
    cached = _CACHED.match(path)
    if cached:
        return f"{cached['folder']}/{cached['stem']}.py" if cached["folder"] else f"{cached['stem']}.py"
    return path.rpartition(".")[0] + ".py"
