"""Opening Iceberg tables: metadata of all versions, branches, compression, and tables that are recreated."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from lithify.errors import CatalogUnavailable, CorruptTable, MissingFile, NotFound, UnsupportedTable
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import TableAddress
from support.cases import case
from support.iceberg_rest import IcebergRestServer
from support.iceberg_tables import NAME, Lakehouse, as_folder_table, metadata_of, rows, with_fields


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    return Lakehouse(tmp_path)


@pytest.mark.parametrize("version", [1, 2])
def test_a_table_is_opened_as_its_writer_left_it(lakehouse: Lakehouse, version: int) -> None:
    table = lakehouse.table(properties={"format-version": str(version), "owner": "team"})
    table.append(rows(1))
    table.append(rows(2))

    opened = open_iceberg_table(lakehouse.address())

    current, head = table.current_snapshot(), opened.head()
    assert current is not None
    assert head is not None
    assert (opened.name, opened.refusals) == (NAME, ())
    assert opened.metadata.format_version == version
    assert (head.id, head.parent) == (current.snapshot_id, current.parent_snapshot_id)
    assert [each.id for each in opened.metadata.ancestry("main")] == [head.id, head.parent]
    assert opened.metadata.last_sequence == (2 if version == 2 else 0)
    assert opened.metadata.properties["owner"] == "team"
    assert opened.uuid == str(table.metadata.table_uuid)


def test_a_table_without_snapshots_has_no_head(lakehouse: Lakehouse) -> None:
    lakehouse.table()
    assert open_iceberg_table(lakehouse.address()).head() is None


def test_a_branch_is_another_table_with_its_own_head(lakehouse: Lakehouse) -> None:
    table = lakehouse.table()
    table.append(rows(1))
    first = table.current_snapshot()
    assert first is not None
    table.manage_snapshots().create_branch(first.snapshot_id, "audit").commit()
    table.append(rows(2))

    main = open_iceberg_table(lakehouse.address())
    branch = open_iceberg_table(lakehouse.address(f"{NAME}$branch_audit"))

    head = branch.head()
    assert head is not None
    assert head.id == first.snapshot_id
    assert branch.uuid != main.uuid


def test_a_tag_is_no_branch(lakehouse: Lakehouse) -> None:
    table = lakehouse.table()
    table.append(rows(1))
    head = table.current_snapshot()
    assert head is not None
    table.manage_snapshots().create_tag(head.snapshot_id, "v1").commit()
    for name in ("v1", "none"):
        with pytest.raises(NotFound):
            open_iceberg_table(lakehouse.address(f"{NAME}$branch_{name}"))


def test_an_older_state_than_before_is_no_answer(lakehouse: Lakehouse) -> None:
    """A replica of the catalog lags behind; to clean-up, new files would seem to be unreferenced."""
    table, key = lakehouse.table(), tuple(NAME.split("."))
    table.append(rows(1))
    older = metadata_of(table)
    table.append(rows(2))
    with IcebergRestServer({key: metadata_of(table)}) as server:
        opened = open_iceberg_table(TableAddress("lake", NAME, server.options, format="iceberg"))
        known = opened.metadata
        server.tables[key] = older
        with pytest.raises(CatalogUnavailable, match="older state"):
            opened.refresh()
        assert opened.metadata is known


def test_refreshing_reads_a_file_only_if_it_is_a_new_one(lakehouse: Lakehouse) -> None:
    table = lakehouse.table()
    opened = open_iceberg_table(lakehouse.address())
    before = opened.metadata
    assert opened.refresh() is before
    table.append(rows(1))
    assert opened.refresh() is not before
    assert opened.head() is not None


def test_a_table_that_was_created_again_is_not_the_one_that_was_opened(lakehouse: Lakehouse) -> None:
    lakehouse.table()
    opened = open_iceberg_table(lakehouse.address())
    lakehouse.catalog().drop_table(NAME)
    lakehouse.table()
    with pytest.raises(NotFound):
        opened.refresh()


def test_compressed_metadata_is_read_whatever_its_name_says(lakehouse: Lakehouse, tmp_path: Path) -> None:
    folder = as_folder_table(lakehouse.table(), tmp_path / "wh")
    plain = folder / "v1.metadata.json"
    plain.write_bytes(gzip.compress(plain.read_bytes()))
    opened = open_iceberg_table(TableAddress(str(tmp_path / "wh"), NAME, format="iceberg"))
    assert opened.metadata.format_version == 2


@pytest.mark.parametrize(
    "damage",
    [
        case(b"", id="empty"),
        case(b"[]", id="no object"),
        case(b"{}", id="no fields"),
        case(b"\x1f\x8bxx", id="damaged compression"),
        case(gzip.compress(b"x" * 100)[:30], id="cut off"),
        case(b'{"format-version": 2, "location": "/x", "last-updated-ms": "soon"}', id="a text for a number"),
    ],
)
def test_damaged_metadata_names_its_file(lakehouse: Lakehouse, tmp_path: Path, damage: bytes) -> None:
    folder = as_folder_table(lakehouse.table(), tmp_path / "wh")
    (folder / "v1.metadata.json").write_bytes(damage)
    with pytest.raises(CorruptTable) as raised:
        open_iceberg_table(TableAddress(str(tmp_path / "wh"), NAME, format="iceberg"))
    assert raised.value.path.endswith("v1.metadata.json")


def test_missing_metadata_is_named(lakehouse: Lakehouse) -> None:
    table = lakehouse.table()
    Path(table.metadata_location.removeprefix("file://")).unlink()
    with pytest.raises(MissingFile):
        open_iceberg_table(lakehouse.address())


def test_metadata_of_the_oldest_writers_is_read(lakehouse: Lakehouse, tmp_path: Path) -> None:
    """Version 1 once had one schema, one spec without an id, and no UUID."""
    table = lakehouse.table(properties={"format-version": "1"})
    table.append(rows(1))
    found = metadata_of(table)
    old = {key: value for key, value in found.items() if key not in _SINCE_IDS}
    old["schema"], old["partition-spec"] = found["schemas"][0], found["partition-specs"][0]["fields"]
    folder = as_folder_table(table, tmp_path / "wh")
    (folder / "v1.metadata.json").write_text(json.dumps(old), "utf-8")

    opened = open_iceberg_table(TableAddress(str(tmp_path / "wh"), NAME, format="iceberg"))

    assert opened.head() is not None
    assert (opened.metadata.spec_id, opened.metadata.sort_order_id) == (0, 0)
    assert len(opened.uuid) == 32


_SINCE_IDS = frozenset(
    {
        *("schemas", "current-schema-id", "partition-specs", "default-spec-id", "table-uuid", "refs"),
        *("sort-orders", "default-sort-order-id", "schema", "partition-spec", "last-partition-id"),
    }
)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        case({"format-version": 4}, "format-version", id="later version"),
        case({"encryption-keys": [{"key-id": "k"}]}, "encryption-keys", id="encryption"),
        case({"properties": {"write.location-provider.impl": "com.x.Y"}}, "location-provider", id="places"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(
    lakehouse: Lakehouse, changes: dict[str, Any], name: str
) -> None:
    with_fields(lakehouse.table(), changes)
    with pytest.raises(UnsupportedTable) as refused:
        open_iceberg_table(lakehouse.address()).check_supported()
    assert name in refused.value.reasons[0]


def test_remote_signing_is_refused_unless_the_catalog_has_keys(lakehouse: Lakehouse) -> None:
    with IcebergRestServer({tuple(NAME.split(".")): metadata_of(lakehouse.table())}) as server:
        server.config = {"s3.remote-signing-enabled": "true"}
        address = TableAddress("lake", NAME, server.options, format="iceberg")
        keys = {"s3.access-key": "a", "s3.secret-key": "b"}
        with_keys = TableAddress("lake", NAME, {**server.options, **keys}, format="iceberg")
        assert "remote-signing" in open_iceberg_table(address).refusals[0]
        assert open_iceberg_table(with_keys).refusals == ()
