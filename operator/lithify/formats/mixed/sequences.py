"""Up to which sequence number the changes of partitions are merged at once.

Called by planning with the unmerged files of the change store. Rows and deletes are ordered by transactions,
but the line is a sequence number. So it may only divide files where all transactions below are smaller than
those above: otherwise base files, which have the highest transaction that was merged into them, would be
younger than deletes that are still to come. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lithify.columns.column_groups import Numbers
from lithify.formats.iceberg.properties import number_in

MAX_FILE_COUNT = "self-optimizing.max-file-count"
_FILES = 10_000


def most_change_files(properties: Mapping[str, str]) -> int:
    """The number of change files of a partition that are merged at once.

    Raises:
        InvalidOption: it is none.
    """
    return number_in(properties, MAX_FILE_COUNT, _FILES, 1)


def merged_sequence(sequences: Numbers, transactions: Numbers, most_files: int) -> int:
    """The highest sequence number that keeps the order and has at most `most_files` files up to it.

    If none has so few, the lowest that keeps the order: Amoro takes nothing then, so such partitions are
    never merged. Otherwise the rule is that of `KeyedTableFileScanHelper`, which applies it to whole tables.

    Args:
        sequences: the data sequence numbers of the unmerged files of a partition; at least one.
        transactions: their transactions.
        most_files: the number of files that are merged at once.
    """
    order = np.argsort(sequences, kind="stable")
    ordered = sequences[order]
    highest = np.maximum.accumulate(transactions[order])
    lowest = np.minimum.accumulate(transactions[order][::-1])[::-1]
    keeps_order = (ordered[:-1] < ordered[1:]) & (highest[:-1] < lowest[1:])
    cuts = np.flatnonzero(np.append(keeps_order, True))
    allowed = cuts[cuts < most_files]
    return int(ordered[allowed[-1] if len(allowed) else cuts[0]])
