"""How the memory of one merge is shared out, in bytes.

Made by the job from `--task-memory`; read by `passes` (how many runs at once, how large a piece of each) and
`rolling` (how much is gathered before a row group is written). Of the budget a quarter may be buffered by the
runs' readers; a round copies that twice (put together, gathered); the rest is the row group being encoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MIN_PIECE = 128 << 10
"""Below this the fixed cost of a round outweighs the work in it."""

MAX_PIECE = 32 << 20
"""Beyond this larger rounds gain nothing measurable."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes that one merge may hold; only what cannot be divided (a page, a key's rows) may exceed it."""

    total: int = 384 << 20

    @property
    def reading(self) -> int:
        """Share of the runs' readers: their pages and buffered pieces."""
        return self.total // 4

    @property
    def row_group(self) -> int:
        """Arrow bytes gathered before they are encoded as one row group."""
        return max(1 << 20, min(64 << 20, self.total // 5))

    def admits(self, overheads: Sequence[int]) -> bool:
        """Whether runs with these overheads can be open together, with a piece of the least size each."""
        return sum(overheads) + len(overheads) * MIN_PIECE <= self.reading

    def piece_bytes(self, overheads: Sequence[int]) -> int:
        """How large a piece of each run to buffer."""
        left = self.reading - sum(overheads)
        return max(MIN_PIECE, min(MAX_PIECE, left // max(1, len(overheads))))
