"""Keeps pandas out of processes that only pass by it: it takes 36 MiB, and seconds to load.

Called by this package before anything of it is imported. pypaimon imports pandas for the types of methods
that nobody calls here, and PyArrow as soon as an array is made. Both find a module that has no more than the
name of a type and a version that is too old for PyArrow, which then does without, and asks only once. Where
pandas is loaded already it is left alone; the images have none.
"""

from __future__ import annotations

import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa

_NAME = "pandas"


def leave_out_pandas() -> None:
    """Has PyArrow and pypaimon do without pandas in this process, unless it is loaded."""
    if _NAME in sys.modules:
        return
    stand_in = ModuleType(_NAME, "Stands in for pandas, which is left out of this process.")
    stand_in.__spec__ = ModuleSpec(_NAME, None)
    vars(stand_in).update(DataFrame=object, __version__="0")
    sys.modules[_NAME] = stand_in
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "pyarrow requires pandas", UserWarning)
        pa.array([0])  # has PyArrow look for it
