"""Sees to it that the C++ library for ORC finds the time zones that it needs to read and write any timestamp.

Called before an ORC file is opened. The library looks into the system's database, which slim images do not
have; then it gets the one of the package tzdata.
"""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

SYSTEM = Path("/usr/share/zoneinfo")
VARIABLE = "TZDIR"


def provide(system: Path = SYSTEM) -> None:
    """Points the library to a database, unless it finds one by itself."""
    if VARIABLE not in os.environ and not (system / "GMT").exists():
        os.environ[VARIABLE] = str(resources.files("tzdata") / "zoneinfo")
