"""Picks adjacent files of an ordered group, so that joining them keeps the order of all rows.

Called by `triggers`, and by planners that divide a run. Pure. The rules are those of Paimon's
`BucketedAppendCompactManager`, with two additions. Files of equal rank stay together: what is written for
some of them could not be put between the others. And adjacent picks are joined while they fit into one bin;
Java would join their outputs in its next rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from lithify.engine.pack.bins import Bin
from lithify.engine.pack.figures import F, FileFigures, Rank
from lithify.engine.pack.options import PackingOptions

FULL_MIN_FILES = 3
"""Number of files from which a full compaction rewrites an ordered group."""

Span = tuple[int, int]
"""First file of a run, and the file after its last."""


def minor_runs(files: Iterable[F], options: PackingOptions, rank: Rank[F]) -> tuple[Bin[F], ...]:
    """The runs that a minor compaction joins, in order."""
    ordered = sorted(files, key=rank)
    spans = [_with_equals(ordered, span, rank) for span in picks(ordered, options)]
    return tuple(tuple(ordered[start:end]) for start, end in _joined(ordered, spans, options))


def full_run(files: Iterable[F], options: PackingOptions, rank: Rank[F]) -> Bin[F]:
    """The run that a full compaction rewrites: all files but the large ones at the start, or none."""
    ordered = sorted(files, key=rank)
    if options.force_rewrite:
        return tuple(ordered)
    is_large = [file.size >= options.small_file_size for file in ordered]
    start = next((number for number, large in enumerate(is_large) if not large), len(ordered))
    large = sum(is_large[start:])
    small = len(ordered) - start - large
    if small <= large or small + large < FULL_MIN_FILES:
        return ()
    start, end = _with_equals(ordered, (start, len(ordered)), rank)
    return tuple(ordered[start:end])


def picks(ordered: Sequence[FileFigures], options: PackingOptions) -> list[Span]:
    """The picks of `pickCompactBefore` one after the other, without the files that they would make.

    A file alone is never picked; Java rewrites it where `compaction.min.file-num` is 1.
    """
    found: list[Span] = []
    start, size = 0, 0
    for number, file in enumerate(ordered):
        size += file.size
        if number + 1 - start >= max(2, options.min_files):
            found.append((start, number + 1))
            start, size = number + 1, 0
        elif size >= options.full_bin_size:
            size -= ordered[start].size
            start += 1
    return found


def _with_equals(ordered: Sequence[F], span: Span, rank: Rank[F]) -> Span:
    """The span with all files that have the rank of one at its ends."""
    start, end = span
    while start and rank(ordered[start - 1]) == rank(ordered[start]):
        start -= 1
    while end < len(ordered) and rank(ordered[end]) == rank(ordered[end - 1]):
        end += 1
    return start, end


def _joined(ordered: Sequence[FileFigures], spans: Iterable[Span], options: PackingOptions) -> list[Span]:
    """Joins spans that overlap, and adjacent ones that are no more than a bin together."""
    sums = _sums(ordered)
    joined: list[Span] = []
    for start, end in spans:
        if joined:
            before, middle = joined[-1]
            size = sums[end] - sums[before]
            if start < middle or (start == middle and size < options.full_bin_size):
                joined[-1] = (before, max(middle, end))
                continue
        joined.append((start, end))
    return joined


def chunks(run: Bin[F], size: int, rank: Rank[F]) -> list[Bin[F]]:
    """Divides a run into parts of at least about `size` bytes, between files of different ranks."""
    sums = _sums(run)
    ends: list[int] = [0]
    for end in range(1, len(run)):
        is_apart = rank(run[end]) != rank(run[end - 1])
        if is_apart and sums[end] - sums[ends[-1]] >= size <= sums[-1] - sums[end]:
            ends.append(end)
    return [tuple(run[start:end]) for start, end in pairwise([*ends, len(run)])]


def parts_of(files: Iterable[F], size: int) -> Iterator[Bin[F]]:
    """Divides files into consecutive parts of at most `size` bytes; a larger file is a part of its own."""
    part: list[F] = []
    taken = 0
    for file in files:
        if part and taken + file.size > size:
            yield tuple(part)
            part, taken = [], 0
        part.append(file)
        taken += file.size
    yield tuple(part)


def _sums(files: Sequence[FileFigures]) -> list[int]:
    """Bytes of the files before each position; one element more than there are files."""
    return [*accumulate((file.size for file in files), initial=0)]
