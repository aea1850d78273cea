"""Which partitions need a minor unit: their deletes are written again, and their data files stay.

Called by `plan`, so by planners and observers. Equality deletes become positions: readers would look up every
row of a partition in all of them. Position delete files of one data file become one, and those about several
data files become one for each: readers of each would open all of them. Vectors in Puffin files of which most
is dead move to new ones. What due bins rewrite is left to them. The limits are those of Amoro's minor
optimizing, where it has any. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lithify.columns.column_groups import Flags, Numbers
from lithify.formats.iceberg.planning.figures import Figures, PartitionDeletes
from lithify.formats.iceberg.planning.options import PlanningOptions
from lithify.formats.protocol.model import fingerprint_of

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class GroupDeletes:
    """Delete files of one kind that apply to data files which stay, by group.

    Attributes:
        files: the delete files, group by group, in the order of their rows.
        groups: the group of each of them.
        newest: the greatest sequence number of each group; -1 for those without any.
        is_due: whether those of a group are written again.
    """

    files: PartitionDeletes
    groups: Numbers
    newest: Numbers
    is_due: Flags

    def of(self, group: int) -> Numbers:
        """The rows of those of a group among the deletes of the view."""
        return np.asarray(self.files.rows[self.groups == group])


@dataclass(frozen=True, slots=True)
class MinorWork:
    """What minor units do in the groups of a table.

    Attributes:
        equality: the equality deletes.
        shared: the position deletes about several data files.
        oldest: when the oldest equality delete of each group was committed, in milliseconds since 1970;
            `NEVER` if there is none.
        crowded: mask of the data files with many position delete files of their own, which stay.
        freed: mask of the data files that `shared` are about no more after the unit.
        files: mask of the data files whose deletes are written again.
        half_dead: mask of the other data files that stay and have a vector in a half dead Puffin file.
        dead_bytes: bytes of these Puffin files that no vector needs, by group.
        moved: mask of those of `half_dead` whose vectors move to new Puffin files.
    """

    equality: GroupDeletes
    shared: GroupDeletes
    oldest: Numbers
    crowded: Flags
    freed: Flags
    files: Flags
    half_dead: Flags
    dead_bytes: Numbers
    moved: Flags

    def moved_of(self, data_groups: Numbers, group: int) -> Numbers:
        """The data files of a group whose vectors move to new Puffin files."""
        return np.flatnonzero(self.moved & (data_groups == group))

    def files_of(self, data_groups: Numbers, group: int) -> Numbers:
        """The data files of a group's unit; none if it is not due."""
        return np.flatnonzero(self.files & (data_groups == group))

    def deletes_of(self, group: int) -> Numbers:
        """The equality deletes of a group, and the other deletes of its partition that are written again."""
        return np.concatenate([self.equality.of(group), self.shared_of(group)])

    def shared_of(self, group: int) -> Numbers:
        """Those about several data files that a group's unit writes again; none if they are not due."""
        return self.shared.of(group)[: None if self.shared.is_due[group] else 0]


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
    least = _least(figures, groups, stays, len(partitions))
    equality = _in_groups(figures.equality, partitions, least, options.equality_files)
    oldest = _by_group(np.minimum, NEVER, equality.groups, equality.files.millis, len(partitions))
    if options.equality_before is not None:
        has_waited = oldest <= options.equality_before
        equality = replace(equality, is_due=equality.is_due | has_waited)
    # A position delete applies to files of its own commit, too: as if it was newer by one.
    taking = stays & figures.takes_positions
    least = _least(figures, groups, taking, len(partitions)) - 1
    shared = _in_groups(figures.shared, partitions, least, options.shared_files)
    crowded = stays & (figures.position_files >= options.position_files)
    covered = stays & equality.is_due[groups] & (figures.sequences < equality.newest[groups])
    freed = taking & shared.is_due[groups] & (figures.sequences <= shared.newest[groups])
    files = crowded | covered | freed
    half_dead = stays & ~files & (figures.dead_bytes > 0)
    dead_bytes = _dead_bytes(figures, groups, half_dead, len(partitions))
    moved = half_dead & (dead_bytes >= options.dead_vector_bytes)[groups]
    return MinorWork(equality, shared, oldest, crowded, freed, files, half_dead, dead_bytes, moved)


def minor_fingerprint(data: Iterable[str], deletes: Iterable[str]) -> str:
    """Identifies a minor unit by the paths of its data files, and of the deletes of its partition."""
    return fingerprint_of([*((path, 0) for path in data), *((path, 1) for path in deletes)])


def _dead_bytes(figures: Figures, groups: Numbers, half_dead: Flags, count: int) -> Numbers:
    """The dead bytes of the Puffin files of each group's data files; each file counts once in a group."""
    rows = np.flatnonzero(half_dead)
    rows = rows[np.unique(np.stack([groups[rows], figures.puffins[rows]]), axis=1, return_index=True)[1]]
    return _by_group(np.add, 0, groups[rows], figures.dead_bytes[rows], count)


def _least(figures: Figures, groups: Numbers, chosen: Flags, count: int) -> Numbers:
    """The least sequence number of the chosen data files of each group; `NEVER` without any."""
    return _by_group(np.minimum, NEVER, groups[chosen], figures.sequences[chosen], count)


def _in_groups(deletes: PartitionDeletes, partitions: Numbers, least: Numbers, limit: int) -> GroupDeletes:
    """The deletes of each group that are newer than its least number; due from the limit on."""
    places = np.searchsorted(partitions, deletes.partitions)
    applies = places < len(partitions)
    applies[applies] = partitions[places[applies]] == deletes.partitions[applies]
    applies[applies] = deletes.sequences[applies] > least[places[applies]]
    owners, found = places[applies], deletes.chosen(applies)
    order = np.argsort(owners, kind="stable")
    owners, found = owners[order], found.chosen(order)
    newest = _by_group(np.maximum, -1, owners, found.sequences, len(partitions))
    return GroupDeletes(found, owners, newest, np.bincount(owners, minlength=len(partitions)) >= limit)


def _by_group(function: Any, start: int, groups: Numbers, values: Numbers, count: int) -> Numbers:
    """The least value of each group, the greatest, or the sum; `start` for those without any."""
    found = np.full(count, start, dtype=np.int64)
    function.at(found, groups, values)
    return found
