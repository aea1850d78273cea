"""Picks adjacent files of an ordered bucket, so that joining them keeps the order of all rows.

Called by `plan`. Pure. The rules are those of Paimon's `BucketedAppendCompactManager`, with two additions.
Files with the same smallest sequence number, as Java's full compactions write them, stay together: what is
written for some of them could not be put between the others. And adjacent picks are joined while they fit
into one bin; Java would join their outputs in its next rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.bin_packing.packing import Bin
from lithify.formats.paimon.planning.bin_packing.policy import PackingOptions
from lithify.formats.paimon.planning.files import in_order

FULL_MIN_FILES = 3
"""Number of files from which a full compaction rewrites a bucket."""

Span = tuple[int, int]
"""First file of a run, and the file after its last."""


def minor_runs(files: Iterable[DataFile], options: PackingOptions) -> tuple[Bin, ...]:
    """The runs that a minor compaction joins, in order."""
    ordered = in_order(files)
    spans = [_with_equals(ordered, span) for span in picks(ordered, options)]
    return tuple(tuple(ordered[start:end]) for start, end in _joined(ordered, spans, options))


def full_run(files: Iterable[DataFile], options: PackingOptions) -> Bin:
    """The run that a full compaction rewrites: all files but the large ones at the start, or none."""
    ordered = in_order(files)
    if options.force_rewrite:
        return tuple(ordered)
    is_large = [file.size >= options.small_file_size for file in ordered]
    start = next((number for number, large in enumerate(is_large) if not large), len(ordered))
    large = sum(is_large[start:])
    small = len(ordered) - start - large
    if small <= large or small + large < FULL_MIN_FILES:
        return ()
    start, end = _with_equals(ordered, (start, len(ordered)))
    return tuple(ordered[start:end])


def picks(ordered: Sequence[DataFile], options: PackingOptions) -> list[Span]:
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


def _with_equals(ordered: Sequence[DataFile], span: Span) -> Span:
    """The span with all files that share the smallest sequence number of one at its ends."""
    start, end = span
    while start and ordered[start - 1].min_sequence == ordered[start].min_sequence:
        start -= 1
    while end < len(ordered) and ordered[end].min_sequence == ordered[end - 1].min_sequence:
        end += 1
    return start, end


def _joined(ordered: Sequence[DataFile], spans: Iterable[Span], options: PackingOptions) -> list[Span]:
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


def chunks(run: Bin, size: int) -> list[Bin]:
    """Divides a run into parts of at least about `size` bytes, between files of different numbers."""
    sums = _sums(run)
    ends: list[int] = [0]
    for end in range(1, len(run)):
        is_apart = run[end].min_sequence != run[end - 1].min_sequence
        if is_apart and sums[end] - sums[ends[-1]] >= size <= sums[-1] - sums[end]:
            ends.append(end)
    return [tuple(run[start:end]) for start, end in pairwise([*ends, len(run)])]


def _sums(files: Sequence[DataFile]) -> list[int]:
    """Bytes of the files before each position; one element more than there are files."""
    return [*accumulate((file.size for file in files), initial=0)]
