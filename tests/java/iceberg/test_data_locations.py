"""New files go where Java's location providers put files of the same names."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.iceberg.tables import SparkTable
from lithify.formats.iceberg.table.data_locations import data_locations
from lithify.formats.iceberg.table.metadata import parse_metadata
from support.cases import case
from support.iceberg_runs import run

HASHED = {"write.object-storage.enabled": "true"}
FLAT = {**HASHED, "write.object-storage.partitioned-paths": "false"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("partitions", ["none", "identity"])
@pytest.mark.parametrize(
    ("properties", "is_outside"),
    [
        case({}, False, id="folders of partitions"),
        case({}, True, id="folders of partitions elsewhere"),
        case(HASHED, False, id="hashes"),
        case(HASHED, True, id="hashes elsewhere"),
        case(FLAT, False, id="hashes without partitions"),
        case(FLAT, True, id="hashes without partitions elsewhere"),
    ],
)
def test_places_are_those_of_java(
    sql_table: SparkTable,
    tmp_path: Path,
    properties: dict[str, str],
    is_outside: bool,
    partitions: str,
) -> None:
    more = {"write.data.path": f"file:{tmp_path}/elsewhere"} if is_outside else {}
    table = sql_table.create(3, partitions, {**properties, **more}).append_many(4, 30)
    before = table.read().combine_chunks()
    written = paths(table)

    assert run(table).status == "Compacted"

    stored = table.load().metadata.model_dump(by_alias=True, mode="json")
    locations = data_locations(parse_metadata(stored, "m.json"))
    rewritten = paths(table)
    assert not {*written} & {*rewritten}
    for path, partition in (*written.items(), *rewritten.items()):
        name = path.rpartition("/")[2]
        is_marked = locations.is_hashed and not locations.has_partitions and not locations.context
        assert plain(locations.path(partition, name.partition("-")[2] if is_marked else name)) == path
    assert table.read().combine_chunks() == before


def paths(table: SparkTable) -> dict[str, str]:
    """The folder of the partition of each data file, by the file's location."""
    rows = table.metadata_table("files").to_pylist()
    return {plain(row["file_path"]): folder(row.get("partition")) for row in rows}


def plain(location: str) -> str:
    """Spark and pyiceberg spell the scheme of local files in two ways."""
    return location.replace("file:///", "/").replace("file:/", "/")


def folder(partition: dict[str, str | None] | None) -> str:
    return "/".join(f"{name}={value or 'null'}" for name, value in (partition or {}).items())
