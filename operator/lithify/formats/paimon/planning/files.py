"""The order of a bucket's files. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from lithify.engine.pack.figures import Rank
from lithify.formats.paimon.model import DataFile

BY_SEQUENCE: Rank[DataFile] = attrgetter("min_sequence")
"""The rank of a file among those of its bucket; Java's full compactions write several of one rank."""


def in_order(files: Iterable[DataFile]) -> list[DataFile]:
    """The files of a bucket in the order of their rows; of equal sequence numbers, as they are listed."""
    return sorted(files, key=BY_SEQUENCE)
