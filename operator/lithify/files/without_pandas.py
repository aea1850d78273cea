"""Keeps pandas out of processes that do not use it: it takes 36 MiB, and seconds to load.

Called by `formats/paimon` and `formats/iceberg` before any of their imports, and by the processes that decode
files. pypaimon imports pandas for type annotations of methods that are not called here, and PyArrow imports
it when an array is created. Both get a stand-in module with only the name of a type and a version too old for
PyArrow, which then works without pandas, and checks only once. If pandas is loaded already it is left alone;
the images do not have it.
"""

from __future__ import annotations

import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa

_NAME = "pandas"


def leave_out_pandas() -> None:
    """Makes PyArrow and pypaimon work without pandas in this process, unless it is loaded."""
    if _NAME in sys.modules:
        return
    stand_in = ModuleType(_NAME, "Stands in for pandas, which is left out of this process.")
    stand_in.__spec__ = ModuleSpec(_NAME, None)
    vars(stand_in).update(DataFrame=object, __version__="0")
    sys.modules[_NAME] = stand_in
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "pyarrow requires pandas", UserWarning)
        pa.array([0])  # makes PyArrow look for it
