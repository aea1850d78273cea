"""Lets pypaimon be imported where Polars is not installed, as in the operator's image.

Called by this package before anything of it is imported. pypaimon imports Polars for readers of rows that
nobody here calls; all that it needs of it then is the name of a type. Where Polars is installed nothing is
done, because merges rank rows with it.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

_NAME = "polars"


class _StandIn(ModuleType):
    """A Polars that has nothing but the name of a type."""

    DataFrame = object

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # what Python itself asks of modules
            raise AttributeError(name)
        raise ImportError(f"Polars, which has {name}, is not installed; the Spark image has it", name=_NAME)


def stand_in_for_polars() -> None:
    """Has pypaimon do without Polars in this process, unless it is installed."""
    if _NAME in sys.modules or find_spec(_NAME) is not None:
        return
    module = _StandIn(_NAME)
    module.__spec__ = ModuleSpec(_NAME, None)
    sys.modules[_NAME] = module
