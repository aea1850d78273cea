"""The records that readers of a changelog already have: Paimon's rules for each changelog producer.

Made by `changelogs` for each task that writes a changelog, called by the merge. Follows
`FullChangelogMergeFunctionWrapper`, `LookupChangelogMergeFunctionWrapper` and `FirstRowMergeFunctionWrapper`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lithify.engine.rewrite.changelog import ChangeKinds, Previous
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.records import Mask
from lithify.formats.paimon.primary_key.merge_functions.lookup import lowest_above

_NO_RUN = 1 << 62
KINDS = ChangeKinds(insert=0, update_before=1, update_after=2, delete=3)


@dataclass(frozen=True, slots=True)
class TopLevelRecords:
    """With full compactions, readers have the records of the top level.

    Paimon does not look at their kinds: an overwrite may leave a delete there, and a later row of its key
    then becomes an update.

    Attributes:
        top_run: the number of the run of the top level; -1 if it is empty.
    """

    top_run: int

    def of(self, groups: Groups) -> Previous:
        """The record of the top level; a key that has no other record is not recorded."""
        at_top = np.flatnonzero(groups.runs == self.top_run)
        places = np.full(len(groups), -1)
        places[groups.numbers_of(at_top)] = at_top
        return Previous(places, (groups.sizes > 1) | (places < 0))

    def is_recorded(self, run: int) -> bool:
        """All runs but that of the top level are new to readers."""
        return run != self.top_run

    def needed(self, groups: Groups) -> Mask:
        """The records of the top level, and one more of keys in which such a record is the newest.

        Without another record, such a key would not be recorded.
        """
        wanted = np.equal(groups.runs, self.top_run)
        is_newest = wanted[groups.order[groups.ends - 1]] & (groups.sizes > 1)
        wanted[groups.order[groups.ends[is_newest] - 2]] = True
        return wanted


@dataclass(frozen=True, slots=True)
class LookedUpRecords:
    """With lookups, readers have everything above level 0.

    What Paimon looks up above the output comes from a store in which arrays are bytes: an array that a result
    takes from there equals itself. One that was read from a file does not if it has nulls.

    Attributes:
        first_upper_run: the number of the first run above level 0.
        first_known_run: the number of the first run above the output level.
    """

    first_upper_run: int
    first_known_run: int = _NO_RUN

    def of(self, groups: Groups) -> Previous:
        """The lowest record above level 0; only keys with records of level 0 are recorded."""
        is_changed = np.zeros(len(groups), dtype=bool)
        is_changed[groups.numbers_of(np.flatnonzero(groups.runs < self.first_upper_run))] = True
        places = lowest_above(groups, self.first_upper_run)
        places[(places >= 0) & groups.retracts[places]] = -1
        stored = (places >= 0) & (groups.runs[places] >= self.first_known_run)
        return Previous(places, is_changed, stored if stored.any() else None)

    def is_recorded(self, run: int) -> bool:
        """Runs of level 0 are new to readers."""
        return run < self.first_upper_run

    def needed(self, groups: Groups) -> Mask:
        """All records, because it also matters whether a key has records of level 0."""
        return np.ones(groups.rows.num_rows, dtype=bool)


@dataclass(frozen=True, slots=True)
class FirstRecords:
    """With first-row, a key is recorded once: when its first record leaves level 0.

    Attributes:
        first_upper_run: the number of the first run above level 0.
    """

    first_upper_run: int

    def of(self, groups: Groups) -> Previous:
        """No previous records; keys with a record above level 0 are not recorded."""
        is_new = np.ones(len(groups), dtype=bool)
        is_new[groups.numbers_of(np.flatnonzero(groups.runs >= self.first_upper_run))] = False
        return Previous(np.full(len(groups), -1), is_new)

    def is_recorded(self, run: int) -> bool:
        """Runs of level 0 are new to readers."""
        return run < self.first_upper_run

    def needed(self, groups: Groups) -> Mask:
        """The merge keeps what is needed."""
        return np.zeros(groups.rows.num_rows, dtype=bool)
