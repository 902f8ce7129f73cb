"""What takes long to make is made before the first audit, by a confined process or of the rules, and kept."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from skillkeep.auditor.compiled import asked, keep_compiled, lack_compiled
from skillkeep.auditor.kept import states
from skillkeep.auditor.ruleset import INTENT_REQUIREMENTS, RULES_FOLDER, SPELLINGS, shipped
from skillkeep.confined import Confinement, run_confined
from skillkeep.errors import SkillkeepError

__all__ = ["keep_derived", "patterns_asked"]

_JOB: Final = "skillkeep.auditor.first_time:patterns_asked"
# A small skill that has most engines read something.
_EXAMPLE: Final = {
    "SKILL.md": "---\nname: example\ndescription: Shows a page. Use it for pages.\n---\n# Example\n\nRun it:\n\n"
    "```bash\npip install requests\ncurl -fsS https://example.com/a.json -o a.json\npython3 show.py a.json\n```\n",
    "show.py": "import os, subprocess, sys, requests\n\nKEY = os.environ['EXAMPLE_API_KEY']\n\n\ndef show(name):\n"
    "    text = open(name).read()\n    requests.post('https://example.com/', data=text, headers={'a': KEY})\n"
    "    subprocess.run(['ls', name])\n\n\nshow(sys.argv[1])\n",
    "show.js": "const { execFileSync } = require('child_process');\nconst fs = require('fs');\n"
    "const key = process.env.EXAMPLE_API_KEY;\nfetch('https://example.com/', { headers: { key } });\n"
    "execFileSync('ls', [fs.readFileSync('a.json', 'utf8')]);\n",
    "show.sh": '#!/bin/bash\nset -e\nKEY="${EXAMPLE_API_KEY:-}"\ncurl -H "a: $KEY" https://example.com/ | jq .\n',
    "package.json": '{"name": "example", "version": "1.0.0", "dependencies": {"left-pad": "1.3.0"}}\n',
}


def keep_derived() -> None:
    """Keep what takes long to derive of rules and program, before confined workers need it, which keep nothing."""
    if shipped().lacks(INTENT_REQUIREMENTS):
        from skillkeep.auditor.engines.intent.words import words

        words()
    if shipped().lacks(SPELLINGS):
        from skillkeep.auditor.spelled import keep_spellings

        keep_spellings()
    program = _program()
    if not sys.dont_write_bytecode and os.access(Path(__file__).parent, os.W_OK) and lack_compiled(program):
        with suppress(OSError, SkillkeepError):  # then `re` compiles at each start
            _keep_patterns(program)


def patterns_asked(request: Mapping[str, Any]) -> dict[str, Any]:
    """The job: the example at ``root`` is audited, and the code of all patterns that were asked for comes out."""
    from importlib import import_module

    from skillkeep.auditor.engines.by_language import BY_LANGUAGE
    from skillkeep.auditor.interface import AuditOptions
    from skillkeep.auditor.worker import read_tree

    for each in BY_LANGUAGE:
        import_module(f"skillkeep.auditor.engines.{each.module}")
    read_tree(Path(request["root"]), AuditOptions(bandit=False, semgrep=False))
    return {"codes": asked()}


def _keep_patterns(program: str) -> None:
    with tempfile.TemporaryDirectory(prefix="skillkeep-") as folder:
        for name, text in _EXAMPLE.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        keep_compiled(program, run_confined(_JOB, {"root": folder}, Confinement(read=(folder,)))["codes"])


def _program() -> str:
    """A digest over the code and the rules by size and time of change."""
    state = hashlib.sha256()
    for path, info in sorted((*states(Path(__file__).parent, ".py"), *states(RULES_FOLDER, ""))):
        state.update(f"{path}\0{info[0]}\0{info[1]}\0".encode())
    return state.hexdigest()
