"""Sections: groups of files whose key ranges overlap transitively, each arranged in the fewest possible runs.

Called by `rewrites`. Follows Paimon's `IntervalPartition`: sections never overlap each other, so each can be
merged alone; inside one, files that do not overlap are chained into one run so that few are open at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush

from lithify.columns.order_key import OrderKey
from lithify.formats.paimon.model import DataFile


@dataclass(frozen=True, slots=True)
class Section:
    """Runs (each a chain of files in key order) that overlap each other and no file outside the section."""

    runs: tuple[tuple[DataFile, ...], ...]

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files, run by run."""
        return tuple(file for run in self.runs for file in run)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def min_key(self) -> OrderKey:
        """Smallest key of the section."""
        return min(run[0].min_key for run in self.runs)

    @property
    def max_key(self) -> OrderKey:
        """Largest key of the section."""
        return max(run[-1].max_key for run in self.runs)


def partition_sections(files: Iterable[DataFile]) -> list[Section]:
    """Splits files into sections in key order."""
    sections: list[Section] = []
    group: list[DataFile] = []
    bound = OrderKey(b"")
    for file in sorted(files, key=lambda file: (file.min_key, file.max_key)):
        if group and file.min_key > bound:
            sections.append(_chain_runs(group))
            group = []
        bound = max(bound, file.max_key) if group else file.max_key
        group.append(file)
    if group:
        sections.append(_chain_runs(group))
    return sections


def _chain_runs(files: list[DataFile]) -> Section:
    """Greedy interval colouring: a file joins the run that ends first, if that is before the file."""
    runs: list[list[DataFile]] = []
    ends: list[tuple[OrderKey, int]] = []
    for file in files:
        if ends and ends[0][0] < file.min_key:
            _, number = heappop(ends)
            runs[number].append(file)
        else:
            number = len(runs)
            runs.append([file])
        heappush(ends, (file.max_key, number))
    return Section(tuple(tuple(run) for run in runs))
