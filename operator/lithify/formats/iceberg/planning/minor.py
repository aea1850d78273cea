"""Which partitions need a minor unit: their deletes are written again, and their data files stay.

Called by `plan`, so by planners and observers. Equality deletes become positions: readers would look up every
row of a partition in all of them. Position delete files of one data file become one. What due bins rewrite is
left to them. The limits are those of Amoro's minor optimizing. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lithify.columns.column_groups import Flags, Numbers
from lithify.formats.iceberg.planning.figures import Figures
from lithify.formats.iceberg.planning.options import PlanningOptions
from lithify.formats.protocol.model import fingerprint_of

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class MinorWork:
    """What minor units do in the groups of a table.

    Attributes:
        deletes: rows of the equality deletes that apply to files which stay, group by group, in the order of
            their rows.
        groups: the group of each of them.
        oldest: when the oldest one of each group was committed, in milliseconds since 1970; `NEVER` if there
            is none.
        crowded: mask of the data files with many position delete files, which stay.
        files: mask of the data files whose deletes are written again.
    """

    deletes: Numbers
    groups: Numbers
    oldest: Numbers
    crowded: Flags
    files: Flags

    def files_of(self, data_groups: Numbers, group: int) -> Numbers:
        """The data files of a group's unit; none if it is not due."""
        return np.flatnonzero(self.files & (data_groups == group))

    def deletes_of(self, group: int) -> Numbers:
        """The equality deletes of a group."""
        return np.asarray(self.deletes[self.groups == group])


def minor_work(
    figures: Figures, partitions: Numbers, groups: Numbers, stays: Flags, options: PlanningOptions
) -> MinorWork:
    """Finds the work of minor units.

    Args:
        figures: the figures of all data files.
        partitions: the partition of each group, ascending.
        groups: the group of each data file.
        stays: mask of the data files that are in no due bin.
        options: the options of the plan.
    """
    deletes = figures.equality
    places = np.searchsorted(partitions, deletes.partitions)
    is_known = places < len(partitions)
    is_known[is_known] = partitions[places[is_known]] == deletes.partitions[is_known]
    least = _by_group(np.minimum, NEVER, groups[stays], figures.sequences[stays], len(partitions))
    applies = is_known.copy()
    applies[is_known] = deletes.sequences[is_known] > least[places[is_known]]
    owners, found = places[applies], deletes.chosen(applies)
    oldest = _by_group(np.minimum, NEVER, owners, found.millis, len(partitions))
    newest = _by_group(np.maximum, -1, owners, found.sequences, len(partitions))
    is_due = np.bincount(owners, minlength=len(partitions)) >= options.equality_files
    if options.equality_before is not None:
        is_due |= oldest <= options.equality_before
    crowded = stays & (figures.position_files >= options.position_files)
    covered = stays & is_due[groups] & (figures.sequences < newest[groups])
    order = np.argsort(owners, kind="stable")
    return MinorWork(found.rows[order], owners[order], oldest, crowded, crowded | covered)


def minor_fingerprint(data: Iterable[str], deletes: Iterable[str]) -> str:
    """Identifies a minor unit by the paths of its data files and equality deletes."""
    return fingerprint_of([*((path, 0) for path in data), *((path, 1) for path in deletes)])


def _by_group(function: Any, start: int, groups: Numbers, values: Numbers, count: int) -> Numbers:
    """The least or greatest value of each group; `start` for those without any."""
    found = np.full(count, start, dtype=np.int64)
    function.at(found, groups, values)
    return found
