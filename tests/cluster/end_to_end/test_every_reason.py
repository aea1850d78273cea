"""Every STATUS has been seen on the real API server: what these tests prove is all that there is."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from lithify.resources.compaction import Reason


def test_every_reason_is_proved_by_a_test() -> None:
    """Each of these tests fails unless a Compaction has had the reasons that it names."""
    names = [path.stem for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__)]
    modules = [import_module(f"cluster.end_to_end.{name}") for name in names]
    found = [*(vars(module) for module in modules)]
    found += [vars(value) for module in found for value in module.values() if isinstance(value, type)]
    proved = frozenset().union(*(getattr(test, "proves", ()) for place in found for test in place.values()))

    assert proved == set(Reason)
