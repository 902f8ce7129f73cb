"""Why the auditor refuses. Findings are never errors: an error here means that no report could be made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from skillkeep.errors import Code, Exit, SkillkeepError

__all__ = ["AuditError"]


class AuditError(SkillkeepError):
    """The auditor cannot work with what it was given."""

    codes: ClassVar[Mapping[str, Code]] = {
        "bad_yaml": Code("A YAML text is malformed, repeats a key, uses an alias or is too large or too deep."),
        "bad_rule": Code("A rule of the ruleset does not validate: unknown field, bad pattern, missing example."),
        "unknown_rule": Code("No rule has this id.", Exit.USAGE),
        "bad_report": Code("A stored report cannot be read back."),
        "rubric_not_configured": Code("The rubric is asked for and no reviewer is configured.", Exit.USAGE),
        "bad_suppressions": Code(
            "A file of suppressions is malformed, out of place, or not the user's own.", Exit.USAGE
        ),
        "nothing_to_scan": Code("The folder holds no file to audit.", Exit.NOTHING_TO_SCAN),
    }
