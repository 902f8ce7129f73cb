"""The rung without namespaces on a kernel whose Landlock lets files that may only be read be cut short."""

from __future__ import annotations

from skillkeep.kernel.landlock import abi_or_none
from skillkeep.runner.filtered.backend import FilteredBackend


def test_a_kernel_that_does_not_keep_files_whole_is_refused() -> None:
    found = FilteredBackend().probe()
    assert found.available is (abi_or_none() >= 3)
    assert found.available or "layer landlock failed" in found.reason
