"""Append tables whose files are more than rows: each kind is refused by name, whatever the options are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle
from infrastructure.oracle.model import Table
from lithify.errors import UnsupportedTable
from lithify.formats.registry import open_table
from support.cases import case
from support.runs import ShiftedClock, request, run_inline

pytestmark = pytest.mark.oracle

COLUMNS = {"id": "INT", "v": "STRING"}
TRACKED = {"row-tracking.enabled": "true"}
EVOLVING = {**TRACKED, "data-evolution.enabled": "true"}
CLUSTERED = {"clustering.incremental": "true"}
WITH_VECTORS = {"deletion-vectors.enabled": "true"}


def made(oracle: Oracle, folder: Path, options: dict[str, str], commits: int = 6) -> Table:
    table = Table(folder, "db.t")
    oracle.create_table(table, COLUMNS, options=options)
    for number in range(commits):
        oracle.write(table, [["+I", number, "x"]])
    return table


def without(table: Table, *options: str) -> None:
    """Takes options out of every version of the schema, as if they had been switched off."""
    for path in (table.folder / "schema").glob("schema-*"):
        schema = json.loads(path.read_text())
        for option in options:
            schema["options"].pop(option, None)
        path.write_text(json.dumps(schema))


def refusals(table: Table) -> str:
    with pytest.raises(UnsupportedTable) as refused:
        run_inline(table)
    return " ".join(refused.value.reasons)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("options", "named"),
    [
        case(TRACKED, "row-tracking.enabled", id="row tracking"),
        case(EVOLVING, "data-evolution.enabled", id="data evolution"),
        case(CLUSTERED, "clustering.columns", id="clustering by nothing"),
        case({**CLUSTERED, "clustering.columns": "id,w"}, "no column w", id="clustering by no column"),
        case(
            {**CLUSTERED, "clustering.columns": "id", "clustering.strategy": "none"},
            "clustering.strategy",
            id="clustering without order",
        ),
        case(
            {**CLUSTERED, "clustering.columns": "id", **WITH_VECTORS},
            "deletion-vectors.enabled",
            id="clustering with deletion vectors",
        ),
        case(
            {**WITH_VECTORS, "bucket": "1", "bucket-key": "id"},
            "deletion-vectors.enabled",
            id="deletion vectors in buckets",
        ),
        case({"force-lookup": "true"}, "force-lookup", id="lookups"),
        case({"file-index.bsi.columns": "other"}, "no column other", id="file index of no column"),
        case({"file-index.bsi.columns": "v"}, "no such index of VARCHAR", id="file index of another type"),
        case({"file-index.of-my-own.columns": "id"}, "file-index.of-my-own", id="file index of no kind"),
        case({**TRACKED, **EVOLVING, "blob-field": "v"}, "blob-field", id="blob columns"),
    ],
)
def test_options_are_refused_by_name(
    oracle: Oracle, tmp_path: Path, options: dict[str, str], named: str
) -> None:
    table = Table(tmp_path, "db.t")
    columns = {**COLUMNS, **({"v": "BYTES"} if "blob-field" in options else {})}
    oracle.create_table(table, columns, options={k: v for k, v in options.items() if k != "blob-field"})
    if "blob-field" in options:
        oracle.alter_table(table, {"set_option": ["blob-field", "v"]})
    assert named in refusals(table)
    asked = request(table)
    unsupported = open_table(asked.table).inspect(asked.selection, ShiftedClock()).unsupported
    assert any(named in reason for reason in unsupported)


def test_clustering_is_refused_with_a_primary_key(oracle: Oracle, tmp_path: Path) -> None:
    """Java makes no such table; somebody may have edited its schema."""
    table = Table(tmp_path, "db.t")
    oracle.create_table(table, {**COLUMNS, "id": "INT NOT NULL"}, ["id"], options={"bucket": "1"})
    path = table.folder / "schema" / "schema-0"
    schema = json.loads(path.read_text())
    schema["options"] |= {**CLUSTERED, "clustering.columns": "v"}
    path.write_text(json.dumps(schema))
    assert "clustering.incremental" in refusals(table)


def test_sorted_files_are_refused_without_the_option(oracle: Oracle, tmp_path: Path) -> None:
    table = made(oracle, tmp_path, {**CLUSTERED, "clustering.columns": "id"})
    oracle.compact(table, full=True)
    for number in range(6):
        oracle.write(table, [["+I", number, "y"]])
    without(table, *CLUSTERED, "clustering.columns")
    assert "clustered" in refusals(table)


def test_files_with_row_ids_are_refused_without_the_option(oracle: Oracle, tmp_path: Path) -> None:
    table = made(oracle, tmp_path, TRACKED)
    without(table, *TRACKED)
    assert "row tracking or data evolution" in refusals(table)


def test_new_files_have_no_index_without_the_option(oracle: Oracle, tmp_path: Path) -> None:
    table = made(oracle, tmp_path, {"file-index.bloom-filter.columns": "id"})
    rows = oracle.digest(table)
    without(table, "file-index.bloom-filter.columns")
    assert run_inline(table).status == "Compacted"
    assert [(file.extra_files, file.embedded_index) for file in oracle.files(table)] == [([], None)]
    assert oracle.digest(table) == rows


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        case({"bucket": "-1"}, "HASH", id="the keys of dynamic buckets"),
        case({"bucket": "1", **WITH_VECTORS}, "DELETION_VECTORS", id="deletion vectors"),
    ],
)
def test_any_index_in_the_snapshot_is_refused_without_the_option(
    oracle: Oracle, tmp_path: Path, options: dict[str, str], kind: str
) -> None:
    """The snapshot has an index manifest, as after a delete before the option was switched off."""
    other = Table(tmp_path, "db.other")
    oracle.create_table(other, {"id": "INT NOT NULL", "v": "STRING"}, primary_key=["id"], options=options)
    for mark in "abc":
        oracle.write(other, [["+I", number, mark] for number in range(9 if mark == "a" else 2)])
        oracle.compact(other, full=mark == "a")
    index = next(found for each in reversed(oracle.snapshots(other)) if (found := each.get("indexManifest")))
    table = made(oracle, tmp_path, {})
    shutil.copy(other.folder / "manifest" / index, table.folder / "manifest")
    newest = table.folder / "snapshot" / f"snapshot-{oracle.snapshots(table)[-1]['id']}"
    newest.write_text(json.dumps({**json.loads(newest.read_text()), "indexManifest": index}))

    assert kind in refusals(table)
