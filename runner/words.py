"""Where our options end and the tool's own words begin, on the command line of `skill run`.

``skill run [OPTIONS] NAME [OPTIONS] ENTRY [ARGS...]`` or ``... NAME [OPTIONS] -- COMMAND [ARGS...]``: from ENTRY or
``--`` on, nothing is ours, whatever it looks like.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["split_words"]


def split_words(words: Sequence[str], with_value: Collection[str]) -> tuple[list[str], list[str]]:
    """Our part (options and NAME) and the tool's part, which starts with ENTRY or with ``--``.

    A ``--`` before NAME only says that no option of ours follows. `with_value` are the spellings of the options that
    take the next word as their value.
    """
    position, named = 0, False
    while position < len(words):
        word = words[position]
        if word == "--" and not named:
            return [*words[:position], *words[position + 1 : position + 2]], list(words[position + 2 :])
        if word == "--" or (named and not _is_option(word)):
            return list(words[:position]), list(words[position:])
        named = named or not _is_option(word)
        position += 2 if word in with_value else 1
    return list(words), []


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"
