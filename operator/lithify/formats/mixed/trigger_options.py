"""From which figures on partitions are due: options of the seed, with Amoro's properties as their defaults.

Read by `triggers` and by whatever counts small files. The seed's values are per node, so that they mean the
same whatever the number of nodes; here they are for whole partitions. Any of them is turned off by -1, as in
Amoro. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from lithify.errors import InvalidOption
from lithify.formats.iceberg.planning.options import (
    AMORO_FILE_COUNT,
    AMORO_INTERVAL,
    AMORO_TARGET_SIZE,
    INTERVAL,
)
from lithify.formats.iceberg.properties import number_in
from lithify.formats.mixed.nodes import level_of_nodes

DELETE_BYTES = "compact.major.delete.file.size.bytes"
DELETE_RATIO = "compact.major.delete.file.ratio"
LEAST_DELETE_BYTES = "compact.major.delete.file.size.bytes.lowest"
FILE_COUNT = "compact.major.file.cnt"
SMALL_FILE_SIZE = "compact.major.small.file.size.bytes"
"""The options of the seed, with `INTERVAL`; bytes, and milliseconds."""
BASE_NODES = "base.file-index.hash-bucket"
FRAGMENT_RATIO = "self-optimizing.fragment-ratio"
MAJOR_INTERVAL = "self-optimizing.major.trigger.interval"
FULL_INTERVAL = "self-optimizing.full.trigger.interval"
HIVE_INTERVAL = "base.hive.refresh-interval"
DUPLICATE_RATIO = "self-optimizing.major.trigger.duplicate-ratio"
"""Properties of Amoro, with those that keyless tables have, too; that of the major interval was dropped after
version 0.4."""

OFF = -1
_TARGET_SIZE, _FRAGMENT_RATIO = 128 << 20, 8
_NODES, _FILE_COUNT = 4, 12
_HOUR = 3_600_000
_DELETE_RATIO = 0.1
_MOST_NODES = 1 << 20
_TARGET_PER_DELETES = 2
"""Deletes of a node make it due from half of the target size on: as for full optimizing in version 0.4."""


@dataclass(frozen=True, slots=True)
class MajorOptions:
    """From which figures on a partition is due; None where a trigger is off. Sizes in bytes.

    Attributes:
        nodes: the number of nodes that are written; 1 in tables without keys.
        small_file_size: base files below this are small.
        delete_bytes: unmerged deletes from which it is due.
        delete_ratio: their share in base files and unmerged inserts from which it is due.
        least_delete_bytes: deletes below this are too few for the ratio to count.
        small_files: unmerged and small files from which it is due.
        changes_millis: milliseconds after which unmerged changes are merged, however few.
        base_millis: milliseconds after which base files are rewritten if there is something to gain.
        most_deleted: the share of position deletes up to which a base file that is not small may stay; None
            for any.
        hive_folder: what paths of files have that Hive reads; empty for tables that it does not read.
        target_size: bytes of new files.
    """

    nodes: int
    small_file_size: int
    delete_bytes: int | None
    delete_ratio: float | None
    least_delete_bytes: int
    small_files: int | None
    changes_millis: int | None
    base_millis: int | None
    most_deleted: float | None = _DELETE_RATIO
    hive_folder: str = ""
    target_size: int = _TARGET_SIZE


def write_nodes(properties: Mapping[str, str]) -> int:
    """The number of nodes into which the rows of a keyed table are written.

    Raises:
        InvalidOption: it is no power of two.
    """
    nodes = number_in(properties, BASE_NODES, _NODES, 1, _MOST_NODES)
    try:
        level_of_nodes(nodes)
    except ValueError as error:
        raise InvalidOption(BASE_NODES, str(error)) from error
    return nodes


def major_options(
    options: Mapping[str, str], properties: Mapping[str, str], *, has_key: bool = True
) -> MajorOptions:
    """Reads from which figures on partitions are due.

    Args:
        options: options of the run; they override properties of the same name.
        properties: the properties of the base store.
        has_key: whether the table has a key. Other tables have no changes to merge; the share of their delete
            files counts, which the seed does not ask for.

    Raises:
        InvalidOption: a value is none.
    """
    found = {**properties, **options}
    nodes = write_nodes(found) if has_key else 1
    target = number_in(found, AMORO_TARGET_SIZE, _TARGET_SIZE, 1)
    fragment = target // number_in(found, FRAGMENT_RATIO, _FRAGMENT_RATIO, 1)
    deletes = _optional(found, DELETE_BYTES, max(1, target // _TARGET_PER_DELETES))
    return MajorOptions(
        nodes=nodes,
        small_file_size=number_in(found, SMALL_FILE_SIZE, fragment, 0),
        delete_bytes=None if deletes is None or not has_key else deletes * nodes,
        delete_ratio=_ratio(found, DELETE_RATIO if DELETE_RATIO in found else DUPLICATE_RATIO),
        least_delete_bytes=number_in(found, LEAST_DELETE_BYTES, fragment, 0) * nodes,
        small_files=_small_files(found, nodes),
        changes_millis=_interval(found, AMORO_INTERVAL, _HOUR) if has_key else None,
        base_millis=_base_interval(found),
        most_deleted=_ratio(found, DUPLICATE_RATIO),
        target_size=target,
    )


def _small_files(found: Mapping[str, str], nodes: int) -> int | None:
    """The default is Amoro's number for a partition, which is above that of the files that a merge makes."""
    if FILE_COUNT in found:
        count = _optional(found, FILE_COUNT, OFF)
        return None if count is None else count * nodes
    usual = _optional(found, AMORO_FILE_COUNT, _FILE_COUNT)
    return None if usual is None else max(usual, nodes + 1)


def _interval(found: Mapping[str, str], name: str, default: int) -> int | None:
    """The seed's interval, or one of Amoro's in its place."""
    return _optional(found, INTERVAL if INTERVAL in found else name, default)


def _base_interval(found: Mapping[str, str]) -> int | None:
    defaults = {MAJOR_INTERVAL: 24 * _HOUR, FULL_INTERVAL: OFF, HIVE_INTERVAL: OFF}
    intervals = [_interval(found, name, default) for name, default in defaults.items()]
    return min((each for each in intervals if each is not None), default=None)


def _optional(found: Mapping[str, str], name: str, default: int) -> int | None:
    """A number; None if it turns its trigger off. With 0 a trigger would always fire, so that is refused."""
    value = number_in(found, name, default)
    if value == 0:
        raise InvalidOption(name, f"0 has to be a positive number, or {OFF} for off")
    return None if value < 0 else value


def _ratio(found: Mapping[str, str], name: str) -> float | None:
    text = found.get(name, str(_DELETE_RATIO))
    with suppress(ValueError):
        value = float(text)
        if value < 0 or 0 < value < float("inf"):
            return None if value < 0 else value
    raise InvalidOption(name, f"{text} has to be a number above 0, or {OFF} for off")
