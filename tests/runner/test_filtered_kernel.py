"""The rung without namespaces on a kernel whose Landlock lets files that may only be read be cut short."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.landlock import Ruleset, abi_or_none
from skillkeep.runner.filtered.backend import FilteredBackend


def test_a_kernel_that_does_not_keep_files_whole_is_refused() -> None:
    found = FilteredBackend().probe()
    assert found.available is (abi_or_none() >= 3)
    assert found.available or "layer landlock failed" in found.reason


@pytest.mark.skipif(not abi_or_none(), reason="the kernel has no Landlock")
def test_a_granted_path_that_has_become_a_link_gets_no_rights(tmp_path: Path) -> None:
    """Another run with a grant above could have turned it into one since it was looked at."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "granted").symlink_to("secret")
    rules = Ruleset()
    rules.allow_granted([str(tmp_path / "secret")])
    with pytest.raises(KernelError, match="granted") as refused:
        rules.allow_granted([str(tmp_path / "granted")])
    assert refused.value.number == errno.ELOOP
