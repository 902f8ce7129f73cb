"""What can go wrong with a named environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from skillkeep.errors import Code, Exit, SkillkeepError

__all__ = ["EnvironmentsError"]


class EnvironmentsError(SkillkeepError):
    """An environment that cannot be made, entered or removed."""

    codes: ClassVar[Mapping[str, Code]] = {
        "environment_not_found": Code("There is no environment of that name or for that folder.", Exit.RUN_NOT_FOUND),
        "environment_busy": Code("Commands run in the environment, or it may run where nobody here sees it."),
        "environment_differs": Code("The environment runs with other limits or rights than those asked for."),
        "environment_broken": Code("What is stored about an environment cannot be used.", Exit.RUN_FAILED),
        "environment_ended": Code("The environment ended while the command was in it.", Exit.RUN_FAILED),
        "project_replaced": Code("Another folder lies where the project of the environment was."),
        "project_unusable": Code("The folder cannot be the project of an environment.", Exit.USAGE),
    }
