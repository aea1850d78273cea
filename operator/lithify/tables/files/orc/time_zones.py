"""Time zones of ORC files: where the C++ library finds them, and what a clock in one of them said.

Called before an ORC file is opened, and as one is read. The library looks into the system's database, which
slim images do not have; then it gets the one of the package tzdata.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from pathlib import Path
from zoneinfo import ZoneInfo

SYSTEM = Path("/usr/share/zoneinfo")
VARIABLE = "TZDIR"


def provide(system: Path = SYSTEM) -> None:
    """Points the library to a database, unless it finds one by itself."""
    if VARIABLE not in os.environ and not (system / "GMT").exists():
        os.environ[VARIABLE] = str(resources.files("tzdata") / "zoneinfo")


@cache
def ahead_in_1970(name: str) -> int:
    """Seconds by which clocks in a time zone were ahead of UTC when 1970 began; 0 if it has no name.

    Raises:
        LookupError: nobody knows such a time zone, so nothing could be read, either.
    """
    offset = datetime.fromtimestamp(0, UTC).astimezone(ZoneInfo(name)).utcoffset() if name else None
    return int(offset.total_seconds()) if offset else 0
