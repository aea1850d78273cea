"""Orphan files beside Spark's `remove_orphan_files`: what it keeps stays, and little more does."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from random import Random
from uuid import uuid4

import pyarrow as pa
import pytest

from infrastructure.iceberg.tables import SparkTable, with_branches, with_deletes, with_equality_deletes
from lithify.formats.iceberg.maintenance.orphan_removal import OrphanRemoval
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.maintenance import MaintenanceSettings
from support.cases import case
from support.iceberg_runs import address_of, run
from support.orphan_files import make_old
from support.runs import ShiftedClock

SETTINGS = MaintenanceSettings(orphan_age=timedelta(days=3), most_share=1.0)
DAYS = 5
STRANGE = ("part-00000.parquet", "notes.txt")


def made(table: SparkTable, kind: str) -> SparkTable:
    if kind == "branches":
        with_branches(table, 2)
    elif kind == "equality deletes":
        with_equality_deletes(table)
    else:
        with_deletes(table, 3 if kind == "vectors" else 2, "identity")
    return table


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("kind", "has_expired"),
    [
        case("branches", False, id="branches and a tag"),
        case("branches", True, id="branches and a tag after an expiry"),
        case("equality deletes", False, id="equality deletes"),
        case("equality deletes", True, id="equality deletes after an expiry"),
        case("positions", False, id="position deletes"),
        case("positions", True, id="position deletes after an expiry"),
        case("vectors", False, id="vectors"),
    ],
)
def test_orphans_of_spark_go_but_for_those_with_a_reason(
    sql_table: SparkTable, kind: str, has_expired: bool
) -> None:
    table = made(sql_table, kind)
    run(table)
    folder = Path(table.load().location().removeprefix("file:").replace("///", "/"))
    if has_expired:
        forget_snapshots(table)
    leftovers = plant(folder, Random(kind))
    make_old(folder, DAYS)
    rows = contents(table)
    found = table.procedure("remove_orphan_files", "dry_run => true")["orphan_file_location"].to_pylist()
    theirs = {str(Path(path.removeprefix("file:").replace("///", "/")).relative_to(folder)) for path in found}
    before = files(folder)

    removal = OrphanRemoval(open_iceberg_table(address_of(table)), SETTINGS)
    removal.execute(removal.plan(ShiftedClock()))

    ours = before - files(folder)
    assert leftovers <= ours <= theirs
    assert {path for path in theirs - ours if not has_reason(path)} == set()
    assert contents(table) == rows


def forget_snapshots(table: SparkTable) -> None:
    """Expires all snapshots but those of references, and deletes no file."""
    opened = table.load()
    kept = {each.snapshot_id for each in opened.metadata.refs.values()}
    gone = [each.snapshot_id for each in opened.snapshots() if each.snapshot_id not in kept]
    opened.maintenance.expire_snapshots().by_ids(gone).commit()
    table.run(f"REFRESH TABLE {table.name}")


def plant(folder: Path, random: Random) -> set[str]:
    """Writes files as crashed writers leave them; returns those, without strange ones."""
    places = [path for path in (folder / "data").rglob("*") if path.is_dir()] or [folder / "data"]
    paths = [random.choice(places) / f"00000-{number}-{uuid4()}-0-00001.parquet" for number in range(3)]
    paths += [folder / "metadata" / f"{uuid4()}-m0.avro", folder / "metadata" / f"snap-1-1-{uuid4()}.avro"]
    for path in (*paths, *(random.choice(places) / name for name in STRANGE)):
        path.write_bytes(b"left")
    return {str(path.relative_to(folder)) for path in paths}


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def has_reason(path: str) -> bool:
    """Whether we leave a file alone on purpose: metadata files, journals, names that no writer gives."""
    name = path.rpartition("/")[2]
    is_checksum = name.endswith(".crc")
    return name in STRANGE or is_checksum or name.endswith(".metadata.json") or path.startswith("lithify/")


def contents(table: SparkTable) -> dict[str, pa.Table]:
    """The rows of each snapshot."""
    return {
        str(each.snapshot_id): table.read(at=f"VERSION AS OF {each.snapshot_id}").combine_chunks()
        for each in table.load().snapshots()
    }
