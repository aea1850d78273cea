"""Table metadata: a frozen view of the JSON that a catalog or a metadata file has. Pure.

The JSON is kept whole: fields that this release does not know are carried when the next version is written
(`evolving`). Anyone who may write to the table can have written it, so its form is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lithify.errors import CorruptTable
from lithify.formats.iceberg.properties import is_true
from lithify.formats.iceberg.table.snapshots import (
    NO_SNAPSHOT,
    Reference,
    Snapshot,
    is_rollbackable,
    optional_int,
    optional_text,
    parse_reference,
    parse_snapshot,
)

MAIN = "main"


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """The metadata of a table.

    Attributes:
        json: all of it, as stored.
        file: its file; empty if a server did not say.
        format_version: 1 to 3; later ones are refused by `support`.
        uuid: the table's UUID; None in tables of version 1 that have none.
        location: the table's folder.
        properties: the table's properties.
        last_sequence: the highest sequence number that was assigned.
        next_row_id: the next row id; 0 before version 3.
        last_updated: milliseconds of the last change.
        schemas: the schemas as JSON, by id.
        schema_id: id of the current one.
        specs: the partition specs as JSON, by id.
        spec_id: id of the default one.
        sort_orders: the sort orders as JSON, by id.
        sort_order_id: id of the default one.
        snapshots: the snapshots by id.
        refs: branches and tags by name.
    """

    json: Mapping[str, Any]
    file: str
    format_version: int
    uuid: str | None
    location: str
    properties: Mapping[str, str]
    last_sequence: int
    next_row_id: int
    last_updated: int
    schemas: Mapping[int, Mapping[str, Any]]
    schema_id: int
    specs: Mapping[int, Mapping[str, Any]]
    spec_id: int
    sort_orders: Mapping[int, Mapping[str, Any]]
    sort_order_id: int
    snapshots: Mapping[int, Snapshot]
    refs: Mapping[str, Reference]

    def head(self, branch: str) -> Snapshot | None:
        """The newest snapshot of a branch; None if it has none."""
        reference = self.refs.get(branch)
        return None if reference is None else self.snapshots.get(reference.snapshot)

    def ancestry(self, branch: str) -> Iterator[Snapshot]:
        """The snapshots of a branch, newest first, as far as they have not expired."""
        return self.ancestors(self.head(branch))

    def ancestors(self, snapshot: Snapshot | None) -> Iterator[Snapshot]:
        """A snapshot and its ancestors, newest first, as far as they have not expired."""
        seen = set[int]()
        while snapshot is not None and snapshot.id not in seen:
            seen.add(snapshot.id)
            yield snapshot
            snapshot = None if snapshot.parent is None else self.snapshots.get(snapshot.parent)

    def lasting_head(self, branch: str) -> Snapshot | None:
        """The newest snapshot of a branch that no catalog removes in favour of a writer; None if unknown.

        A late commit that was built on it, or on a later one, may still be carried out.
        """
        return next((each for each in self.ancestry(branch) if not is_rollbackable(each)), None)

    @property
    def commit_times(self) -> Mapping[int, int]:
        """When each snapshot was committed, in milliseconds since 1970, by its id."""
        return {number: each.millis for number, each in self.snapshots.items()}

    @property
    def unpartitioned_specs(self) -> frozenset[int]:
        """The specs whose equality deletes apply to all partitions: those without fields but void ones."""
        return frozenset(
            number
            for number, spec in self.specs.items()
            if all(field.get("transform") == "void" for field in spec.get("fields") or ())
        )

    @property
    def metadata_folder(self) -> str:
        """Where manifests and metadata files are written."""
        return (self.properties.get("write.metadata.path") or f"{self.location}/metadata").rstrip("/")

    @property
    def has_hashed_locations(self) -> bool:
        """Whether new data files go below hashes of their names."""
        return is_true(self.properties, "write.object-storage.enabled")

    @property
    def data_folder(self) -> str:
        """Where data files are written."""
        older = ("write.object-storage.path",) if self.has_hashed_locations else ()
        names = ("write.data.path", *older, "write.folder-storage.path")
        given = next((self.properties[name] for name in names if self.properties.get(name)), None)
        return (given or f"{self.location}/data").rstrip("/")


def parse_metadata(found: Mapping[str, Any], file: str) -> TableMetadata:
    """Parses table metadata.

    Raises:
        CorruptTable: it is none.
    """
    try:
        return _parsed(found, file)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"it is no metadata of an Iceberg table ({type(error).__name__}: {error})"
        raise CorruptTable(file or "table metadata", problem) from error


def _parsed(found: Mapping[str, Any], file: str) -> TableMetadata:
    snapshots = {each.id: each for each in map(parse_snapshot, found.get("snapshots") or ())}
    schemas = _by_id(found.get("schemas") or [found["schema"]], "schema-id")
    specs = _by_id(found.get("partition-specs") or [_first_spec(found)], "spec-id")
    orders = _by_id(found.get("sort-orders") or [{"order-id": 0, "fields": []}], "order-id")
    return TableMetadata(
        json=found,
        file=file,
        format_version=int(found["format-version"]),
        uuid=optional_text(found, "table-uuid"),
        location=str(found["location"]).rstrip("/"),
        properties={str(key): str(value) for key, value in (found.get("properties") or {}).items()},
        last_sequence=optional_int(found, "last-sequence-number") or 0,
        next_row_id=optional_int(found, "next-row-id") or 0,
        last_updated=int(found["last-updated-ms"]),
        schemas=schemas,
        schema_id=_among(schemas, optional_int(found, "current-schema-id") or 0),
        specs=specs,
        spec_id=_among(specs, optional_int(found, "default-spec-id") or 0),
        sort_orders=orders,
        sort_order_id=_among(orders, optional_int(found, "default-sort-order-id") or 0),
        snapshots=snapshots,
        refs=_references(found),
    )


def _references(found: Mapping[str, Any]) -> dict[str, Reference]:
    refs = {str(name): parse_reference(str(name), each) for name, each in (found.get("refs") or {}).items()}
    current = optional_int(found, "current-snapshot-id")
    if MAIN not in refs and current is not None and current != NO_SNAPSHOT:
        refs[MAIN] = Reference(MAIN, current, is_branch=True)
    return refs


def _first_spec(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The spec of old tables of version 1, which have one without an id."""
    return {"spec-id": 0, "fields": found.get("partition-spec") or []}


def _by_id(found: Sequence[Mapping[str, Any]], key: str) -> dict[int, Mapping[str, Any]]:
    return {optional_int(each, key) or 0: each for each in found}


def _among(found: Mapping[int, object], wanted: int) -> int:
    if wanted not in found:
        if len(found) == 1:
            return next(iter(found))  # old tables of version 1 name no id
        raise ValueError(f"there is no {wanted} among {sorted(found)}")
    return wanted
