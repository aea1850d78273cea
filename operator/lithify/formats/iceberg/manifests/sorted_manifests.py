"""Writes entries of one partition spec, in a given order, as manifests that roll at a size.

Called by the maintenance of manifests. Entries are encoded once and then only moved, so that they can be
sorted whatever manifests of whatever version they come from. What the manifest list says of each manifest
follows from the columns beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Numbers, whole
from lithify.columns.octets import fixed_array, fixed_octets, ordered
from lithify.columns.ranks import ranks
from lithify.files.avro.container import new_header
from lithify.files.avro.encoding import as_column, encoded
from lithify.files.avro.rolling_container import RollingContainer
from lithify.formats.iceberg.manifests.entries import ENTRY_COLUMNS, Entries
from lithify.formats.iceberg.manifests.manifest_lists import BLOCK_BYTES, CODEC, ManifestFile, packed
from lithify.formats.iceberg.manifests.manifest_writer import (
    ManifestOwner,
    describe_manifest,
    encode_entries,
    manifest_properties,
    stored_partitions,
)
from lithify.formats.iceberg.manifests.partition_types import PartitionType, is_decimal
from lithify.formats.iceberg.manifests.partitions import Partitions
from lithify.formats.iceberg.manifests.schemas import PARTITION, entry_schema

ENTRY = "entry"
"""The column with the bytes of an entry."""

_TOLD = (*ENTRY_COLUMNS, "record_count")
"""The columns from which a list tells what a manifest has."""


def encoded_entries(entries: Entries, owner: ManifestOwner) -> pa.Table:
    """Entries as columns: what a list tells of them, their partitions, and `ENTRY`.

    Raises:
        ValueError: they have fields that this release does not know, or cannot be in such a manifest.
    """
    if entries.unknown:
        names = ", ".join(field["name"] for field in entries.unknown)
        raise ValueError(f"its files have fields that this release does not know: {names}")
    found = entries.rows.select(_TOLD)
    found = found.append_column(PARTITION, stored_partitions(entries, owner.partition))
    return found.append_column(ENTRY, as_column(encode_entries(entries, owner)))


class SortedManifests:
    """Writes manifests of one owner.

    Args:
        owner: what they say of themselves.
        next_path: the path of the next one.
        store: writes a file.
        target_size: bytes at which a manifest ends.
    """

    def __init__(
        self,
        owner: ManifestOwner,
        next_path: Callable[[], str],
        store: Callable[[str, bytes], None],
        target_size: int,
    ) -> None:
        self._owner = owner
        self._next_path = next_path
        self._store = store
        self._written: list[ManifestFile] = []
        self._pending: list[pa.Table] = []
        schema = entry_schema(owner.version, owner.partition, ())
        self._container = RollingContainer(
            partial(new_header, schema, CODEC, manifest_properties(owner)),
            packed,
            min(BLOCK_BYTES, target_size),
            target_size,
            self._roll,
        )

    def write(self, entries: pa.Table) -> None:
        """Adds entries in their order; see `encoded_entries`."""
        if len(entries):
            self._pending.append(entries.drop_columns([ENTRY]))
            cells = encoded(whole(entries[ENTRY]))
            self._container.write(cells.data, cells.lengths)

    def close(self) -> list[ManifestFile]:
        """Writes the remaining entries; returns all manifests."""
        self._container.close()
        return self._written

    def _roll(self, content: bytes, rows: int) -> None:
        pending = pa.concat_tables(self._pending)
        self._pending = [pending.slice(rows)]
        of_file = pending.slice(0, rows).combine_chunks()
        part = Entries(of_file.select(_TOLD), whole(of_file[PARTITION]), self._owner.partition, {})
        path = self._next_path()
        self._store(path, content)
        self._written.append(describe_manifest([part], self._owner, path, len(content)))


def partition_ranks(partitions: Partitions, spec_id: int) -> Numbers:
    """The rank of each partition of a spec in the order of its values, nulls first."""
    count = len(partitions.of_spec(spec_id))
    fields: PartitionType = partitions.types.get(spec_id, ())
    if not fields or not count:
        return np.zeros(count, dtype=np.int64)
    columns = partitions.values[spec_id].columns[:-1]
    keys = [_ranks(whole(column), field.type) for column, field in zip(columns, fields, strict=True)]
    found = np.empty(count, dtype=np.int64)
    found[np.lexsort(keys[::-1])] = np.arange(count)
    return found


def _ranks(column: pa.Array, kind: str) -> Numbers:
    if is_decimal(kind):
        octets = ordered(fixed_octets(column.fill_null(bytes(column.type.byte_width))))
        column = pc.if_else(column.is_valid(), fixed_array(octets).cast(pa.binary()), None)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if pa.types.is_fixed_size_binary(column.type):
        column = column.cast(pa.binary())
    return ranks([column])[0]
