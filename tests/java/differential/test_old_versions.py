"""Tables of every minor version of Paimon since 0.4: read, planned, compacted, and still right for Java 1.4.

Each archive was made by that version itself (`paimon_versions`); all of them went through the same history.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import DataFile
from infrastructure.paimon_versions.archive import VERSIONS, names_in, unpack
from lithify.clock import SystemClock
from lithify.formats.paimon.observing.observer import open_observer
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.primary_key.compacting import CompactedTable
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import ObservationRequest
from support.runs import run_inline
from support.tables import copy_of, expire, stray_files

pytestmark = pytest.mark.oracle

UNCOUNTED = ("0.4.0-incubating", "0.5.0-incubating", "0.6.0-incubating", "0.7.0-incubating")
"""These wrote no number of deletes, and no list said which buckets and levels are in a manifest."""
WITHOUT_RANGES = (*UNCOUNTED, "0.8.2", "0.9.0", "1.0.1")

ROWS = {
    "t": [
        ["+I", "a", 2, "1", None],
        ["+I", "a", 3, "2", None],
        ["+I", "a", 6, "3", None],
        ["+I", "a", 7, "3", "x"],
        ["+I", "b", 1, "1", None],
        ["+I", "b", 3, "3", "y"],
        ["+I", "b", 4, "3", "y"],
    ],
    "plain": [["+I", "a", 1, "1"], ["+I", "a", 2, "2"]],
    "dynamic": [["+I", "a", 1, "1"], ["+I", "a", 2, "2"], ["+I", "a", 3, "1"], ["+I", "a", 4, "2"]],
}
EAGER = {"num-sorted-run.compaction-trigger": "2"}
UPGRADING = {"num-sorted-run.compaction-trigger": "3", "target-file-size": "1 b"}
MERGING = {"manifest.merge-min-count": "2"}

CASES = [
    pytest.param(version, name, id=f"{version}-{name}")
    for version in VERSIONS
    for name in names_in(version)
    if name in ROWS
]


@pytest.mark.sampled(1, each="version")
@pytest.mark.parametrize(("version", "name"), CASES)
@pytest.mark.parametrize("full", [True, False], ids=["full", "minor"])
def test_rows_stay_and_files_are_those_of_java(
    oracle: Oracle, tmp_path: Path, version: str, name: str, full: bool
) -> None:
    table = unpack(version, tmp_path / "ours", name)
    twin = copy_of(table, tmp_path / "java")
    assert oracle.read(table) == ROWS[name]

    run_inline(table, full=full, options=EAGER)
    oracle.compact(twin, full=full, options={**EAGER, "write-only": "false"})

    assert oracle.read(table) == ROWS[name]
    assert shape(oracle, table) == shape(oracle, twin)
    assert hashes(oracle, table) == hashes(oracle, twin)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("version", VERSIONS)
def test_java_goes_on_where_old_and_new_manifests_are_in_one_list(
    oracle: Oracle, tmp_path: Path, version: str
) -> None:
    table = unpack(version, tmp_path, "t")

    run_inline(table, selection=Selection(partitions=({"dt": "b"},)))

    listed = [each["min_bucket"] for lists in oracle.manifests(table).values() for each in lists]
    assert (None in listed) == (version in WITHOUT_RANGES)
    assert set(listed) & {0, 1}
    oracle.write(table, [["-D", "a", 2, None, None], ["+I", "b", 9, "late", "z"]])
    rows = [row for row in [*ROWS["t"], ["+I", "b", 9, "late", "z"]] if row[1:3] != ["a", 2]]
    assert oracle.read(table) == rows
    run_inline(table)
    oracle.compact(table, options={"write-only": "false"})
    expire(oracle, table)
    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("version", VERSIONS)
def test_upgraded_files_keep_what_is_known_of_them(oracle: Oracle, tmp_path: Path, version: str) -> None:
    table = unpack(version, tmp_path, "tall")
    rows, before = oracle.read(table), by_name(oracle, table)

    run_inline(table, full=False, options={**UPGRADING, **MERGING})

    after = by_name(oracle, table)
    assert sorted(file.level for file in after.values()) == [4, 4, 4, 4, 5]
    assert {name: replace(file, level=before[name].level) for name, file in after.items()} == before
    assert {file.delete_rows for file in after.values()} == ({None} if version in UNCOUNTED else {0})
    assert oracle.read(table) == rows


@pytest.mark.sampled(3)
@pytest.mark.parametrize("version", VERSIONS)
def test_merged_manifests_say_what_the_old_ones_said(oracle: Oracle, tmp_path: Path, version: str) -> None:
    table = unpack(version, tmp_path, "t")
    before = by_name(oracle, table)

    run_inline(table, selection=Selection(partitions=({"dt": "b"},)), options=MERGING)

    after = by_name(oracle, table)
    assert len(oracle.manifests(table)["base"]) == 1
    untouched = {name: file for name, file in before.items() if file.partition == {"dt": "a"}}
    assert {name: file for name, file in after.items() if name in untouched} == untouched
    assert oracle.read(table) == ROWS["t"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("version", VERSIONS)
def test_looks_agree_with_what_java_sees(oracle: Oracle, tmp_path: Path, version: str) -> None:
    table = unpack(version, tmp_path / "warehouse", "t")
    clock = SystemClock(UTC)
    address = TableAddress(str(table.warehouse), str(table.name))
    look = ObservationRequest(address, "uid", is_full=True)
    watch = open_observer(tmp_path / "kept", 1 << 20, clock)

    found = watch.observe(look)

    files = oracle.files(table)
    assert found is not None
    assert (found.files, found.bytes) == (len(files), sum(file.size for file in files))
    assert found.snapshots.count == len(oracle.snapshots(table))
    assert sum(bucket.files for bucket in inspected(address, clock)) == len(files)
    run_inline(table)
    known = replace(look, is_full=False, known_uuid=found.table_uuid, known_snapshot=found.snapshot)
    fresh = open_observer(tmp_path / "fresh", 1 << 20, clock)
    assert without_history(watch.observe(known)) == without_history(fresh.observe(look))


def test_what_java_reads_of_versions_before_0_4_is_compacted(oracle: Oracle, tmp_path: Path) -> None:
    table = unpack("0.4.0-incubating", tmp_path, "t")
    make_older(table)
    assert oracle.read(table) == ROWS["t"]

    run_inline(table, options=MERGING)

    assert oracle.read(table) == ROWS["t"]
    oracle.write(table, [["-D", "a", 2, None, None]])
    run_inline(table)
    assert oracle.read(table) == ROWS["t"][1:]


def shape(oracle: Oracle, table: Table) -> list[Any]:
    """How many rows and deletes are in the files of each bucket, and on which level."""
    return sorted(
        (str(file.partition), file.bucket, file.level, file.rows, file.delete_rows is None, file.schema_id)
        for file in oracle.files(table)
    )


def hashes(oracle: Oracle, table: Table) -> list[Any]:
    """Which keys are in which bucket, by the index."""
    return [(file.bucket, file.name, file.hashes) for file in oracle.index_files(table)]


def by_name(oracle: Oracle, table: Table) -> dict[str, DataFile]:
    return {file.name: file for file in oracle.files(table)}


def inspected(address: TableAddress, clock: SystemClock) -> Any:
    return CompactedTable(open_table(address)).inspect(Selection(), clock).groups


def without_history(found: Observation | None) -> Observation:
    """What was removed before the first look, only a full one tells."""
    assert found is not None
    return replace(found, snapshots=replace(found.snapshots, expired_bytes=0))


def make_older(table: Table) -> None:
    """Leaves out what came with 0.4, as facts of `flink-table-store` 0.3 and 0.2.

    Those knew no time of creation, no counts in snapshots, and wrote identifiers as texts.
    """
    for path in (table.folder / "manifest").glob("manifest-*-[0-9]*"):
        if not path.name.startswith("manifest-list-"):
            path.write_bytes(without_creation_time(path.read_bytes()))
    for path in (table.folder / "snapshot").glob("snapshot-*"):
        snapshot = json.loads(path.read_text())
        later = ("version", "totalRecordCount", "deltaRecordCount", "changelogRecordCount", "watermark")
        kept = {name: value for name, value in snapshot.items() if name not in later}
        path.write_text(json.dumps({**kept, "commitIdentifier": str(snapshot["commitIdentifier"])}))


def without_creation_time(manifest: bytes) -> bytes:
    def older(schema: Any) -> Any:
        if isinstance(schema, list):
            return [older(part) for part in schema]
        if not isinstance(schema, Mapping) or schema["type"] != "record":
            return schema
        fields = [field for field in schema["fields"] if field["name"] != "_CREATION_TIME"]
        return {**schema, "fields": [{**field, "type": older(field["type"])} for field in fields]}

    reader: Any = fastavro.reader(BytesIO(manifest))
    records = [without(record, "_CREATION_TIME") for record in reader]
    stream = BytesIO()
    schema = older(json.loads(reader.metadata["avro.schema"]))
    fastavro.writer(stream, schema, records, codec=reader.codec)
    return stream.getvalue()


def without(record: dict[str, Any], field: str) -> dict[str, Any]:
    file = {name: value for name, value in record["_FILE"].items() if name != field}
    return {**record, "_FILE": file}
