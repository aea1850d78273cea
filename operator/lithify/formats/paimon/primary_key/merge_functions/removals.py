"""Deletes that remove the whole record by the table's option for a sequence group.

Called by `partial_update`. Such a delete removes only if no earlier record is newer in the group. Its values
then replace the whole record, in every group, so later records are compared with the delete.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lithify.columns.order import IntPart
from lithify.engine.rewrite.records import Mask
from lithify.formats.paimon.primary_key.merge_functions.ordered_records import (
    OrderedRecords,
    Ranked,
    is_behind,
)


def last_removals(records: OrderedRecords, deletes: Mask, groups: Sequence[Ranked]) -> IntPart:
    """The position of the last delete that removes each key's record, -1 for none.

    A removal may reset groups to older values and thus decides which later deletes remove. With several
    groups, each pass finds the next removal of all keys; a key has no more removals than there are runs.

    Args:
        records: the records of the keys.
        deletes: mask of positions that are deletes (-D).
        groups: the groups in which deletes remove the record.
    """
    last = np.full(len(records.starts), -1)
    deleted = np.zeros(len(records.starts), dtype=bool)
    deleted[records.keys[deletes]] = True
    places = np.flatnonzero(deleted[records.keys])
    while len(places):
        keys = records.keys[places]
        removing = np.flatnonzero(_removing(places, keys, deletes, groups) & (places > last[keys]))
        if not len(removing):
            break
        of_keys = keys[removing]
        changes = of_keys[1:] != of_keys[:-1]
        if len(groups) == 1:  # The greatest rank never decreases, so all removals are known here.
            ends = np.append(changes, True)
            last[of_keys[ends]] = places[removing[ends]]
            break
        begins = np.append(True, changes)
        found = np.full(len(last), len(records))
        found[of_keys[begins]] = places[removing[begins]]
        last = np.where(found < len(records), found, last)
        places = places[places >= found[keys]]
    return last


def _removing(places: IntPart, keys: IntPart, deletes: Mask, groups: Sequence[Ranked]) -> Mask:
    """Mask of the positions that remove the record, given that earlier records no longer count."""
    removing = np.zeros(len(places), dtype=bool)
    for group in groups:
        present = group.present[places]
        removing |= present & ~is_behind(group.ranks[places], present, keys)
    return removing & deletes[places]
