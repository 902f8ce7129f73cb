"""One folder is told from another one at the same path."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillkeep.runner.environments.folder import Folder, folder_at

ONE = Folder(1, 2, 3)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (Folder(1, 2, 3), True),
        (Folder(9, 2, 3), True),  # mounted anew
        (Folder(1, 2, 4), False),  # its number given away again
        (Folder(1, 3, 3), False),
        (Folder(1, 2, 0), False),
    ],
)
def test_the_time_of_its_making_decides(other: Folder, same: bool) -> None:
    assert ONE.is_same(other) is other.is_same(ONE) is same


def test_where_no_time_is_known_the_device_counts() -> None:
    assert Folder(1, 2, 0).is_same(Folder(1, 2, 0))
    assert not Folder(1, 2, 0).is_same(Folder(9, 2, 0))


def test_a_folder_stays_itself_while_it_is_used_and_the_next_one_is_another(tmp_path: Path) -> None:
    place = tmp_path / "project"
    place.mkdir()
    first = folder_at(str(place))
    (place / "file").write_text("text")
    place.chmod(0o700)
    assert folder_at(str(place)).is_same(first)
    (place / "file").unlink()
    place.rmdir()
    place.mkdir()
    assert not folder_at(str(place)).is_same(first)
