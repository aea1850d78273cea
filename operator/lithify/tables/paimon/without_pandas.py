"""Keeps pandas out of processes that only pass by it: loading it costs as much as all that they need.

Called by this package before anything of it is imported. pypaimon imports pandas for the types of methods
that nobody calls here, and PyArrow as soon as an array is made, if it is installed. PyArrow asks once whether
it is; pypaimon then finds a module that has no more than the name of a type. Where pandas is loaded already
it is left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa

_NAME = "pandas"


class _Absent:
    """A finder to which pandas is not installed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if name == _NAME:
            raise ModuleNotFoundError(f"{_NAME} is left out", name=name)
        return None


def leave_out_pandas() -> None:
    """Has PyArrow and pypaimon do without pandas in this process, unless it is loaded."""
    if _NAME in sys.modules:
        return
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        pa.array([0])  # has PyArrow look for it, which it does only once
    finally:
        sys.meta_path.remove(absent)
    sys.modules[_NAME] = _stand_in()


def _stand_in() -> ModuleType:
    module = ModuleType(_NAME, "Stands in for pandas, which is left out of this process.")
    module.__spec__ = ModuleSpec(_NAME, None)
    # PyArrow says clearly that this is not enough, should something ever need pandas after all.
    vars(module).update(DataFrame=object, __version__="0")
    return module
