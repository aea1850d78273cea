"""Divides the memory of one merge, in bytes.

Created by the job from `--task-memory`; read by `passes` (how many runs at once, how large a piece of each)
and `rolling` (how many bytes are buffered for a row group). Three quarters of the budget are for merging:
pages of the runs' readers, and pieces, which are held three times (buffered, concatenated, gathered). The
rest is for the row group being encoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MIN_PIECE = 128 << 10
"""Below this size the fixed cost of a round outweighs its work."""

MAX_PIECE = 32 << 20
"""Above this size larger rounds have no measurable benefit."""

_COPIES = 3
"""How often the rows of a piece are held at most."""

_PIECES_PER_OVERHEAD = 32
"""Smaller pieces than this share of a reader's overhead save little memory: a reader of many columns holds
much, and every round takes time for each of them."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes that one merge may hold; only indivisible data (a page, a key's rows) may exceed it."""

    total: int = 384 << 20

    @property
    def reading(self) -> int:
        """Share for the runs' readers and buffered pieces if pages are small beside the pieces."""
        return self.merging // _COPIES

    @property
    def merging(self) -> int:
        """Share for the runs' readers, and for their pieces in all copies."""
        return self.total // 4 * _COPIES

    @property
    def row_group(self) -> int:
        """Arrow bytes buffered before they are encoded as one row group."""
        return max(1 << 20, min(64 << 20, self.total // 5))

    def admits(self, overheads: Sequence[int]) -> bool:
        """Whether runs with these overheads can be open together, with pieces that are worth a round."""
        least = max([MIN_PIECE, *(each // _PIECES_PER_OVERHEAD for each in overheads)])
        return sum(overheads) + _COPIES * len(overheads) * least <= self.merging

    def piece_bytes(self, overheads: Sequence[int]) -> int:
        """Bytes to buffer of each run."""
        left = self.merging - sum(overheads)
        return max(MIN_PIECE, min(MAX_PIECE, left // (_COPIES * max(1, len(overheads)))))
