"""Forged paths in metadata: no name of a file, branch or external path leads out of a table's folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cluster.hostile.neighbours import Neighbours, journal, text_of
from infrastructure.oracle.client import Table
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.runner import InlineRunner
from lithify.errors import CorruptTable, InvalidOption, LithifyError, UnsupportedTable
from lithify.formats.paimon.manifests.entries import ManifestEntry
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.manifests import manifest_files
from support.rest_server import WAREHOUSE, RestServer
from support.runs import ShiftedClock, run_inline

OWN_PREFIX = "11111111-2222-4333-8444-"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Neighbours:
    return Neighbours.make(tmp_path_factory.mktemp("model") / "warehouse")


@pytest.fixture
def tables(model: Neighbours, tmp_path: Path) -> Neighbours:
    return model.copied(tmp_path / "warehouse")


def edit_snapshot(tables: Neighbours, **changes: Any) -> None:
    """A further snapshot of the attacker's table: the newest one with other fields."""
    number = tables.own.numbers[-1]
    snapshot = {**tables.own.snapshot(number), "id": number + 1, **changes}
    (tables.own.folder / "snapshot" / f"snapshot-{number + 1}").write_text(json.dumps(snapshot))


def forge_entries(tables: Neighbours, forge: Callable[[ManifestEntry], ManifestEntry]) -> None:
    """A further snapshot whose one manifest has forged entries of the live files."""
    table = open_table(tables.own.address)
    newest = table.snapshots.latest()
    assert newest is not None
    entries = [forge(entry) for entry in table.manifests.live(newest)]
    for name, metas in (("base", manifest_files(table).write(entries, "forged")), ("delta", [])):
        manifest_files(table).write_list(metas, f"manifest-list-forged-{name}")
    edit_snapshot(
        tables,
        baseManifestList="manifest-list-forged-base",
        deltaManifestList="manifest-list-forged-delta",
        baseManifestListSize=None,
        deltaManifestListSize=None,
    )


def with_file(entry: ManifestEntry, **changes: Any) -> ManifestEntry:
    return replace(entry, file=replace(entry.file, **changes))


NAMES = {
    "up": "../../../victim.db/orders/dt=a/bucket-0/x.parquet",
    "absolute": "/etc/passwd",
    "backslashes": "..\\..\\x.parquet",
    "one up": "..",
    "here": ".",
    "nothing": "",
    "a null character": "x\0.parquet",
    "a line": "x\n.parquet",
    "a control character of the second set": "x\x85.parquet",
    "longer than any": "x" * 250 + ".parquet",
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("field", ["name", "extra_files"])
def test_data_files_have_names_and_no_paths(tables: Neighbours, field: str, name: str) -> None:
    forge_entries(tables, lambda entry: with_file(entry, **{field: name if field == "name" else (name,)}))
    before = tables.everything_else

    with pytest.raises(CorruptTable) as refused:
        tables.compact(0, full=True)

    assert "manifest-forged" in refused.value.path
    assert tables.everything_else == before


@pytest.mark.parametrize(
    "field",
    ["baseManifestList", "deltaManifestList", "changelogManifestList", "indexManifest", "statistics"],
)
def test_snapshots_name_files_and_no_paths(tables: Neighbours, field: str) -> None:
    edit_snapshot(tables, **{field: "../../../victim.db/orders/x"})
    before = tables.everything_else

    with pytest.raises(CorruptTable):
        tables.compact(0, full=True)

    assert tables.everything_else == before


def test_manifest_lists_name_files_and_no_paths(tables: Neighbours) -> None:
    table = open_table(tables.own.address)
    newest = table.snapshots.latest()
    assert newest is not None
    (meta,) = table.manifests.list_files(newest)[:1]
    meta.file_name = "../../../victim.db/orders/manifest/x"
    manifest_files(table).write_list([meta], "manifest-list-forged-0")
    edit_snapshot(tables, baseManifestList="manifest-list-forged-0", baseManifestListSize=None)
    before = tables.everything_else

    with pytest.raises(CorruptTable) as refused:
        tables.compact(0, full=True)

    assert "manifest-list-forged-0" in refused.value.path
    assert tables.everything_else == before


ELSEWHERE: dict[str, Callable[[Neighbours, ManifestEntry], str]] = {
    "a file of the neighbour": lambda tables, _: f"file:{tables.victims_files[0]}",
    "a name that is another file's": lambda tables, _: (
        f"file:{tables.own.folder}/dt=a/bucket-0/other.parquet"
    ),
    "up from the own folder": lambda tables, entry: (
        f"file:{tables.own.folder}/../../victim.db/orders/dt=a/bucket-0/{entry.file.name}"
    ),
    "a folder of nobody": lambda tables, entry: f"file:{tables.warehouse.parent}/{entry.file.name}",
    "a control character": lambda tables, entry: f"file:{tables.own.folder}/\x01/{entry.file.name}",
}


@pytest.mark.parametrize("path", ELSEWHERE.values(), ids=ELSEWHERE)
def test_an_external_path_that_no_option_names_is_not_read(
    tables: Neighbours, path: Callable[[Neighbours, ManifestEntry], str]
) -> None:
    """It blocks its bucket only, and the neighbour's rows do not get into the attacker's table."""

    def forge(entry: ManifestEntry) -> ManifestEntry:
        is_meant = entry.bucket == 0
        return with_file(entry, external_path=path(tables, entry)) if is_meant else entry

    forge_entries(tables, forge)
    before = tables.everything_else

    (report,) = tables.compact(0, full=True)

    assert {blocked.group.rpartition("/")[2] for blocked in report.blocked} == {"bucket-0"}
    assert report.status == "Compacted"
    assert tables.everything_else == before


OTHERS = ["victim.db/orders", "victim.db", "db.db/other", "", "other.db/x"]
"""Directories in the warehouse where tables are, or may be."""


@pytest.mark.parametrize("place", [*OTHERS, "db.db/../victim.db"])
def test_an_external_path_where_other_tables_are_is_refused(tables: Neighbours, place: str) -> None:
    """Whoever may write the table's folder may write its schema, and so its options."""
    tables.own.set_option("data-file.external-paths", f"file:{tables.warehouse}/{place}")
    tables.own.set_option("data-file.external-paths.strategy", "round-robin")
    outside = {"table": str(tables.own.folder), "roots": [f"file:{tables.warehouse}/{place}"]}
    (tables.attempts / "x-1.json").write_text(text_of(journal(tables.victims_prefix, outside=outside)))
    before = tables.everything_else

    with pytest.raises((UnsupportedTable, InvalidOption), match="external-paths"):
        tables.compact(0, full=True)

    assert tables.everything_else == before


@pytest.mark.parametrize("place", OTHERS)
def test_files_where_other_tables_are_are_not_read_though_an_option_lists_the_place(
    tables: Neighbours, place: str
) -> None:
    tables.own.set_option("data-file.external-paths", f"file:{tables.warehouse}/{place}")
    there = tables.warehouse / place / "dt=a" / "bucket-0"
    there.mkdir(parents=True, exist_ok=True)
    forge_entries(tables, lambda entry: with_file(entry, external_path=f"file:{there}/{entry.file.name}"))
    before = tables.everything_else

    with pytest.raises(UnsupportedTable, match="external-paths"):
        tables.compact(0, full=True)

    assert tables.everything_else == before


def test_files_in_a_place_that_an_option_lists_are_read(tables: Neighbours) -> None:
    """New files go to the table's folder; older ones may lie where they went before."""
    elsewhere = tables.warehouse.parent / "elsewhere"
    tables.own.set_option("data-file.external-paths", f"file:{elsewhere}")
    elsewhere.mkdir()

    def move(entry: ManifestEntry) -> ManifestEntry:
        (found,) = tables.own.folder.rglob(entry.file.name)
        return with_file(entry, external_path=f"file:{found.rename(elsewhere / found.name)}")

    forge_entries(tables, move)

    (report,) = tables.compact(0, full=True)

    assert (report.status, report.blocked) == ("Compacted", ())


LINKED = ["manifest", "snapshot", "dt=a", "dt=a/bucket-0", "statistics"]


@pytest.mark.parametrize("name", LINKED)
def test_folders_that_are_links_to_the_neighbour_change_nothing_there(tables: Neighbours, name: str) -> None:
    """What is read or written below them would be the neighbour's."""
    edit_snapshot(tables, statistics="stats-1")
    ours, theirs = tables.own.folder / name, tables.victim.folder / name
    theirs.mkdir(exist_ok=True)
    if ours.exists():
        ours.rename(ours.with_name("aside"))
    ours.symlink_to(theirs)
    before = tables.everything_else

    with suppress(CorruptTable):
        (report,) = tables.compact(0, full=True)
        assert {"symbolic link" in blocked.problem for blocked in report.blocked} == {True}

    assert tables.everything_else == before


def test_a_data_file_that_is_a_link_to_the_neighbours_is_not_read(tables: Neighbours) -> None:
    file = sorted((tables.own.folder / "dt=a").rglob("data-*"))[0]
    file.unlink()
    file.symlink_to(tables.victims_files[0])
    before = tables.everything_else

    (report,) = tables.compact(0, full=True)

    (blocked,) = report.blocked
    assert "symbolic link" in blocked.problem
    assert tables.everything_else == before


def test_a_table_that_is_a_link_is_as_good_as_any(tables: Neighbours) -> None:
    """People put tables on other disks; what lies below the link is the table's."""
    elsewhere = tables.warehouse.parent / "other disk"
    tables.own.folder.rename(elsewhere)
    tables.own.folder.symlink_to(elsewhere)
    (tables.attempts / "x-1.json").write_text(text_of(journal(OWN_PREFIX)))
    left = elsewhere / "dt=a" / "bucket-0" / f"data-{OWN_PREFIX}000000000000-0.parquet"
    left.write_text("of a dead attempt")

    reports = tables.compact(0, 2, full=True)

    assert (reports[0].status, reports[0].orphans_deleted) == ("Compacted", 1)
    assert not left.exists()
    assert list(tables.attempts.glob("*.json")) == []


@pytest.mark.parametrize(
    "branch", ["..", "../../victim.db/orders", "x\\..\\y", "x\ny", ".", "b/../../..", "x\0"]
)
def test_branches_have_names_and_no_paths(tables: Neighbours, branch: str) -> None:
    before = tables.everything_else
    with pytest.raises(LithifyError) as refused:
        run_inline(Table(tables.warehouse, f"{tables.own.name}$branch_{branch}"))
    assert isinstance(refused.value, InvalidOption)
    assert tables.everything_else == before


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[]", '{"baseManifestList": "../x"}', '{"baseManifestList": 5}']
)
@pytest.mark.parametrize(
    "holder", ["tag/tag-x", "branch/branch-x/snapshot/snapshot-1", "changelog/changelog-1"]
)
def test_a_holder_of_references_that_makes_no_sense_keeps_files_and_stops_no_run(
    tables: Neighbours, holder: str, text: str
) -> None:
    path = tables.own.folder / holder
    path.parent.mkdir(parents=True)
    path.write_text(text)
    left = tables.own.folder / "dt=a" / "bucket-0" / f"data-{OWN_PREFIX}000000000000-0.parquet"
    left.write_text("of a dead attempt")
    (tables.attempts / "x-1.json").write_text(text_of(journal(OWN_PREFIX)))
    before = tables.everything_else

    (report,) = tables.compact(0, full=True)

    assert report.status == "Compacted"
    assert left.exists()
    assert [problem for problem in report.uncleaned if path.name in problem]
    assert tables.everything_else == before


def test_nobody_counts_through_numbers_of_snapshots_that_are_not_there(tables: Neighbours) -> None:
    """A journal makes the driver look at all snapshots since its base."""
    number = tables.own.numbers[-1]
    far = {**tables.own.snapshot(number), "id": 10**17}
    (tables.own.folder / "snapshot" / f"snapshot-{10**17}").write_text(json.dumps(far))
    (tables.own.folder / "snapshot" / "LATEST").write_text(str(10**17))
    started = datetime.now(UTC).isoformat()
    (tables.attempts / "x-1.json").write_text(text_of(journal(OWN_PREFIX, condemned=None, started=started)))

    (report,) = tables.compact(0, full=True)

    assert (report.status, report.snapshot_after) == ("Compacted", str(10**17 + 1))


@pytest.mark.parametrize(
    "changes",
    [
        {"baseManifestList": "../../../victim.db/orders/manifest/x"},
        {"deltaManifestList": None},
        {"id": "3/../../../victim.db/orders/snapshot/snapshot-1"},
        {"statistics": "../x"},
    ],
    ids=str,
)
def test_what_a_catalog_server_says_of_snapshots_has_names_and_no_paths(
    tables: Neighbours, changes: Mapping[str, Any]
) -> None:
    with RestServer(tables.warehouse) as server:
        newest = tables.own.snapshot(tables.own.numbers[-1])
        counts = {"recordCount": 1, "fileSizeInBytes": 1, "fileCount": 1, "lastFileCreationTime": 1}
        server.canned["snapshot"] = (200, {"snapshot": {"snapshot": {**newest, **changes}, **counts}})
        address = TableAddress(WAREHOUSE, tables.own.name, server.options)
        before = tables.everything_else

        with pytest.raises(CorruptTable):
            compact(Request(address, Selection(strategy=Strategy.FULL)), InlineRunner(), ShiftedClock())

    assert tables.everything_else == before


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "5", "no JSON"])
def test_statistics_that_make_no_sense_are_not_handed_on(tables: Neighbours, text: str) -> None:
    (tables.own.folder / "statistics").mkdir()
    (tables.own.folder / "statistics" / "stats-1").write_text(text)
    edit_snapshot(tables, statistics="stats-1")

    (report,) = tables.compact(0, full=True)

    assert report.status == "Compacted"
    assert "statistics" not in tables.own.snapshot(tables.own.numbers[-1])


def test_indexes_inside_of_manifests_are_not_read(tables: Neighbours) -> None:
    """File indexes are bytes of the entry; here they are none, and the table is compacted as without them."""
    forge_entries(tables, lambda entry: with_file(entry, embedded_index=b"\xff" * 5000))

    (report,) = tables.compact(0, full=True)

    assert report.status == "Compacted"
    table = open_table(tables.own.address)
    newest = table.snapshots.latest()
    assert newest is not None
    assert [
        entry.file.embedded_index for entry in table.manifests.live(newest) if entry.file.embedded_index
    ] == []
