"""`lithify expire` on an Iceberg table: what it says, and what a kill at any point leaves to the next one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import EqualTo

from lithify.faults import JOURNALED_EXPIRY_POINTS
from support.iceberg_tables import NAME, Lakehouse, metadata_of, rows, with_fields
from support.runs import DEADLINE, LITHIFY
from unit.cli.conftest import Lithify

pytestmark = pytest.mark.thorough

HOUR = 3_600_000
ALL = ["--option", "history.expire.max-snapshot-age-ms=0"]


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    """Commits of seven days ago: two files, a row of the first deleted, a file from elsewhere deleted."""
    found = Lakehouse(tmp_path)
    table = found.table()
    table.append(rows(0, 1))
    table.append(rows(2, 3))
    table.delete(EqualTo("id", 0))
    elsewhere = tmp_path / "elsewhere.parquet"
    pq.write_table(rows(90), elsewhere)
    table.add_files([f"file://{elsewhere}"])
    table.delete(EqualTo("id", 90))
    metadata = metadata_of(table)
    aged: dict[str, Any] = {"last-updated-ms": metadata["last-updated-ms"] - 7 * 24 * HOUR}
    for name in ("snapshots", "snapshot-log"):
        aged[name] = [
            {**each, "timestamp-ms": each["timestamp-ms"] - 7 * 24 * HOUR} for each in metadata[name]
        ]
    with_fields(table, aged)
    return found


def words(lakehouse: Lakehouse) -> list[str]:
    options = [f"--catalog-option={name}={text}" for name, text in lakehouse.options.items()]
    return ["--format", "iceberg", "--warehouse", lakehouse.warehouse, "--table", NAME, *options]


def files(lakehouse: Lakehouse) -> set[str]:
    paths = (path for path in lakehouse.folder.rglob("*") if path.is_file())
    return {str(path) for path in paths if not path.name.endswith(".metadata.json")}


def ids(lakehouse: Lakehouse) -> list[int]:
    found: list[int] = lakehouse.catalog().load_table(NAME).scan().to_arrow()["id"].to_pylist()
    return sorted(found)


def test_dry_run_says_what_goes_and_a_run_deletes_it(lithify: Lithify, lakehouse: Lakehouse) -> None:
    before = files(lakehouse)
    told = " ".join(lithify("expire", *words(lakehouse), "--dry-run").out.split())
    assert files(lakehouse) == before
    planned = lithify("expire", *words(lakehouse), "--dry-run", "--json").json
    done = lithify("expire", *words(lakehouse), "--json").json

    assert told.startswith(f"{NAME} would delete {done['figures']['snapshots']} snapshots, 1 data file, ")
    assert "; 1 file outside of the table's folders left alone; the oldest snapshot" in told
    assert planned == {**done, "status": "Planned"}
    assert done["figures"]["foreign_files"] == 1
    counted = ("data_files", "delete_files", "manifests", "manifest_lists", "statistics_files")
    assert len(before - files(lakehouse)) == sum(done["figures"][name] for name in counted)
    assert ids(lakehouse) == [1, 2, 3]
    assert lithify("expire", *words(lakehouse), "--json").json["status"] == "NothingToDo"


def test_options_of_this_run_count(lithify: Lithify, lakehouse: Lakehouse) -> None:
    least = ["--option", "history.expire.min-snapshots-to-keep=3"]
    assert lithify("expire", *words(lakehouse), *least, "--dry-run", "--json").json["status"] == "Planned"
    young = ["--option", f"history.expire.max-snapshot-age-ms={30 * 24 * HOUR}"]
    assert lithify("expire", *words(lakehouse), *young, "--json").json["status"] == "NothingToDo"


@pytest.mark.parametrize("option", ["write.target-file-size-bytes=1", "history.expire.max-ref-age-ms=x"])
def test_other_options_are_refused_by_name(lithify: Lithify, lakehouse: Lakehouse, option: str) -> None:
    before = files(lakehouse)
    ended = lithify("expire", *words(lakehouse), "--option", option)
    assert ended.code == 2
    assert option.partition("=")[0] in ended.sentence
    assert files(lakehouse) == before


@pytest.mark.sampled(2)
@pytest.mark.parametrize("point", JOURNALED_EXPIRY_POINTS)
def test_kill_at_any_point_leaves_a_table_that_the_next_expiry_completes(
    lithify: Lithify, lakehouse: Lakehouse, point: str
) -> None:
    planned = lithify("expire", *words(lakehouse), *ALL, "--dry-run", "--json").json["figures"]
    before = files(lakehouse)
    command = [LITHIFY, "expire", *words(lakehouse), *ALL, "--json"]
    environment = {**os.environ, "LITHIFY_FAULTS": f"{point}=kill"}
    killed = subprocess.run(command, env=environment, capture_output=True, timeout=DEADLINE, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert ids(lakehouse) == [1, 2, 3]

    done = lithify("expire", *words(lakehouse), *ALL, "--json").json

    assert ids(lakehouse) == [1, 2, 3]
    names = [
        name for name in planned if name.endswith(("files", "manifests", "lists")) and name != "foreign_files"
    ]
    gone = before - files(lakehouse)
    assert len(gone) == sum(planned[name] for name in names)
    assert not any("/lithify/" in path for path in files(lakehouse)), "no journal is left"
    again = lithify("expire", *words(lakehouse), *ALL, "--json").json
    assert (done["status"], again["status"]) == ("Done", "NothingToDo")
    assert json.dumps(again["figures"]).count("1") == 0
