"""Divides the memory of one merge, in bytes.

Created by the job from `--task-memory`; read by `passes` (how many runs at once, how large a piece of each)
and `rolling` (how many bytes are buffered for a row group). A quarter of the budget is for the runs' read
buffers; a round copies them twice (concatenated, gathered); the rest is for the row group being encoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MIN_PIECE = 128 << 10
"""Below this size the fixed cost of a round outweighs its work."""

MAX_PIECE = 32 << 20
"""Above this size larger rounds have no measurable benefit."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes that one merge may hold; only indivisible data (a page, a key's rows) may exceed it."""

    total: int = 384 << 20

    @property
    def reading(self) -> int:
        """Share for the runs' readers: their pages and buffered pieces."""
        return self.total // 4

    @property
    def row_group(self) -> int:
        """Arrow bytes buffered before they are encoded as one row group."""
        return max(1 << 20, min(64 << 20, self.total // 5))

    def admits(self, overheads: Sequence[int]) -> bool:
        """Whether runs with these overheads can be open together, with a piece of the minimum size each."""
        return sum(overheads) + len(overheads) * MIN_PIECE <= self.reading

    def piece_bytes(self, overheads: Sequence[int]) -> int:
        """Bytes to buffer of each run."""
        left = self.reading - sum(overheads)
        return max(MIN_PIECE, min(MAX_PIECE, left // max(1, len(overheads))))
