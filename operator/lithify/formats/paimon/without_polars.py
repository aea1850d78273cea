"""Makes pypaimon importable without Polars, as in the operator's image.

Called by this package before any of its imports. pypaimon imports Polars for readers that are not called
here; it then only needs the name of a type. If Polars is installed nothing is done, because merges rank rows
with it.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

_NAME = "polars"


class _StandIn(ModuleType):
    """A stand-in for Polars with only the name of a type."""

    DataFrame = object

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # attributes that Python itself looks up in modules
            raise AttributeError(name)
        raise ImportError(f"Polars, which has {name}, is not installed; the Spark image has it", name=_NAME)


def stand_in_for_polars() -> None:
    """Makes pypaimon work without Polars in this process, unless it is installed."""
    if _NAME in sys.modules or find_spec(_NAME) is not None:
        return
    module = _StandIn(_NAME)
    module.__spec__ = ModuleSpec(_NAME, None)
    sys.modules[_NAME] = module
