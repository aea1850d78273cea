"""Assigns new files to directories outside the table's folder (`data-file.external-paths`).

Used by `file_locations` and `data_files.writer`. The strategies are Java Paimon's (its
ExternalPathProviders), but the choice depends only on the file's name: where Java chooses at random, the name
decides, so that every process finds the file again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from zlib import crc32

from lithify.columns.murmur_hash import murmur3

_ENTROPY_BITS = 20
_ENTROPY_CUTS = (0, 4, 8, 12, _ENTROPY_BITS)


@dataclass(frozen=True, slots=True)
class ExternalPaths:
    """The directories of one bucket outside the table's folder.

    Attributes:
        folders: one for each external path, as URIs.
        weights: relative frequency of each; empty for round robin.
        has_entropy: whether a file lies four directories deeper, named after a hash of its name.
    """

    folders: tuple[str, ...]
    weights: tuple[int, ...] = ()
    has_entropy: bool = False

    def path(self, name: str) -> str:
        """The path of a new file; its name ends with its number among the files of its writer."""
        stem, _, ending = name.rpartition("-")
        number = int(ending.partition(".")[0])
        if self.has_entropy:
            return f"{self.folders[(number + 1) % len(self.folders)]}/{entropy(name)}/{name}"
        if self.weights and len(self.folders) > 1:
            return f"{self.folders[_drawn(self.weights, name)]}/{name}"
        return f"{self.folders[(crc32(stem.encode()) + number) % len(self.folders)]}/{name}"


def entropy(name: str) -> str:
    """Directories named after the last bits of a hash (`EntropyInjectExternalPathProvider`)."""
    bits = format(murmur3(name.encode()), "032b")[-_ENTROPY_BITS:]
    return "/".join(bits[start:end] for start, end in pairwise(_ENTROPY_CUTS))


def _drawn(weights: Sequence[int], name: str) -> int:
    """Chooses an index with a probability proportional to its weight."""
    lot = crc32(name.encode()) % sum(weights)
    return next(index for index, upto in enumerate(accumulate(weights)) if lot < upto)
