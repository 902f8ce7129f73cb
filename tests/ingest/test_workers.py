"""A worker that was taken over by what it read: it cannot leave its folder, and a lie in its answer is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.door import refused
from support.hostile import clean_skill, write_files

from skillkeep.confined import run_confined
from skillkeep.errors import SkillkeepError
from skillkeep.ingest import artifacts, fetching
from skillkeep.ingest.fetchers.interface import FetchOrder, fetcher_for
from skillkeep.ingest.request import Floor
from skillkeep.ingest.writer import SourceLimits

GOOD = {"name": "sample", "kind": "skill", "path": "", "description": "", "owner": None}
CUT = {"index": 0, "observations": []}
FETCHED = {"commit": None, "proven": True, "observations": []}


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {**FETCHED, "commit": "\x1b[2J"},
        {**FETCHED, "commit": 7},
        {**FETCHED, "proven": "yes"},
        {**FETCHED, "observations": [["only", "two"]]},
        {**FETCHED, "observations": [[1, 2, 3]]},
        {**FETCHED, "observations": None},
    ],
)
def test_a_malformed_answer_of_the_fetch_worker_is_refused(
    floor: Floor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]
) -> None:
    monkeypatch.setattr(fetching, "run_confined", lambda *_: answer)
    error = refused(floor, write_files(tmp_path / "source", clean_skill()))
    assert (error.code, error.context["cause"]) == ("worker_failed", "protocol")


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"found": [GOOD], "cut": [{**CUT, "index": 5}]},
        {"found": [GOOD], "cut": [{**CUT, "index": "0/../../.."}]},
        {"found": [GOOD], "cut": [{"index": 0}]},
        {"found": [{**GOOD, "name": "../../x"}], "cut": [CUT]},
        {"found": [{**GOOD, "name": "objects"}], "cut": [CUT]},
        {"found": [{**GOOD, "kind": "trusted"}], "cut": [CUT]},
        {"found": [{**GOOD, "path": "../../etc"}], "cut": [CUT]},
        {"found": [{**GOOD, "path": "/etc"}], "cut": [CUT]},
        {"found": [{**GOOD, "owner": 3}], "cut": [CUT]},
        {"found": [{**GOOD, "description": None}], "cut": [CUT]},
        {"found": [GOOD], "cut": [{"index": 0, "error": "no object"}]},
    ],
)
def test_a_malformed_answer_of_the_discovery_worker_is_refused(
    floor: Floor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]
) -> None:
    monkeypatch.setattr(artifacts, "run_confined", lambda *_: answer)
    error = refused(floor, write_files(tmp_path / "source", clean_skill()))
    assert (error.code, error.context["cause"]) == ("worker_failed", "protocol")


def test_an_artifact_the_worker_did_not_write_is_refused(
    floor: Floor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts, "run_confined", lambda *_: {"found": [GOOD], "cut": [CUT]})
    assert refused(floor, write_files(tmp_path / "source", clean_skill())).code == "not_a_tree"


def test_a_link_in_place_of_an_artifact_is_not_followed(
    floor: Floor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lie(_: str, request: dict[str, Any], *__: object) -> dict[str, Any]:
        Path(request["into"]).mkdir()
        (Path(request["into"]) / "0").symlink_to(tmp_path / "private")
        return {"found": [GOOD], "cut": [CUT]}

    write_files(tmp_path / "private", clean_skill("private"))
    monkeypatch.setattr(artifacts, "run_confined", lie)
    assert refused(floor, write_files(tmp_path / "source", clean_skill())).code == "not_a_tree"


def test_a_fetch_worker_reads_and_writes_only_what_its_order_names(tmp_path: Path) -> None:
    limits = SourceLimits(100, 1 << 20, 1 << 20, 8, 20.0)
    folders = {name: write_files(tmp_path / name, {"SKILL.md": b"x"}) for name in ("work", "allowed", "private")}
    honest = FetchOrder("folder", str(folders["work"]), limits, local=str(folders["allowed"]))
    confinement = fetcher_for("folder").confinement(honest)
    reads = FetchOrder("folder", str(folders["work"]), limits, local=str(folders["private"]))
    writes = FetchOrder("folder", str(folders["private"]), limits, local=str(folders["allowed"]))
    for order in (writes, reads):
        with pytest.raises(SkillkeepError) as caught:
            run_confined("skillkeep.ingest.worker:fetch", order.to_wire(), confinement)
        assert (caught.value.code, caught.value.context["errno"]) == ("io_error", "EACCES")
    assert [path.name for path in folders["private"].iterdir()] == ["SKILL.md"]
    assert list((folders["work"] / "tree").iterdir()) == []
