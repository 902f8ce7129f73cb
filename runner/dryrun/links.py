"""Where a link that a tool left would lead, in the project as it is and as it would be.

A link may pass through others: those of the project, which may lead anywhere as they are the user's, and those of the
tool. As some changes may be refused and others made, both count wherever one of each has the same name.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from skillkeep.runner.dryrun.beneath import parent_of

__all__ = ["Links", "leads_out"]

_NO_LINK = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL)
_STEPS = 200  # of one link, through all that it passes


def leads_out(path: str, target: str) -> bool:
    """Whether the text of a link at `path` could lead out of the root: absolute, more steps up than it lies deep, or a
    step up after a step down (which another link may turn elsewhere).
    """
    steps = _steps(target)
    up = next((number for number, step in enumerate(steps) if step != ".."), len(steps))
    return not target or target.startswith("/") or up > path.count("/") or ".." in steps[up:]


@dataclass(frozen=True)
class Links:
    """The links of the folders `layers`, which are laid over one another. `count` is called for each name looked at."""

    layers: tuple[int, ...]
    count: Callable[[], None]
    known: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def pass_out(self, path: str, target: str) -> bool:
        """Whether a link at `path` to `target` could lead out of the root through other links, or through so many
        that nobody follows them. Raises OSError for a name that cannot be looked at.
        """
        start = (tuple(path.split("/")[:-1]), _steps(target))
        todo, seen = [start] if start[1] else [], {start}
        while todo:
            folder, (step, *rest) = todo.pop()
            if step == "..":
                if not folder:
                    return True
                nexts = [(folder[:-1], tuple(rest))]
            else:
                here = (*folder, step)
                nexts = [(here, tuple(rest))]
                for link in self._at("/".join(here)):
                    if link.startswith("/"):
                        return True
                    nexts.append((folder, (*_steps(link), *rest)))
            for each in nexts:
                if each[1] and each not in seen:
                    seen.add(each)
                    todo.append(each)
            if len(seen) > _STEPS:
                return True
        return False

    def _at(self, path: str) -> tuple[str, ...]:
        """Targets of the links that stand at `path`, in any layer."""
        if path not in self.known:
            self.count()
            found = (_target(layer, path) for layer in self.layers)
            self.known[path] = tuple(target for target in found if target is not None)
        return self.known[path]


def _target(layer: int, path: str) -> str | None:
    try:
        with parent_of(layer, path) as (folder, name):
            return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in _NO_LINK:
            return None
        raise


def _steps(target: str) -> tuple[str, ...]:
    return tuple(step for step in target.split("/") if step not in ("", "."))
