"""The optimized line: up to which sequence number the base store has the changes of each partition.

Read by planning and moved by commits. A change file above the line of its partition is unmerged: readers
apply it to the base store. Partitions are named as in `partition_keys`; `stored_line` reads it. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lithify.columns.column_groups import Flags, Numbers

NOTHING_MERGED = -1
"""The line of a partition that has none; sequence numbers and transactions are not negative."""


@dataclass(frozen=True, slots=True)
class OptimizedLine:
    """The line of all partitions that have one.

    Attributes:
        sequences: the highest data sequence number that is merged, by partition.
        times: when the base store of a partition was optimized last, in milliseconds since 1970.
        transactions: the highest transaction that is merged, which counts for partitions without `sequences`:
            tables of version 0.3 have no other line.
    """

    sequences: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)
    transactions: Mapping[str, int] = field(default_factory=dict)

    def sequence_of(self, key: str) -> int:
        """The line of a partition; `NOTHING_MERGED` if it has none."""
        return self.sequences.get(key, NOTHING_MERGED)

    def unmerged(
        self, keys: Sequence[str], partitions: Numbers, sequences: Numbers, transactions: Numbers
    ) -> Flags:
        """Which change files are above the line.

        Args:
            keys: the names of the partitions.
            partitions: the partition of each file, as index in `keys`.
            sequences: the data sequence number of each file.
            transactions: the transaction of each file.
        """
        lines, older = (
            np.array([found.get(key, NOTHING_MERGED) for key in keys], np.int64)
            for found in (self.sequences, self.transactions)
        )
        line = lines[partitions]
        is_above = np.where(line == NOTHING_MERGED, transactions > older[partitions], sequences > line)
        return np.asarray(is_above, np.bool_)

    def moved(self, sequences: Mapping[str, int], millis: int) -> OptimizedLine:
        """The line after a commit.

        Args:
            sequences: the new line of partitions whose changes were merged.
            millis: the time of the commit, in milliseconds since 1970.

        Raises:
            ValueError: a line would go back, and readers would apply changes twice.
        """
        back = [key for key, sequence in sequences.items() if sequence < self.sequence_of(key)]
        if back:
            raise ValueError(f"the optimized line of {', '.join(back)} would go back")
        times = {**self.times, **dict.fromkeys(sequences, millis)}
        return replace(self, sequences={**self.sequences, **sequences}, times=times)
