"""What is cached of an Iceberg table between observations: columns of its data and delete files.

Used by the modules beside this one; `engine.observe` stores it. A group is a partition of the current spec,
or all files of other specs. Partitions are texts that name their spec, values and spelling, because their
numbers in a view differ from one to the next.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import integers, whole, with_columns
from lithify.engine.observe.cache import ObservationCache
from lithify.engine.observe.layout import Layout
from lithify.engine.observe.state import TableState
from lithify.formats.iceberg.manifests.commit_times import commit_millis
from lithify.formats.iceberg.manifests.manifest_lists import ManifestContent, ManifestFile
from lithify.formats.iceberg.manifests.partitions import number_partitions
from lithify.formats.iceberg.manifests.schemas import PARTITION
from lithify.formats.iceberg.manifests.view import PUFFIN, LiveEntries
from lithify.formats.iceberg.planning.clustering import ClusterColumn
from lithify.formats.iceberg.planning.columns import MOST_CANDIDATES
from lithify.formats.iceberg.table.partition_paths import OLDER_SPECS, PartitionSpec
from lithify.formats.iceberg.table.partition_values import scalar_of
from lithify.formats.protocol.partition import PartitionSpec as SeamSpec
from lithify.formats.protocol.partition import PartitionValues, Scalar

NOT_IN_FILE = -1
"""The offset of what is no vector in a Puffin file."""

SIDES = ("lower", "upper")
BOUNDS = {f"{side}_{number}": pa.binary() for number in range(MOST_CANDIDATES) for side in SIDES}
"""The bounds of each column by which files may be clustered."""

FILES = pa.schema(
    {
        "group": pa.string(),
        "partition": pa.string(),
        "path": pa.string(),
        "offset": pa.int64(),
        "content": pa.int32(),
        "is_vector": pa.bool_(),
        "size": pa.int64(),
        "rows": pa.int64(),
        "sequence": pa.int64(),
        "millis": pa.int64(),
        "referenced": pa.string(),
        "everywhere": pa.int64(),
        **BOUNDS,
    }
)
"""The cached columns of each data file, delete file and vector: what planning needs.

`millis` is when it was committed, 0 if that snapshot had expired; `everywhere` counts the equality deletes of
other partitions that apply to a data file.
"""


@dataclass(frozen=True, slots=True)
class GlobalDelete:
    """An equality delete file that applies to all partitions."""

    partition: str
    sequence: int


@dataclass(frozen=True, slots=True)
class IcebergDetails:
    """What is remembered of a snapshot, besides its files.

    Attributes:
        files: number of its data files, delete files and vectors.
        everywhere: its equality deletes that apply to all partitions, by path, if there may be several.
    """

    files: int = 0
    everywhere: Mapping[str, GlobalDelete] = field(default_factory=dict)


IcebergState = TableState[IcebergDetails]
IcebergCache = ObservationCache[IcebergDetails]


class _DetailsFormat:
    """The JSON form of details; implements `DetailsFormat`."""

    def to_json(self, details: IcebergDetails) -> Mapping[str, Any]:
        """The fields of some details."""
        deletes = {path: [each.partition, each.sequence] for path, each in details.everywhere.items()}
        return {"files": details.files, "everywhere": deletes}

    def parse(self, fields: Mapping[str, Any]) -> IcebergDetails:
        """Parses the fields of some details; errors are those of a wrong form."""
        deletes = fields["everywhere"].items()
        return IcebergDetails(
            int(fields["files"]), {path: GlobalDelete(str(each[0]), int(each[1])) for path, each in deletes}
        )


LAYOUT = Layout(
    name="iceberg 1",
    files=FILES,
    group=("group",),
    file=("group", "path", "offset"),  # several vectors may share a Puffin file
    details=_DetailsFormat(),
    nothing=IcebergDetails(),
)
"""How the files of Iceberg tables are cached."""


def frame_of(
    manifest: ManifestFile,
    entries: LiveEntries,
    specs: Mapping[int, PartitionSpec],
    current: int,
    columns: tuple[ClusterColumn, ...],
    millis: Mapping[int, int],
) -> pa.Table:
    """The entries of a manifest as cached files, in their order.

    Args:
        manifest: the manifest.
        entries: its entries.
        specs: the table's specs by id.
        current: id of the current one.
        columns: the columns by which files may be clustered.
        millis: commit times of the table's snapshots by id.
    """
    rows, count = entries.rows, len(entries.rows)
    partition = _partitions(manifest.spec_id, entries, specs[manifest.spec_id])
    is_delete = manifest.content is ManifestContent.DELETES
    nowhere = pa.nulls(count, pa.int64())
    values = {
        "group": partition if manifest.spec_id == current else pa.array([OLDER_SPECS] * count, pa.string()),
        "partition": partition,
        "path": whole(rows["file_path"]),
        "offset": (whole(rows["content_offset"]) if is_delete else nowhere).fill_null(NOT_IN_FILE),
        "content": whole(rows["content"]).cast(pa.int32()),
        "is_vector": pc.equal(whole(rows["file_format"]), PUFFIN),
        "size": whole(rows["file_size_in_bytes"]),
        "rows": whole(rows["record_count"]),
        "sequence": whole(rows["sequence_number"]),
        "millis": commit_millis(rows["snapshot_id"], millis),
        "referenced": whole(rows["referenced"]) if is_delete else pa.nulls(count, pa.string()),
        "everywhere": _filled(count, 0),
        **_bounds(rows, columns),
    }
    return pa.table([values[name] for name in FILES.names], schema=FILES)


def partition_of(text: str, spec: SeamSpec) -> PartitionValues:
    """The partition of the current spec that a text of `FILES` means."""
    _, values, texts = json.loads(text)
    pairs = zip(values, spec.fields, strict=True)
    return PartitionValues(spec, tuple(_parsed(value, each.type) for value, each in pairs), tuple(texts))


def with_global(files: pa.Table, deletes: Mapping[str, GlobalDelete]) -> pa.Table:
    """Files with the number of global equality deletes of other partitions that apply to each."""
    if not deletes:
        return files
    sequences = integers(files["sequence"])
    found = _newer([each.sequence for each in deletes.values()], sequences)
    for partition in {each.partition for each in deletes.values()}:
        own = [each.sequence for each in deletes.values() if each.partition == partition]
        is_own = pc.equal(whole(files["partition"]), partition).to_numpy(zero_copy_only=False)
        found -= np.where(is_own, _newer(own, sequences), 0)
    return with_columns(files, everywhere=np.where(integers(files["content"]) == 0, found, 0))


def _newer(deletes: Iterable[int], sequences: np.ndarray) -> np.ndarray:
    """For each file, the number of deletes with a higher sequence number."""
    ordered = np.sort(np.array([*deletes], dtype=np.int64))
    return len(ordered) - np.searchsorted(ordered, sequences, side="right")


def _partitions(spec_id: int, entries: LiveEntries, spec: PartitionSpec) -> pa.Array:
    """The partition of each entry as a text; a loop over the distinct ones only."""
    stored = (spec_id, entries.partition_type, whole(entries.rows[PARTITION]))
    (codes,), partitions = number_partitions([stored])
    found = (partitions.partition(number) for number in range(len(partitions)))
    texts = [
        json.dumps([spec_id, [_plain(scalar_of(value)) for value in each.values], spec.texts(each)])
        for each in found
    ]
    return pa.array(texts, pa.string()).take(pa.array(codes))


def _plain(value: Scalar) -> Any:
    """A value for JSON."""
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, Decimal | UUID) else value


def _parsed(value: Any, kind: str) -> Scalar:
    """The inverse of `_plain`."""
    if value is None:
        return None
    root = kind.partition("(")[0].partition("[")[0]
    if root == "DECIMAL":
        return Decimal(value)
    if root == "UUID":
        return UUID(value)
    if root in ("FIXED", "BINARY"):
        return bytes.fromhex(value)
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def _bounds(rows: pa.Table, columns: tuple[ClusterColumn, ...]) -> dict[str, pa.Array]:
    found = {name: pa.nulls(len(rows), kind) for name, kind in BOUNDS.items()}
    for number, column in enumerate(columns):
        for side in SIDES:
            name = f"{side}_bounds.{column.id}"
            if name in rows.column_names:
                found[f"{side}_{number}"] = whole(rows[name])
    return found


def _filled(count: int, value: int) -> np.ndarray:
    return np.full(count, value, dtype=np.int64)
