"""The files that a run writes into a new folder of Hive: where they go, their names, what Hive can decode.

Called by tasks. Files of keyless tables have hidden names until they are finished, as Arctic's writers have
it: readers that look into folders below that of the table would find half of a partition.
"""

from __future__ import annotations

from dataclasses import replace

from lithify.formats.iceberg.model import NewDataFile
from lithify.formats.iceberg.rewriting.destinations import Destination
from lithify.formats.iceberg.rewriting.options import WriteOptions
from lithify.formats.iceberg.rewriting.target import WriteTarget
from lithify.formats.iceberg.table.data_locations import DataLocations
from lithify.formats.mixed.units import MixedUnit
from lithify.io.storage import Storage

_HIDDEN = "."


def in_hive(target: WriteTarget, unit: MixedUnit) -> WriteTarget:
    """The target of a unit: its new folder, if Hive reads the table."""
    if not unit.hive:
        return target
    folder = DataLocations(unit.hive, has_partitions=False)
    return replace(target, locations=folder, options=_for_hive(target.options))


def hidden(place: Destination) -> Destination:
    """A destination whose files Hive does not read."""
    return replace(place, name_start=f"{_HIDDEN}{place.name_start}")


def shown(file: NewDataFile, storage: Storage) -> NewDataFile:
    """A finished file under the name by which Hive reads it.

    Raises:
        StorageError: it cannot be renamed.
    """
    folder, _, name = file.path.rpartition("/")
    if not name.startswith(_HIDDEN):
        return file
    storage.rename(file.path, name.removeprefix(_HIDDEN))
    return replace(file, path=f"{folder}/{name.removeprefix(_HIDDEN)}")


def _for_hive(options: WriteOptions) -> WriteOptions:
    """Hive decodes no decimals that are stored as integers."""
    parquet = replace(options.files.parquet, decimals_as_integers=False)
    return replace(options, files=replace(options.files, parquet=parquet))
