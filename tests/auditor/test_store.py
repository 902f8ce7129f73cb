"""Files between the two passes: many of them are kept packed, and nobody sees a difference."""

from __future__ import annotations

from skillkeep.auditor.engines.interface import Context, SourceFile
from skillkeep.auditor.sources import cut_file
from skillkeep.auditor.store import FileStore

TEXT = "---\nname: a\n---\n# A\n\n```sh\nls é\n```\n" * 40
NAMES = ("SKILL.md", "a.py", "b.json", "run")


def test_a_packed_file_is_the_file_it_was() -> None:
    files = [cut_file(name, TEXT.encode(), name == "run") for name in NAMES]
    store = FileStore(cut_file, most_bytes=0)
    for file in files:
        store.keep(file)
    for kept, file in zip(store.files, files, strict=True):
        assert type(kept) is not type(file)
        assert (kept.path, kept.data, kept.text, kept.executable) == (file.path, file.data, file.text, file.executable)
        assert kept.segments == file.segments
        assert kept.of(Context.SHELL) == file.of(Context.SHELL)
        assert kept.own(Context.SHELL, Context.PYTHON) == file.own(Context.SHELL, Context.PYTHON)
        assert (kept.whole, kept.known_as, kept.place, kept.is_program) == (True, file.path, None, file.is_program)


def test_files_are_packed_only_when_there_is_no_room() -> None:
    store = FileStore(cut_file, most_bytes=20_000)
    files = [cut_file(f"{number}.md", TEXT.encode(), False) for number in range(20)]
    packed = [store.keep(file) for file in files]
    assert not packed[0]
    assert packed[-1]
    assert list(store.unpacked()) == files[: packed.index(True)]
    assert store.files[0] is files[0]
    assert store.files[-1] is not files[-1]
    assert store.packed
    assert [file.path for file in store.files] == [file.path for file in files]


def test_the_text_of_a_packed_file_is_read_without_cutting_it_again() -> None:
    cuts: list[str] = []

    def cut(path: str, data: bytes, executable: bool) -> SourceFile:
        cuts.append(path)
        return cut_file(path, data, executable)

    store = FileStore(cut, most_bytes=0)
    store.keep(cut_file("a.md", TEXT.encode(), False))
    assert store.files[0].text == TEXT
    assert not store.files[0].own(Context.SHELL)
    assert not store.files[0].is_program
    assert not cuts
    assert store.files[0].of(Context.SHELL)
    assert cuts == ["a.md"]


def test_what_is_no_text_is_kept_as_it_is() -> None:
    file = cut_file("a.bin", bytes(range(256)) * 10, False)
    store = FileStore(cut_file, most_bytes=0)
    store.keep(file)
    assert store.files == [file]
    assert not store.packed


def test_what_a_packed_file_begins_with_is_told_without_unpacking_it() -> None:
    store = FileStore(cut_file, most_bytes=0)
    store.keep(cut_file("a.md", TEXT.encode(), False))
    kept = store.files[0]
    object.__setattr__(kept, "_packed", b"")
    assert (kept.is_text, kept.head) == (True, TEXT.encode()[:16])
