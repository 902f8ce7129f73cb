"""What a shell offers at the Tab key where a word is one of names that are known."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from skillkeep.errors import SkillkeepError
from skillkeep.home import Home

__all__ = ["completing"]


def completing(names: Callable[[Home], Iterable[str]]) -> Callable[[str], list[str]]:
    """Typer's `autocompletion` for a word that is one of the `names` of a home, asked for at the key alone.

    What cannot be read offers nothing: an error would be printed into the line that is being typed.
    """

    def complete(incomplete: str) -> list[str]:
        try:
            return sorted(name for name in names(Home.resolve(os.environ)) if name.startswith(incomplete))
        except (OSError, SkillkeepError):
            return []

    return complete
