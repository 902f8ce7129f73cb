"""One bench per test and attacker; without root only the current user attacks."""

from support.benches import _bench, _own

__all__ = ["_bench", "_own"]
