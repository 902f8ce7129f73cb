"""Why the door stays shut. Codes only; what to do next is in the hint where the error is raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from skillkeep.errors import Code, Exit, SkillkeepError

__all__ = ["IngestError"]


class IngestError(SkillkeepError):
    """A source, or something in it, cannot be taken in."""

    codes: ClassVar[Mapping[str, Code]] = {
        "bad_source": Code("The source is not a git URL, a folder or an archive that can be read.", Exit.USAGE),
        "option_like": Code("A source, ref or path begins like a command-line option.", Exit.USAGE),
        "unsupported_scheme": Code(
            "The source names a transport that is never used (ext::, git://, npm: …).", Exit.USAGE
        ),
        "credentials_in_url": Code(
            "The URL holds a password, a token or a query; none of it was used or kept.", Exit.USAGE
        ),
        "bad_ref": Code("The ref is not a name that git allows.", Exit.USAGE),
        "bad_selection": Code("The path, name or grant that was asked for is malformed.", Exit.USAGE),
        "source_not_found": Code("The source does not exist, or has nothing at the given path.", Exit.USAGE),
        "ref_not_found": Code("The repository has no such branch, tag or commit.", Exit.USAGE),
        "ambiguous_ref": Code("The ref is both a branch and a tag.", Exit.USAGE),
        "choose_artifact": Code("The source holds several tools and none was chosen.", Exit.USAGE),
        "unknown_artifact": Code("No tool of the source has the selected name.", Exit.USAGE),
        "empty_source": Code("The repository, folder or archive is empty.", Exit.NOTHING_TO_SCAN),
        "no_artifact": Code("The source holds no skill, plugin, MCP configuration or script.", Exit.NOTHING_TO_SCAN),
        "fetch_failed": Code("The source could not be fetched."),
        "fetch_timeout": Code("The source did not arrive in time, or arrived too slowly."),
        "redirected": Code("The server sent us to another address, whose owner may be somebody else."),
        "hostile_objects": Code("The repository's objects break git's own rules, or git refused them.", Exit.REJECTED),
        "borrowed_objects": Code("A local repository takes its objects or its folder from elsewhere.", Exit.REJECTED),
        "bad_archive": Code("The archive is damaged, encrypted or of an unknown kind.", Exit.REJECTED),
        "quarantine_changed": Code("The files in quarantine are not the files that were audited.", Exit.REJECTED),
        "program_missing": Code("A program that fetching needs is not installed (git, ssh)."),
    }
