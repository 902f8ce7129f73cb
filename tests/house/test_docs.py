"""What the documentation says about the code is what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.sources import ROOT, product_sources

from skillkeep.errors import Exit

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
REQUIRED = ["README.md", "CHANGELOG.md", "SECURITY.md", "THREAT_MODEL.md", "CONTRIBUTING.md", "LICENSE", ".ci/run"]


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/generate_docs.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_page_of_exit_codes_lists_exactly_the_exit_codes() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", (ROOT / "docs" / "exit-codes.md").read_text(), re.MULTILINE)
    assert rows == [(str(code.value), code.name) for code in Exit]


@pytest.mark.parametrize("name", REQUIRED)
def test_the_house_has_its_papers(name: str) -> None:
    assert (ROOT / name).stat().st_size > 300


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_schema_has_its_line() -> None:
    page = (ROOT / "docs" / "schemas" / "README.md").read_text(encoding="utf-8")
    used = {
        name
        for source in product_sources()
        for name in re.findall(r"skillkeep/[a-z-]+-v\d+", source.path.read_text(encoding="utf-8"))
    }
    assert set(re.findall(r"skillkeep/[a-z-]+-v\d+", page)) == used


def test_decisions_are_numbered_without_gaps_and_say_what_was_decided() -> None:
    records = sorted(path for path in (ROOT / "docs" / "adr").glob("[0-9]*.md"))
    assert [int(path.name[:4]) for path in records] == list(range(1, len(records) + 1))
    for path in records:
        headings = re.findall(r"^## (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert headings == ["Context", "Decision", "Consequences"], path.name


def test_the_lock_pins_every_package_and_names_no_index() -> None:
    lines = [line for line in (ROOT / "requirements" / "dev.txt").read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", line)] == []
