"""Where new data files go: below a folder of the table, by partition or below hashes of their names. Pure.

Travels with tasks. The hashed layout follows `ObjectStoreLocationProvider` of Iceberg: object stores limit
requests by prefixes of keys, and hashes spread them.
"""

from __future__ import annotations

from dataclasses import dataclass

from lithify.columns.murmur_hash import murmur3
from lithify.formats.iceberg.properties import is_true
from lithify.formats.iceberg.table.metadata import TableMetadata

_PARTITIONED = "write.object-storage.partitioned-paths"
_HASH_BITS = 20
_FOLDER_BITS = (4, 8, 12)
"""Ends of the folders that the first bits make; the other bits are the last part."""


@dataclass(frozen=True, slots=True)
class DataLocations:
    """Where the data files of a table go.

    Attributes:
        folder: location of the folder of all of them.
        is_hashed: whether files are below hashes.
        context: folders between hash and partition; tables that share `folder` are told apart by them.
        has_partitions: whether partitions are folders; only hashed files may be without.
    """

    folder: str
    is_hashed: bool = False
    context: str = ""
    has_partitions: bool = True

    def path(self, partition: str, name: str) -> str:
        """The path of a file.

        Args:
            partition: the folder of its partition; empty in tables without partitions.
            name: its name.
        """
        inner = "/".join(part for part in (partition if self.has_partitions else "", name) if part)
        if not self.is_hashed:
            return f"{self.folder}/{inner}"
        *folders, last = _hash_parts(inner)
        if self.context or self.has_partitions:
            return "/".join(part for part in (self.folder, *folders, last, self.context, inner) if part)
        return "/".join((self.folder, *folders, f"{last}-{inner}"))


def data_locations(metadata: TableMetadata) -> DataLocations:
    """Where the data files of a table go, by its properties."""
    folder = metadata.data_folder
    if not metadata.has_hashed_locations:
        return DataLocations(folder)
    is_outside = not folder.startswith(metadata.location)
    return DataLocations(
        folder=folder,
        is_hashed=True,
        context="/".join(_segments(metadata.location)[-2:]) if is_outside else "",
        has_partitions=is_true(metadata.properties, _PARTITIONED, "true"),
    )


def _segments(location: str) -> list[str]:
    """The folders of a location, without its scheme and host."""
    _, scheme, rest = location.rpartition("://")
    path = rest.partition("/")[2] if scheme else rest
    return [part for part in path.split("/") if part]


def _hash_parts(name: str) -> list[str]:
    bits = f"{murmur3(name.encode()):032b}"[-_HASH_BITS:]
    starts = (0, *_FOLDER_BITS)
    return [bits[start:stop] for start, stop in zip(starts, (*_FOLDER_BITS, _HASH_BITS), strict=True)]
