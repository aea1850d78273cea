"""Which files of a delta are gone, which of a changelog are new, and where they lie."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from lithify.errors import CorruptTable
from lithify.formats.paimon.maintenance.removed_files import (
    FILES,
    added_files,
    names_of,
    paths_of,
    removed_files,
    unless_named,
)
from lithify.formats.paimon.manifests.entries import ADD, DELETE
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.rows.binary_row import encode_row
from lithify.formats.paimon.schema.type_texts import parse_type
from lithify.formats.paimon.table import PaimonTable
from support.small_tables import SmallTable

Entry = tuple[int, str, int, str]
"""Kind, partition, bucket and name."""

_SCHEMA = pa.schema([pa.field("kind", pa.int32()), *FILES])


def entries(found: Sequence[Entry], beside: Sequence[Sequence[str]] | None = None) -> pa.Table:
    extra = [[] for _ in found] if beside is None else [*map(list, beside)]
    rows = [
        {
            "kind": kind,
            "partition": day(partition),
            "bucket": bucket,
            "name": name,
            "external_path": None,
            "extra_files": more,
        }
        for (kind, partition, bucket, name), more in zip(found, extra, strict=True)
    ]
    return pa.Table.from_pylist(rows, _SCHEMA)


def day(text: str) -> bytes:
    return encode_row([text.encode()], [parse_type("STRING NOT NULL")])


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([(ADD, "a", 0, "f")], [], id="a new file"),
        pytest.param([(DELETE, "a", 0, "f"), (DELETE, "a", 1, "g")], ["f", "g"], id="two removed files"),
        pytest.param([(DELETE, "a", 0, "f"), (ADD, "a", 0, "f")], [], id="moved to another level"),
        pytest.param([(ADD, "a", 0, "f"), (DELETE, "a", 0, "f")], ["f"], id="added and removed"),
        pytest.param([(DELETE, "a", 0, "f"), (ADD, "a", 1, "f")], ["f"], id="same name in another bucket"),
        pytest.param([(DELETE, "a", 0, "f"), (ADD, "b", 0, "f")], ["f"], id="same name in another partition"),
        pytest.param(
            [(DELETE, "a", 0, "f"), (ADD, "a", 0, "f"), (DELETE, "a", 0, "f")],
            ["f"],
            id="moved, then removed",
        ),
    ],
)
def test_last_entry_of_a_file_counts(delta: list[Entry], expected: list[str]) -> None:
    assert removed_files(entries(delta))["name"].to_pylist() == expected


def test_changelog_files_are_those_that_are_added() -> None:
    found = added_files(entries([(ADD, "a", 0, "c"), (DELETE, "a", 0, "d")], [["c.index"], []]))
    assert found["name"].to_pylist() == ["c"]
    assert found["extra_files"].to_pylist() == [[]]


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        pytest.param([], ["f", "g"], id="nothing is needed"),
        pytest.param(["f"], ["g"], id="a file is needed"),
        pytest.param(["f.index"], ["g"], id="a file beside it is needed"),
        pytest.param(["f", "g"], [], id="all are needed"),
    ],
)
def test_needed_files_stay_with_those_beside_them(kept: list[str], expected: list[str]) -> None:
    files = removed_files(entries([(DELETE, "a", 0, "f"), (DELETE, "a", 0, "g")], [["f.index"], []]))
    assert sorted(names_of(files).to_pylist()) == ["f", "f.index", "g"]
    assert unless_named(files, pa.array(kept, pa.string()))["name"].to_pylist() == expected


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> PaimonTable:
    made = SmallTable(tmp_path_factory.mktemp("paths")).create()
    return open_table(made.address)


def test_paths_are_those_of_buckets(table: PaimonTable) -> None:
    files = removed_files(entries([(DELETE, "a", 0, "f"), (DELETE, "b", 1, "g")], [["f.index"], []]))
    found = {path.removeprefix(table.root) for path in paths_of(table, files).to_pylist()}
    assert found == {"/dt=a/bucket-0/f", "/dt=a/bucket-0/f.index", "/dt=b/bucket-1/g"}


def external(path: str) -> pa.Table:
    files = removed_files(entries([(DELETE, "a", 0, "f")], [["f.index"]]))
    at = files.schema.get_field_index("external_path")
    return files.set_column(at, FILES.field(at), pa.array([path], pa.string()))


def test_files_beside_an_external_file_lie_beside_it(table: PaimonTable) -> None:
    found = paths_of(table, external(f"{table.root}/else/f")).to_pylist()
    assert found == [f"{table.root}/else/f", f"{table.root}/else/f.index"]


@pytest.mark.parametrize("path", ["/etc/f", "{root}/../f", "{root}/snapshot/snapshot-1", "f"])
def test_places_where_the_table_has_no_files_are_refused(table: PaimonTable, path: str) -> None:
    with pytest.raises(CorruptTable):
        paths_of(table, external(path.replace("{root}", table.root)))
