"""Plans partitions of Hive-compatible tables: always whole, because Hive reads all files of one folder.

Called by planning and by commits. A partition may only be moved while the folder that Hive reads has no file
but the table's own. Hive's readers would lose others, which somebody has written by Hive alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from lithify.engine.pack.next_fit import next_fit
from lithify.formats.mixed.hive_locations import ROOT, new_folder, plain
from lithify.formats.mixed.stores import MixedTable
from lithify.formats.mixed.units import MixedUnit, Subtree

_FILES_A_TASK = 4
"""Files of the target size that a task of a keyless table writes."""
_HIDDEN = (".", "_")
"""What names of files begin with that Hive does not read."""


def hive_parts(table: MixedTable, parts: tuple[Subtree, ...]) -> tuple[Subtree, ...]:
    """All subtrees of a partition if one of them has anything to merge or to move, else none.

    Rows of keyless tables may be in any task, so theirs are of limited size.
    """
    options = table.options
    is_outside = any(options.hive_folder not in each.file.path for part in parts for each in part.base)
    if not is_outside and not any(part.is_worth_it for part in parts):
        return ()
    if table.change is not None:
        return parts
    most = _FILES_A_TASK * options.target_size
    return tuple(each for part in parts for each in _divided(part, most))


def in_hive(table: MixedTable, unit: MixedUnit, millis: int) -> MixedUnit:
    """A unit with its new folder; unchanged in tables that Hive does not read."""
    if table.hive is None:
        return unit
    transaction = max(part.transaction for part in unit.subtrees)
    root = table.base.metadata.properties[ROOT]
    return replace(unit, hive=new_folder(root, unit.folder, millis, transaction))


def strange_files(table: MixedTable, unit: MixedUnit) -> str | None:
    """Why the folder of a partition may not be left; None if it may.

    Raises:
        CatalogUnavailable: the metastore gives no answer.
        StorageError: the folder cannot be listed.
    """
    if table.hive is None or (folder := table.hive.location(values_of(table, unit.folder))) is None:
        return None
    root = table.base.metadata.properties[ROOT]
    if not f"{plain(folder)}/".startswith(f"{plain(root)}/"):
        return f"Hive reads it in {folder}, which is not below {root}"
    known = {plain(each.file.path) for part in unit.subtrees for each in part.base}
    found = [path for path in _visible(table, folder) if plain(path) not in known]
    return f"Hive reads {found[0]}, which is no file of the table" if found else None


def strange_in_hive(table: MixedTable, units: Mapping[Any, MixedUnit]) -> Mapping[Any, str]:
    """The groups whose folders may no longer be left, with the reason; raises as `strange_files`."""
    if table.hive is None:
        return {}
    found = {group: strange_files(table, unit) for group, unit in units.items()}
    return {group: problem for group, problem in found.items() if problem is not None}


def values_of(table: MixedTable, folder: str) -> tuple[str, ...]:
    """The values of a partition as Hive has them."""
    return tuple(table.keys.values_of(folder).texts) if folder else ()


def is_same_folder(one: str, other: str) -> bool:
    """Whether two locations are of one folder."""
    return plain(one) == plain(other)


def _divided(part: Subtree, most: int) -> Iterator[Subtree]:
    """Divides a subtree into parts of at most `most` bytes; a larger file is a part of its own."""
    starts = next_fit(np.array([each.file.size for each in part.base], np.int64), most).tolist()
    for start, stop in pairwise([*starts, len(part.base)]):
        yield replace(part, base=part.base[start:stop])


def _visible(table: MixedTable, folder: str) -> Iterator[str]:
    """The files in a folder that Hive reads; folders in it may be those of later states."""
    for each in table.storage.list(folder):
        if not each.is_folder and not each.name.startswith(_HIDDEN):
            yield f"{folder.rstrip('/')}/{each.name}"
