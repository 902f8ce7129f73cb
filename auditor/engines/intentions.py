"""What instructions intend: sentences whose meaning no honest tool needs, judged by what the tool says it is for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import chain
from typing import ClassVar, Final

from skillkeep.auditor.engines.intent.asides import asides, is_prose
from skillkeep.auditor.engines.intent.described import DESCRIBED
from skillkeep.auditor.engines.intent.followed import followed_page
from skillkeep.auditor.engines.intent.frames import Match
from skillkeep.auditor.engines.intent.language import is_foreign
from skillkeep.auditor.engines.intent.learned import FEW, Reading, names_address
from skillkeep.auditor.engines.intent.reading import read_all
from skillkeep.auditor.engines.intent.topic import Topic, topic_of
from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Mark, Segment, SourceFile, SourceTree
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Severity
from skillkeep.auditor.pages import is_told_by_name
from skillkeep.auditor.patterns import Pattern, forget_compiled

__all__ = ["ENGINE", "IntentionEngine"]

_PROSE: Final = (Context.INSTRUCTION, Context.METADATA)
_CODE: Final = (
    Context.PYTHON,
    Context.JAVASCRIPT,
    Context.TYPESCRIPT,
    Context.SHELL,
    Context.RUBY,
    Context.POWERSHELL,
    Context.CONFIG,
    Context.TEXT,
    Context.FENCED,
)
_BLOCKS: Final = (".yaml", ".yml")  # their texts need no quotes
_MOST: Final = 40
_TOGETHER: Final = 1 << 16  # characters of texts that are read together, roughly
_ROOM: Final = 1 << 20  # characters of read texts that are kept until the tree is judged
# The model of words has seen few honest pages in other languages, whose smallest words speak against them: of 51 honest
# ones 11 were refused, 7 with so much more; of 332 hostile passages 305 and 304 reach it.
_ELSEWHERE: Final = 0.9
# Of hundreds of texts one reaches any score by chance: in a file of data with so many, it takes so much more, and what
# a rule finds is refused when the model of words speaks against it, too. An agent reads what describes its tools.
_MANY: Final = 250
_AMONG_MANY: Final = 2.7
_ORDERED: Final = "intent-remote-orders"
_KEPT_FOR: Final = 64  # times so many: automata grow with every text that is met


class IntentionEngine(Engine):
    """See the module."""

    name: ClassVar[str] = "intent"
    order: ClassVar[int] = 85

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge text found inside of other text. Files of the tree are read together, many at a time, while they are
        at hand; what is found in them waits for what the tool is for."""
        if not file.depth:
            waiting = emit.notes.setdefault("waiting", _Waiting())
            waiting.add(file)
        elif file.text is not None:
            topic = cache(partial(topic_of, file.text, file.known_as))
            pieces = list(_pieces(file))
            for read in _read(pieces):
                _report(read, topic, emit, len(pieces))

    def scan_tree(self, tree: SourceTree, emit: Emitter) -> None:
        """Judge every file by the nearest ``SKILL.md``: those in which something was found, and the last ones."""
        topics, waiting = _Topics(tree), emit.notes.pop("waiting", _Waiting())
        again = (_read(list(_pieces(file))) for file in tree.files if file.path in waiting.found)
        for read in chain(waiting.kept, *again, _read(waiting.pieces)):
            if read.told:
                path = read.piece.segment.path
                _report(read, partial(topics.of, path), emit, waiting.many[path])


@dataclass(frozen=True)
class _Piece:
    """A text to read, from `offset` on in a segment."""

    segment: Segment
    text: str
    offset: int


@dataclass(frozen=True)
class _Read:
    """What was found in a piece."""

    piece: _Piece
    reading: Reading
    found: Sequence[Match]

    @property
    def told(self) -> bool:
        """True when there is something to report."""
        return bool(self.found or self.reading.doubtful)


class _Waiting:
    """The `pieces` of files that are not read yet; of the others those with something to report, and the paths of files
    in which more was `found` than is `kept`. `many` says how many texts each file has."""

    def __init__(self) -> None:
        self.pieces: list[_Piece] = []
        self.kept: list[_Read] = []
        self.found: set[str] = set()
        self.many: Counter[str] = Counter()
        self._room = _ROOM
        self._size = self._times = 0

    def add(self, file: SourceFile) -> None:
        """Read what waits when it is much. Its pieces are let go of first: what stops a reading stops one."""
        here = list(_pieces(file))
        self.pieces += here
        self.many[file.path] += len(here)
        self._size += sum(len(piece.text) for piece in here)
        if self._size > _TOGETHER:
            pieces, self.pieces, self._size = self.pieces, [], 0
            for read in _read(pieces):
                if read.told:
                    self._keep(read)
            self._times += 1
            if not self._times % _KEPT_FOR:
                forget_compiled()

    def _keep(self, read: _Read) -> None:
        path = read.piece.segment.path
        self._room -= len(read.piece.text)
        if self._room < 0 or path in self.found:
            self.found.add(path)
            while self.kept and self.kept[-1].piece.segment.path == path:
                self.kept.pop()
        else:
            self.kept.append(read)


class _Topics:
    """The purpose of each file of text of a tree, which that of the skill it is in joins."""

    def __init__(self, tree: SourceTree) -> None:
        self._files = {file.path: file for file in tree.files}
        self._known: dict[str, Topic] = {}

    def of(self, path: str) -> Topic:
        """The purpose of the file of text at `path`."""
        found = self._known.get(path)
        if found is None:
            found = self._known[path] = self._of(path, self._files[path].text or "")
        return found

    def _of(self, path: str, text: str) -> Topic:
        own = topic_of(text, path)
        folder = path.rpartition("/")[0]
        while folder not in self._skills and folder:
            folder = folder.rpartition("/")[0]
        above = self._skills.get(folder)
        return own.joined(above) if above and above != own else own

    @cached_property
    def _skills(self) -> dict[str, Topic]:
        return dict(_topics(self._files.values()))


def _topics(files: Iterable[SourceFile]) -> Iterator[tuple[str, Topic]]:
    for file in files:
        folder, _, name = file.path.rpartition("/")
        if name.lower() == "skill.md" and file.text is not None:
            yield folder, topic_of(file.text, file.path)


def _pieces(file: SourceFile) -> Iterator[_Piece]:
    """What is to be read of a file; the texts in a fence once, which is there as code, too."""
    known: set[tuple[str, int, Sequence[Mark]]] = set()
    for segment in file.segments:
        same = segment.text, segment.first_line, segment.marks
        if _is_whole(segment):
            yield _Piece(segment, segment.text, 0)
        elif segment.context in _CODE and same not in known:
            known.add(same)
            for text, offset, describes in asides(segment.text):
                yield _Piece(_told(segment) if describes else segment, text, offset)


def _told(segment: Segment) -> Segment:
    return replace(segment, provenance=(*segment.provenance, DESCRIBED))


def _read(pieces: Sequence[_Piece]) -> Iterator[_Read]:
    return (_Read(piece, *read) for piece, read in zip(pieces, read_all([each.text for each in pieces]), strict=True))


def _is_whole(segment: Segment) -> bool:
    """True when all of a segment is to be read, not just the comments and long texts in it."""
    if segment.context is Context.FENCED:
        return is_prose(segment.text)
    return segment.context in _PROSE or (segment.context is Context.CONFIG and segment.path.endswith(_BLOCKS))


def _report(read: _Read, topic: Callable[[], Topic], emit: Emitter, texts: int) -> None:
    """Report what was found in a piece of a file of so many `texts`. `topic`, its purpose, is asked for at need."""
    segment, text, offset = read.piece.segment, read.piece.text, read.piece.offset
    reading, found = read.reading, read.found
    meanings = table("intent")
    told_alike = meanings["same_words"]
    kinds = {
        (m.sentence.start, m.sentence.end, told_alike.get(m.frame.rule, m.frame.rule))
        for m in found
        if m.frame.rule not in meanings["slight"]
    }
    rules = Counter((start, end) for start, end, _ in kinds)
    many = texts >= _MANY and segment.context is Context.CONFIG and DESCRIBED not in segment.provenance
    shown = segment.anchor is None and (segment.context in _PROSE or _is_fenced(segment))
    told: Counter[tuple[str, bool]] = Counter()  # no rule and no warning takes the room of what blocks
    for match in found:
        start, end = match.sentence.start, match.sentence.end
        by_address = match.frame.by_address and match.frame.rule in meanings["never_excused_with_address"]
        by_address = by_address and names_address(match.text)
        excused = shown and rules[start, end] < 2 and not by_address and not match.frame.direct
        private = match.frame.rule in meanings["private"]
        excused = excused and reading.is_plain(match.sentence, private=private) and not _in_comment(text, start)
        excused = excused and not _kept_from_the_user().occurs(match.text.encode())
        by_chance = many and reading.worst(start) < reading.weights.blocking
        warns = excused or by_chance or _declared(match, topic)
        told[match.frame.rule, warns] += 1
        if told[match.frame.rule, warns] <= _MOST:
            emit.finding(
                match.frame.rule, segment.locate(offset + start, offset + end), match.text[:300], segment=segment,
                severity=Severity.WARN if warns else None,
                subject=_page(segment, match) if not _in_comment(text, start) else "",
            )  # fmt: skip
    _report_learned(segment, reading, offset, emit, many)


def _page(segment: Segment, match: Match) -> str:
    """The page that an order in a text tells to fetch and to follow, when it says nothing else."""
    return followed_page(segment, match.text) if match.frame.rule == _ORDERED else ""


@cache
def _kept_from_the_user() -> Pattern:
    return Pattern(table("intent")["never_excused_words"])


def _is_fenced(segment: Segment) -> bool:
    """True for a block of code that a page shows itself: a reader sees what it says, as in the prose around it."""
    return len(segment.provenance) == 1 and segment.provenance[0].startswith("fence")


def _in_comment(text: str, at: int) -> bool:
    """True for what a reader of the rendered page does not see."""
    return text.startswith("<!--", at) or text.rfind("<!--", 0, at) > text.rfind("-->", 0, at)


def _report_learned(segment: Segment, reading: Reading, offset: int, emit: Emitter, many: bool) -> None:
    known = reading.weights
    least = known.blocking + (_AMONG_MANY if many else 0.0)
    by_name = is_told_by_name(segment.path)
    for passage, score in reading.hostile()[:_MOST]:
        certain = (
            not by_name and score >= known.certain and len(passage.features) >= FEW and known.knows(passage.features)
        )
        text = reading.text[passage.start : passage.end]
        blocking = least + (_ELSEWHERE if is_foreign(text) else 0.0)
        emit.finding(
            "intent-certain" if certain else "intent-learned",
            segment.locate(offset + passage.start, offset + passage.end),
            text[:300],
            "words that speak against it most: " + ", ".join(known.strongest(passage.features)),
            segment=segment,
            severity=None if score >= blocking else Severity.WARN,
        )


def _declared(match: Match, topic: Callable[[], Topic]) -> bool:
    if match.frame.stranger and topic().knows(match.text):
        return True
    return bool(match.frame.declared) and topic().declares(match.frame.declared)


ENGINE = IntentionEngine()
