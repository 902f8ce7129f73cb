"""Write the documentation that follows from the code: docs/errors.md, the report's schema and README's help blocks.

`--check` writes nothing, names what is out of date, and exits 1 then. The tests run it.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from skillkeep.auditor.report.json import report_schema
from skillkeep.errors import Code, SkillkeepError, all_codes

ROOT = Path(__file__).resolve().parents[1]
HELP_BLOCK = re.compile(
    r"(?P<head><!-- help: (?P<command>[a-z ]+) -->\n```text\n).*?(?P<tail>```\n<!-- end -->)", re.DOTALL
)
ERRORS_HEAD = """# Error codes

Written by `make docs` from the code; a test compares. A code never changes its meaning. With `--json` an error is
`{"ok": false, "error_code": "…", "error_message": "…", "hint": "…", "context": {…}}` on standard output; without it
the message and the hint are on standard error. The exit codes are explained in [exit-codes.md](exit-codes.md).
"""


def import_every_error_module() -> None:
    """Import each folder's errors, so that `all_codes` sees them."""
    for path in sorted(ROOT.glob("*/**/errors.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[0] in {"skillkeep", "auditor", "vault", "ingest", "runner", "dispatch"}:
            importlib.import_module(".".join(parts if parts[0] == "skillkeep" else ("skillkeep", *parts)))


def errors_page() -> str:
    """The whole of docs/errors.md."""
    import_every_error_module()
    by_class: dict[type[SkillkeepError], list[tuple[str, Code]]] = {}
    for name, (cls, code) in all_codes().items():
        by_class.setdefault(cls, []).append((name, code))
    parts = [ERRORS_HEAD]
    for cls, codes in by_class.items():
        parts += [f"## `{cls.__module__}.{cls.__name__}`\n", f"{(inspect.getdoc(cls) or '').partition(chr(10))[0]}\n"]
        rows = [f"| `{name}` | {code.exit.value} | {code.summary} |" for name, code in sorted(codes)]
        parts.append("\n".join(["| code | exit | what it means |", "|---|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def help_text(command: str) -> str:
    """What a command prints for `--help`, 100 columns wide and without colour."""
    program, *rest = command.split()
    env = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
    argv = [str(Path(sys.executable).parent / program), *rest, "--help"]
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines()) + "\n"


def readme() -> str:
    """README.md with its help blocks as the commands print them now."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return HELP_BLOCK.sub(lambda block: block["head"] + help_text(block["command"]) + block["tail"], text)


def main() -> int:
    """Write or check every generated file."""
    docs = ROOT / "docs"
    wanted = {
        docs / "errors.md": errors_page(),
        docs / "schemas" / "report-v1.json": json.dumps(report_schema(), indent=2) + "\n",
        ROOT / "README.md": readme(),
    }
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if "--check" in sys.argv[1:]:
            print(f"out of date: {path.relative_to(ROOT)} (make docs)")
        else:
            path.write_text(wanted[path], encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
