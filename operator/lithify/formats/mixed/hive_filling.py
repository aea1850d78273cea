"""Makes a Hive metastore agree with a base store: each partition where the base store's property says it is.

Called after commits, and when a run begins, for whatever stood between a commit and this. Must never fail a
run: the table is right, and readers of Hive have the state before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from lithify.columns.column_groups import Numbers, integers
from lithify.errors import LithifyError
from lithify.formats.iceberg.manifests.view import ManifestReader
from lithify.formats.iceberg.table.partition_paths import spec_of
from lithify.formats.iceberg.table.snapshots import EMPTY
from lithify.formats.mixed.hive_locations import DDL_TIME, FLAG, HiveLocation, hive_locations
from lithify.formats.mixed.hive_planning import is_same_folder, values_of
from lithify.formats.mixed.stores import MixedTable
from lithify.formats.mixed.view import folders_of

if TYPE_CHECKING:
    from lithify.formats.mixed.hive_metastore import HiveTable

_SUMMED = ("file_size_in_bytes", "record_count")
Figures = Mapping[str, str]
"""What a metastore says of the files of a partition."""


def fill_hive(table: MixedTable, folders: Collection[str] | None = None) -> tuple[str, ...]:
    """Moves the partitions that Hive reads elsewhere; returns why that failed, for people.

    Args:
        table: the table; nothing happens to one that Hive does not read.
        folders: the folders of the partitions to look at; None for all.
    """
    if table.hive is None:
        return ()
    try:
        _fill(table, table.hive, folders)
    except LithifyError as error:
        return (f"readers of Hive have an older state of some partitions: {error}",)
    return ()


def _fill(table: MixedTable, hive: HiveTable, folders: Collection[str] | None) -> None:
    stored = hive_locations(table.base.refresh().properties, table.keys)
    wanted = {folder: place for folder, place in stored.items() if folders is None or folder in folders}
    values = {values_of(table, folder): folder for folder in wanted}
    found = {values[each]: location for each, location in hive.locations([*values])}
    behind = {
        folder: place
        for folder, place in wanted.items()
        if folder not in found or not is_same_folder(found[folder], place.location)
    }
    figures = _figures(table, behind) if behind else {}
    for folder, place in behind.items():
        hive.move(values_of(table, folder), place.location, _parameters(place, figures.get(folder, {})))


def _parameters(place: HiveLocation, figures: Figures) -> Figures:
    source = {"lithify.source": place.source} if place.source else {}
    return {DDL_TIME: str(place.seconds), FLAG: "true", **source, **figures}


def _figures(table: MixedTable, folders: Collection[str]) -> Mapping[str, Figures]:
    """Number, bytes and rows of the files of some partitions."""
    metadata, reader = table.base.metadata, ManifestReader(table.base.storage)
    view = reader.view(reader.manifests((table.base.head() or EMPTY).manifest_list))
    partitions = integers(view.data["partition"]).astype(np.int64)
    counts = np.bincount(partitions)
    sizes, rows = (_sums(partitions, integers(view.data[name])) for name in _SUMMED)
    return {
        folder: {
            "numFiles": str(counts[number]),
            "totalSize": str(sizes[number]),
            "numRows": str(rows[number]),
        }
        for number, folder in folders_of(view, view.data, spec_of(metadata, metadata.spec_id)).items()
        if folder in folders
    }


def _sums(partitions: Numbers, values: Numbers) -> Numbers:
    found = np.zeros(int(partitions.max(initial=-1)) + 1, np.int64)
    np.add.at(found, partitions, values.astype(np.int64))
    return found
