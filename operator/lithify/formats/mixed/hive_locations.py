"""Where the rows of a Hive-compatible table lie for readers of Hive, as its base store has it in a property.

Written in the same commit as the files, and read by whatever makes the metastore agree with it. Follows
`HiveTableUtil` and `UpdateHiveFiles` of Amoro. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lithify.formats.iceberg.support.reasons import HIVE_ROOT
from lithify.formats.mixed.line_properties import PROPERTY, facts_named
from lithify.formats.mixed.partition_keys import PartitionKeys
from lithify.io.locations import local_path

ROOT = HIVE_ROOT
"""The property with the folder below which files are that Hive reads."""
ROOT_LOCATION = "arctic.table.root-location"
"""The parameter that names the folder of both stores; an option of LakeTables where 0.4 left it out."""
FLAG = "arctic.enabled"
"""The parameter that marks what of Hive belongs to such a table."""
_LOCATION, _TIME, _SOURCE = "hive-location", "transient-time", "lithify.source"
DDL_TIME = "transient_lastDdlTime"
"""The parameter by which Amoro's readers find that somebody else has changed a partition in Hive."""

BASE, BASE_AND_CHANGE = "Base", "BaseAndChange"
_MOST_DIGITS = 12


@dataclass(frozen=True, slots=True)
class HiveLocation:
    """Where Hive should read a partition.

    Attributes:
        location: the folder.
        seconds: when it was committed, in seconds since 1970.
        source: the stores of which its rows were made; empty if others moved it.
    """

    location: str
    seconds: int
    source: str = ""

    @property
    def facts(self) -> Mapping[str, str]:
        """As facts of the partition in the property."""
        return {_LOCATION: self.location, _TIME: str(self.seconds), _SOURCE: self.source}


def hive_locations(properties: Mapping[str, str], keys: PartitionKeys) -> Mapping[str, HiveLocation]:
    """The location from which Hive should read each partition that a run has moved, by its folder.

    Raises:
        CorruptTable: the property is of another form.
    """
    locations, times, sources = (facts_named(properties, keys, name) for name in (_LOCATION, _TIME, _SOURCE))
    return {
        folder: HiveLocation(location, _seconds(times.get(folder, "")), sources.get(folder, ""))
        for folder, location in locations.items()
    }


def hive_folder(properties: Mapping[str, str]) -> str:
    """What paths of files have that Hive reads: the root without its scheme, of which there are several."""
    return f"{plain(properties.get(ROOT, ''))}/"


def named_for_hive(properties: Mapping[str, str]) -> str | None:
    """What in the properties of a base store says that Hive reads its files; None if nothing does."""
    if ROOT in properties:
        return ROOT
    return _LOCATION if f'"{_LOCATION}"' in properties.get(PROPERTY, "") else None


def plain(path: str) -> str:
    """A path without its scheme."""
    local = local_path(path)
    return (path.partition("://")[2] if local is None else local).rstrip("/")


def new_folder(root: str, partition: str, millis: int, transaction: int) -> str:
    """The folder for all files of a partition, which nobody reads before the metastore names it.

    Args:
        root: the folder of all files that Hive reads.
        partition: the folder of the partition; empty in tables without partitions.
        millis: the time, in milliseconds since 1970.
        transaction: the highest transaction of its rows.
    """
    return "/".join(part for part in (root.rstrip("/"), partition, f"{millis}_{transaction}") if part)


def _seconds(text: str) -> int:
    """Zero for a text that is no time: it is only shown."""
    return int(text) if text.isdecimal() and len(text) < _MOST_DIGITS else 0
