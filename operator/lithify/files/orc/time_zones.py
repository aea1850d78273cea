"""Time zones of ORC files: the database for the C++ library, and the UTC offsets of zones.

Called before and while an ORC file is read. The library looks in the system's database, which slim images
lack; then it gets the one of the tzdata package.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import lru_cache
from importlib import resources
from pathlib import Path
from zoneinfo import ZoneInfo

SYSTEM = Path("/usr/share/zoneinfo")
VARIABLE = "TZDIR"
_KEPT = 256
_MOST_NAME = 100


def provide(system: Path = SYSTEM) -> None:
    """Points the library to a time zone database, unless the system has one."""
    if VARIABLE not in os.environ and not (system / "GMT").exists():
        os.environ[VARIABLE] = str(resources.files("tzdata") / "zoneinfo")


@lru_cache(_KEPT)
def ahead_in_1970(name: str) -> int:
    """Seconds by which a time zone was ahead of UTC at the start of 1970; 0 for an empty name.

    Raises:
        LookupError: the time zone is unknown, so the C++ library could not read the file either.
    """
    if not name:
        return 0
    try:
        zone = ZoneInfo(name[:_MOST_NAME])
    except (ValueError, OSError) as error:  # of names that are paths, or those of folders
        raise LookupError(f"its time zone is unknown ({error})") from error
    offset = datetime.fromtimestamp(0, UTC).astimezone(zone).utcoffset()
    return int(offset.total_seconds()) if offset else 0
