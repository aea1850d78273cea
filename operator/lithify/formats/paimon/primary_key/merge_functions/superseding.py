"""Merges records of level 0 that supersede rows of levels above the output, in tables with deletion vectors.

Made by `lookups` for rewrites with such levels, and given a collector by the task. Paimon looks up each key
of level 0 in the levels above the output (`LookupChangelogMergeFunctionWrapper`): a row found there is
deleted by a deletion vector, and is one of the records that are merged. Here the rows of those levels take
part in the merge as runs, whose records are dropped where level 0 has no record of their key.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lithify.columns.bitmaps import bitmap_of
from lithify.columns.order import IntPart
from lithify.engine.rewrite.functions import LoneRecords, Merged, MergeFunction
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.records import Mask
from lithify.engine.rewrite.row_positions import ROW_PLACE, split_places
from lithify.formats.paimon.primary_key.merge_functions.lookup import Lookup, spread

if TYPE_CHECKING:
    from pyroaring import BitMap


class Superseded:
    """Collects the rows that are superseded, by the number of their file."""

    def __init__(self) -> None:
        self.rows: dict[int, BitMap] = {}

    def add(self, places: IntPart) -> None:
        """Adds rows by their places."""
        files, positions = split_places(places)
        for file in np.unique(files).tolist():
            found = bitmap_of(positions[files == file].astype(np.uint32))
            self.rows[file] = self.rows[file] | found if file in self.rows else found


@dataclass(frozen=True, slots=True)
class Superseding:
    """The merge function.

    Attributes:
        function: the table's merge function.
        first_upper_run: number of the first run above level 0.
        first_known_run: number of the first run above the output level.
        merges_known: whether found rows are merged: their values or sequence fields count, or the changelog
            has them.
        superseded: receives the rows that were found. Each task has its own.
    """

    function: MergeFunction
    first_upper_run: int
    first_known_run: int
    merges_known: bool
    superseded: Superseded = field(default_factory=Superseded, compare=False)

    @property
    def columns(self) -> Collection[str]:
        """Those of the table's function."""
        return self.function.columns

    @property
    def lone_records(self) -> LoneRecords:
        """Lone records go through the table's function, too, as in Paimon's `LookupMergeFunction`."""
        return LoneRecords.MERGED

    def merge(self, groups: Groups) -> Merged:
        """Merges the keys that the inputs have, and collects the rows that they supersede.

        As in Paimon, a key is looked up only if it has a record of level 0 and none of a higher level among
        the inputs, and the row of the lowest level is found.
        """
        known = groups.runs >= self.first_known_run
        looks_up = groups.has_any(groups.runs < self.first_upper_run)
        is_upper = (groups.runs >= self.first_upper_run) & ~known
        looks_up &= ~groups.has_any(is_upper) & groups.has_any(known)
        found = _lowest(groups, known & groups.spread(looks_up))
        self.superseded.add(groups.rows.column(ROW_PLACE).to_numpy()[found])
        if self.merges_known:
            return self._lookup.merge(groups)
        inputs, has_input = groups.among(~known)
        if not len(inputs):
            return Merged(groups.members, kept=has_input)
        return spread(self.function.merge(inputs), has_input, groups)

    @property
    def _lookup(self) -> Lookup:
        """Merges the records found, as a lookup without deletion vectors does."""
        return Lookup(
            self.function,
            looks_up=True,
            first_upper_run=self.first_upper_run,
            first_known_run=self.first_known_run,
        )

    def reduce(self, groups: Groups) -> IntPart | None:
        """All records: which of them count depends on the others."""
        del groups
        return None


def _lowest(groups: Groups, among: Mask) -> IntPart:
    """Of the given rows, the one of the lowest level of each key that has any."""
    candidates, _ = groups.among(among)
    if len(candidates) == among.sum():
        return candidates.members
    return candidates.order_within([groups.runs])[candidates.starts]
