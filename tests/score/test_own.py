"""Our own samples: well-formed, defanged, scored without telling about the held half."""

from __future__ import annotations

import ipaddress
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from score.measure import Measured
from score.own import FOLDER, OwnSample, own_json, own_lists, own_table, read_own, stage_own

RESERVED = ("example", "invalid", "test", "localhost", "local", "internal", "example.com", "example.net", "example.org")
VENDORS = (FOLDER / "vendors.txt").read_text(encoding="utf-8").split()
URL = re.compile(
    r"\b(?:https?|wss?|ftp|ssh|git|stratum\+tcp)://(?:[^\s/@\"'`<>]*@)?([\w.-]+)", re.ASCII | re.IGNORECASE
)
MAIL = re.compile(r"\b[\w.+-]+@((?:[\w-]+\.)+[a-z]{2,})\b", re.ASCII | re.IGNORECASE)
ADDRESS = re.compile(r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w.-])")
SAMPLES = read_own()


def test_ids_are_unique_and_say_which_half_they_belong_to() -> None:
    ids = [own.id for own in SAMPLES]
    assert len(ids) == len(set(ids))
    assert all(own.id.partition("-")[0] == own.part.partition("-")[0] for own in SAMPLES)
    assert {own.part.partition("-")[0] for own in SAMPLES} <= {"tune", "held"}


def test_fields_hold_what_the_readme_names() -> None:
    for own in SAMPLES:
        assert own.kind in {"instruction", "code", "mixed"}, own.id
        assert own.label in {"malicious", "benign"}, own.id
        assert re.fullmatch(r"[A-L]\d?", own.family), own.id
        assert own.why, own.id
        assert own.files, own.id
        assert all(text.strip() for text in own.files.values()), own.id


def test_a_twin_is_there_in_the_same_half_with_the_other_label() -> None:
    by_id = {own.id: own for own in SAMPLES}
    for own in SAMPLES:
        if own.twin is not None:
            assert by_id[own.twin].held is own.held, own.id
            assert by_id[own.twin].label != own.label, own.id
            assert by_id[own.twin].files != own.files, own.id


def test_no_two_samples_are_the_same() -> None:
    seen = [json.dumps(own.files, sort_keys=True) for own in SAMPLES]
    assert len(seen) == len(set(seen))


def test_only_reserved_or_vendor_hosts_are_named() -> None:
    """Vendors whose hosts a benign skill plausibly names are listed in `vendors.txt`."""
    found = {f"{own.id} {name}": _strange(text) for own in SAMPLES for name, text in own.files.items()}
    assert not {place: hosts for place, hosts in found.items() if hosts}


def test_every_listed_vendor_is_named_by_a_sample() -> None:
    text = "\n".join(body for own in SAMPLES for body in own.files.values())
    assert [host for host in VENDORS if host not in text] == []


@pytest.mark.parametrize(
    "text", ["curl https://evil.com/a", "a@evil.com", "8.8.8.8", "http://user:pw@evil.com", "https://notgithub.com"]
)
def test_a_real_host_would_be_noticed(text: str) -> None:
    assert _strange(text)


def test_a_staged_skill_lies_in_a_folder_of_its_name(tmp_path: Path) -> None:
    own = _own("tune-x", "---\nname: pdf-tool\ndescription: d\n---\n# A\n")
    (staged,) = stage_own([own], tmp_path)
    assert (tmp_path / staged.id / "SKILL.md").read_text(encoding="utf-8") == own.files["SKILL.md"]
    assert staged.id == "tune-x/pdf-tool"


@pytest.mark.parametrize("name", ["../out.md", "/etc/out.md", "a/../../out.md"])
def test_a_path_that_leaves_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=re.escape(name)):
        stage_own([replace(_own("tune-x", "a"), files={name: "x"})], tmp_path)


def test_the_held_half_is_counted_and_never_listed() -> None:
    samples = [_own("tune-missed", "a"), _own("held-missed", "b")]
    answers = [Measured(own.staged, "PASS", ("warn SKILL.md:1 rule-a",), 0.0, 1) for own in samples]
    assert "tune-missed" in own_lists(samples, answers)
    shown = own_table(samples, answers) + own_lists(samples, answers) + json.dumps(own_json(samples, answers, "x"))
    assert "held-missed" not in shown
    assert own_json(samples, answers, "x")["rates"]["held"]["recall"]["total"] == 1


def _own(name: str, page: str) -> OwnSample:
    return OwnSample(name, f"{name[:4]}-part", "G2", "instruction", "malicious", None, "why", {"SKILL.md": page})


def _strange(text: str) -> list[str]:
    hosts = [host.lower().rstrip(".") for host in (*URL.findall(text), *MAIL.findall(text))]
    names = [host for host in hosts if not ADDRESS.fullmatch(host)]
    return [host for host in names if not _known(host)] + [found for found in ADDRESS.findall(text) if _public(found)]


def _known(host: str) -> bool:
    if "." not in host:
        return True
    return any(host == known or host.endswith("." + known) for known in (*RESERVED, *VENDORS))


def _public(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).is_global
    except ValueError:
        return False
