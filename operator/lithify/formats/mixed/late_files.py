"""Files of older transactions that others have committed beside a run: they would read differently after it.

Called by the commit's rules. Rows and deletes are ordered by the transactions in names, not by commits. So a
late base file or insert may have rows that a merged delete still removes today; once the delete is merged,
nothing does. A late delete may be older than the transaction of the new base files, and would pass over rows
that it removes today. Neither Arctic nor Amoro has such a rule; planned again, such files are merged. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import Flags, Numbers, flagged, integers
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.table.partition_paths import PartitionSpec
from lithify.formats.mixed.file_names import FileKind, FileNames, names_in_base, names_in_change
from lithify.formats.mixed.units import MixedUnit
from lithify.formats.mixed.view import folders_of

Units = Mapping[Any, MixedUnit]


def overtaken_by_base_files(units: Units, view: View, spec: PartitionSpec) -> frozenset[Any]:
    """The groups with new base files that merged deletes apply to.

    Args:
        units: units of one plan, by group.
        view: the newest live files of the base store.
        spec: its partition spec.
    """
    new = _newer(view, max((unit.start.sequence for unit in units.values()), default=0))
    names = names_in_base(new["file_path"])
    return _groups(units, view, spec, new, lambda unit: np.asarray(names.transactions < unit.last_delete))


def overtaken_by_changes(units: Units, view: View, spec: PartitionSpec) -> frozenset[Any]:
    """The groups with new changes that are older than what is merged; `view` is that of the change store."""
    new = _newer(view, max((unit.change.sequence for unit in units.values()), default=0))
    names = names_in_change(new["file_path"], integers(new["sequence_number"]).astype(np.int64))
    return _groups(units, view, spec, new, lambda unit: _is_older(names, unit))


def _is_older(names: FileNames, unit: MixedUnit) -> Flags:
    is_delete = names.of_kind(FileKind.DELETE)
    return np.asarray(names.transactions <= np.where(is_delete, unit.last_row, unit.last_delete))


def _newer(view: View, sequence: int) -> pa.Table:
    return flagged(view.data, np.asarray(integers(view.data["sequence_number"]) > sequence))


def _groups(
    units: Units, view: View, spec: PartitionSpec, new: pa.Table, is_overtaking: Callable[[MixedUnit], Flags]
) -> frozenset[Any]:
    if not len(new):
        return frozenset()
    folders, partitions = folders_of(view, new, spec), integers(new["partition"]).astype(np.int64)
    return frozenset(
        group
        for group, unit in units.items()
        if (_in(partitions, folders.items(), unit.folder) & is_overtaking(unit)).any()
    )


def _in(partitions: Numbers, folders: Iterable[tuple[int, str]], folder: str) -> Flags:
    return np.isin(partitions, [number for number, each in folders if each == folder])
