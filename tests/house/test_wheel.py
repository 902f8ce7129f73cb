"""What is built is whole: every module and every rule is in the wheel, and the wheel runs without the repository."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.sources import FOLDERS, ROOT, product_sources

DATA = {".yaml", ".yml", ".md", ".json"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy, so that nothing of an earlier build gets in and nothing is left here."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    out = tmp_path_factory.mktemp("wheel")
    argv = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*argv, "--wheel-dir", str(out), str(copy)], check=True, capture_output=True, cwd=out)
    return next(out.glob("*.whl"))


def test_every_module_is_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        source.module.replace(".", "/") + ("/__init__.py" if source.is_package else ".py")
        for source in product_sources()
    }
    assert wanted - names == set()
    assert {name for name in names if name.endswith(".py")} - wanted == set()


def test_every_rule_and_its_page_is_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    data = {path for path in (ROOT / "rules").rglob("*") if path.suffix in DATA}
    assert data
    assert {f"skillkeep/{path.relative_to(ROOT).as_posix()}" for path in data} - names == set()
    assert "skillkeep/py.typed" in names


def test_the_wheel_says_the_licence_and_brings_the_four_commands(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    info = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA")).rpartition("/")[0]
    assert "License-Expression: Apache-2.0" in archive.read(f"{info}/METADATA").decode()
    assert f"{info}/licenses/LICENSE" in archive.namelist()
    entry_points = archive.read(f"{info}/entry_points.txt").decode()
    assert {line.split(" = ")[0] for line in entry_points.splitlines() if " = " in line} == {
        "skill",
        "auditor",
        "vault",
        "runner",
    }


def test_the_unpacked_wheel_scans_a_skill_without_the_repository(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            archive.extract(name, place)
    code = (
        "import sys; sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in repr(f)];"
        f"sys.path.insert(0, {str(place)!r});"
        "import skillkeep.auditor, skillkeep; assert skillkeep.__file__.startswith(sys.path[0]), skillkeep.__file__;"
        "from skillkeep.dispatch.cli.main import auditor;"
        f"sys.argv = ['auditor', 'rules', '--json']; sys.exit(auditor())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        env={"HOME": str(tmp_path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert '"ok": true' in done.stdout
