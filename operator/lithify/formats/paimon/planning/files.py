"""Sequences of a bucket's files, for all planners: their order, and consecutive parts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lithify.formats.paimon.model import DataFile


def in_order(files: Iterable[DataFile]) -> list[DataFile]:
    """The files of a bucket in the order of their rows; of equal sequence numbers, as they are listed."""
    return sorted(files, key=lambda file: file.min_sequence)


def parts_of(files: Iterable[DataFile], size: int) -> Iterator[tuple[DataFile, ...]]:
    """Divides files into consecutive parts of at most `size` bytes; a larger file is a part of its own."""
    part: list[DataFile] = []
    taken = 0
    for file in files:
        if part and taken + file.size > size:
            yield tuple(part)
            part, taken = [], 0
        part.append(file)
        taken += file.size
    yield tuple(part)
