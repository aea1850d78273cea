"""What the oracle tells: frozen records of files, commits and compactions."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeAlias

Row: TypeAlias = list[Any]
"""A row kind (`"+I"`, `"-U"`, `"+U"`, `"-D"`) and the values, in the JSON forms of README.md."""
Partition: TypeAlias = Mapping[str, Any]
"""Partition columns and their values; empty in a table without partitions."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a warehouse by its name, `db.t`, or any table by its folder.

    Attributes:
        catalog: options of its catalog; none for the filesystem's.
    """

    warehouse: str | Path | None = None
    name: str | None = None
    path: str | Path | None = None
    catalog: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def folder(self) -> Path:
        """Where the table's files are."""
        if self.path is not None:
            return Path(self.path)
        assert self.warehouse is not None
        assert self.name is not None
        database, table = self.name.partition("$")[0].split(".", 1)
        return Path(self.warehouse) / f"{database}.db" / table

    def branch(self, name: str) -> "Table":
        """A branch of this table, which has its files in the same folder."""
        assert self.name is not None
        return Table(self.warehouse, f"{self.name}$branch_{name}", catalog=self.catalog)

    def copy_to(self, folder: Path) -> "Table":
        """Copies the whole folder and returns the table in it."""
        shutil.copytree(self.folder, folder)
        return Table(path=folder)

    def args(self) -> dict[str, Any]:
        """How requests name this table."""
        if self.path is not None:
            return {"path": str(self.path)}
        named = {"warehouse": str(self.warehouse), "table": self.name}
        return {**named, "catalog": dict(self.catalog)} if self.catalog else named


@dataclass(frozen=True, slots=True)
class Stats:
    """Minima, maxima and null counts, column by column."""

    min: Row
    max: Row
    null_counts: list[int | None]

    @classmethod
    def parse(cls, json: Mapping[str, Any]) -> Self:
        return cls(min=json["min"], max=json["max"], null_counts=json["nullCounts"])


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file with all the metadata that a manifest keeps of it."""

    partition: Partition
    bucket: int
    total_buckets: int
    name: str
    path: str
    size: int
    rows: int
    min_key: Row
    max_key: Row
    key_stats: Stats
    value_stats: Stats
    value_stats_cols: list[str] | None
    min_sequence: int
    max_sequence: int
    schema_id: int
    level: int
    extra_files: list[str]
    creation_time: int
    delete_rows: int | None
    file_source: str | None
    external_path: str | None
    embedded_index: str | None
    first_row_id: int | None
    write_cols: list[str] | None

    @classmethod
    def parse(cls, json: Mapping[str, Any]) -> Self:
        return cls(
            partition=json["partition"],
            bucket=json["bucket"],
            total_buckets=json["totalBuckets"],
            name=json["name"],
            path=json["path"],
            size=json["size"],
            rows=json["rows"],
            min_key=json["minKey"],
            max_key=json["maxKey"],
            key_stats=Stats.parse(json["keyStats"]),
            value_stats=Stats.parse(json["valueStats"]),
            value_stats_cols=json["valueStatsCols"],
            min_sequence=json["minSequence"],
            max_sequence=json["maxSequence"],
            schema_id=json["schemaId"],
            level=json["level"],
            extra_files=json["extraFiles"],
            creation_time=json["creationTime"],
            delete_rows=json["deleteRows"],
            file_source=json["fileSource"],
            external_path=json["externalPath"],
            embedded_index=json["embeddedIndex"],
            first_row_id=json["firstRowId"],
            write_cols=json["writeCols"],
        )


def data_files(json: Sequence[Mapping[str, Any]]) -> list[DataFile]:
    """Parses a list of files."""
    return [DataFile.parse(file) for file in json]


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A manifest entry: `kind` is ADD or DELETE."""

    kind: str
    file: DataFile


@dataclass(frozen=True, slots=True)
class DeletionVectorRange:
    """Where a deletion vector stands in its index file, and how many rows it deletes."""

    offset: int
    length: int
    cardinality: int | None


@dataclass(frozen=True, slots=True)
class IndexFile:
    """An index file: of type HASH with its `hashes`, or DELETION_VECTORS with a range per data file."""

    partition: Partition
    bucket: int
    type: str
    name: str
    path: str
    size: int
    rows: int
    deletion_vectors: dict[str, DeletionVectorRange]
    hashes: list[int]

    @classmethod
    def parse(cls, json: Mapping[str, Any]) -> Self:
        return cls(
            partition=json["partition"],
            bucket=json["bucket"],
            type=json["type"],
            name=json["name"],
            path=json["path"],
            size=json["size"],
            rows=json["rows"],
            deletion_vectors={n: DeletionVectorRange(**r) for n, r in json["deletionVectors"].items()},
            hashes=json["hashes"],
        )


@dataclass(frozen=True, slots=True)
class KeyValue:
    """A key-value as it stands in a data file."""

    key: Row
    sequence: int
    kind: str
    values: Row


@dataclass(frozen=True, slots=True)
class Digest:
    """A table's content in three numbers; `distinct_keys` is None when the rows have no whole key."""

    rows: int
    distinct_keys: int | None
    hash: str


@dataclass(frozen=True, slots=True)
class Scan:
    """How many rows a full read gave, and how long each repeat took."""

    rows: int
    nanos: list[int]


@dataclass(frozen=True, slots=True)
class PlanBench:
    """How many live files Java's scan found, and what each repeat took.

    `cpu_nanos` is processor time of the whole JVM, `cpu_nanos_before` what it had used before the first.
    """

    entries: int
    nanos: list[int]
    cpu_nanos: list[int]
    cpu_nanos_before: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A commit that waits in the oracle, and the data files it would add."""

    token: str
    files: list[DataFile]


@dataclass(frozen=True, slots=True)
class BucketChange:
    """What a compaction made of one bucket."""

    partition: Partition
    bucket: int
    before: list[DataFile]
    after: list[DataFile]
    changelog: list[DataFile]

    @classmethod
    def parse(cls, json: Mapping[str, Any]) -> Self:
        return cls(
            partition=json["partition"],
            bucket=json["bucket"],
            before=data_files(json["before"]),
            after=data_files(json["after"]),
            changelog=data_files(json["changelog"]),
        )


@dataclass(frozen=True, slots=True)
class Compaction:
    """A compaction: its snapshots, or the token of its commit when it was only prepared."""

    buckets: list[BucketChange]
    snapshots: list[int]
    token: str | None


@dataclass(frozen=True, slots=True)
class BucketRound:
    """One round of the compaction manager of one bucket; nothing changes unless it `picked` files."""

    change: BucketChange
    picked: bool
    output_level: int | None
    drop_delete: bool | None
    upgraded: list[str]


@dataclass(frozen=True, slots=True)
class ManagerRound:
    """One round of each bucket: its snapshots, or the token of its commit when it was only prepared."""

    buckets: list[BucketRound]
    snapshots: list[int]
    token: str | None


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over data files."""

    files: int
    bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class CompactBench:
    """A timed compaction: `total_nanos` covers reading manifests and planning too, the others only tasks."""

    total_nanos: int
    rewrite_nanos: int
    rewrite_cpu_nanos: int
    rounds: int
    input: Totals
    output: Totals
    snapshots: list[int]
    token: str | None


@dataclass(frozen=True, slots=True)
class ConfigOption:
    """An option of Paimon and the class and field that declare it."""

    key: str
    default: str | None
    type: str
    fallback_keys: list[str]
    declared_by: str
    field: str


@dataclass(frozen=True, slots=True)
class Options:
    """All options of the bundle, and the plain strings from which keys with column names are built.

    `unreadable` names the classes that cannot be loaded without other libraries.
    """

    options: list[ConfigOption]
    constants: dict[str, str]
    unreadable: list[str]


@dataclass(frozen=True, slots=True)
class Orphans:
    """Files that no snapshot needs."""

    files: list[str]
    bytes: int
