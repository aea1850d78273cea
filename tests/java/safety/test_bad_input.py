"""Bad input: an error of the right class that names the thing, and a table that nobody touched."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.errors import (
    CorruptTable,
    InvalidOption,
    LithifyError,
    MissingFile,
    NotFound,
    StorageError,
    UnsupportedTable,
)
from lithify.formats.protocol.address import Selection
from support.cases import case
from support.runs import LITHIFY, run_inline, start
from support.tables import PLAIN, journals, make_plain, stray_files

pytestmark = pytest.mark.oracle

Damage = Callable[[Table], Path]


@pytest.fixture
def table(oracle: Oracle, tmp_path: Path) -> Table:
    return make_plain(oracle, tmp_path / "warehouse", buckets=2)


WRONG_REQUESTS = [
    case({"name": "db.nowhere"}, NotFound, "table", id="table that does not exist"),
    case({"name": "nodb.t"}, NotFound, "table", id="database that does not exist"),
    case({"warehouse": "/nowhere/at/all"}, NotFound, "warehouse", id="warehouse that does not exist"),
]


@pytest.mark.parametrize(("change", "error", "what"), WRONG_REQUESTS)
def test_what_does_not_exist_is_named(
    table: Table, change: Mapping[str, str], error: type[NotFound], what: str
) -> None:
    wrong = Table(change.get("warehouse", table.warehouse), change.get("name", table.name))

    with pytest.raises(error) as caught:
        run_inline(wrong)

    assert caught.value.what == what
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("selection", "error"),
    [
        case(Selection(partitions=({"dt": "2026-01-01"},)), InvalidOption, id="partition column of no table"),
        case(Selection(buckets=frozenset({0, 9})), NotFound, id="bucket without files"),
    ],
)
def test_selection_of_nothing_is_refused(
    table: Table, selection: Selection, error: type[LithifyError]
) -> None:
    with pytest.raises(error):
        run_inline(table, selection=selection)


def test_partition_without_files_is_named(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path, "db.t")
    columns = {"dt": "STRING NOT NULL", **PLAIN}
    oracle.create_table(table, columns, primary_key=["dt", "id"], partition_keys=["dt"])
    oracle.write(table, [["+I", "2026-01-01", 1, "a", 1]])

    with pytest.raises(NotFound) as caught:
        run_inline(table, selection=Selection(partitions=({"dt": "2026-01-02"},)))

    assert caught.value.what == "partition"


@pytest.mark.parametrize(
    ("options", "option"),
    [
        case({"merge-engine": "aggregation"}, "--option merge-engine", id="an option that decides the rows"),
        case({"num-levels": "many"}, "num-levels", id="not a number"),
        case({"target-file-size": "12 parsecs"}, "target-file-size", id="not a size"),
        case(
            {"compaction.optimization-interval": "soon"}, "compaction.optimization-interval", id="no duration"
        ),
    ],
)
def test_overrides_that_make_no_sense(table: Table, options: Mapping[str, str], option: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        run_inline(table, options=options)

    assert caught.value.option == option


@pytest.mark.parametrize(
    ("options", "key"),
    [
        case({"lookup.remote-file.enabled": "true"}, ["id"], id="lookup files"),
        case({"some.unknown.option": "1"}, ["id"], id="an option that nobody knows"),
        case({"row-tracking.enabled": "true"}, [], id="an append table with row ids"),
    ],
)
def test_unsupported_tables_are_refused_by_name_before_any_work(
    oracle: Oracle, tmp_path: Path, options: Mapping[str, str], key: list[str]
) -> None:
    table = Table(tmp_path, "db.t")
    oracle.create_table(table, PLAIN, primary_key=key, options={"bucket": "1" if key else "-1", **options})
    oracle.write(table, [["+I", 1, "a", 1]])

    with pytest.raises(UnsupportedTable) as caught:
        run_inline(table)

    assert all(any(option in reason for reason in caught.value.reasons) for option in options)
    assert caught.value.exit_code == 2
    assert not (table.folder / "lithify").exists()


def test_converted_columns_are_refused(oracle: Oracle, table: Table) -> None:
    oracle.alter_table(table, {"update_type": ["n", "TIMESTAMP(3)"]})

    with pytest.raises(UnsupportedTable) as caught:
        run_inline(table)

    assert "n" in caught.value.reasons[0]


def cut_manifest(table: Table) -> Path:
    return cut(max((table.folder / "manifest").glob("manifest-[0-9a-f]*"), key=lambda p: p.stat().st_size))


def lose_manifest(table: Table) -> Path:
    return lose(next((table.folder / "manifest").glob("manifest-[0-9a-f]*")))


def cut_manifest_list(table: Table) -> Path:
    newest = max(table.folder.glob("snapshot/snapshot-*"), key=lambda path: int(path.name.split("-")[1]))
    name = newest.read_text().split('"deltaManifestList" : "')[1].split('"')[0]
    return cut(table.folder / "manifest" / name)


def cut_snapshot(table: Table) -> Path:
    newest = max(table.folder.glob("snapshot/snapshot-*"), key=lambda path: int(path.name.split("-")[1]))
    return cut(newest)


def lose_data_file(table: Table) -> Path:
    return lose(next(table.folder.glob("bucket-1/data-*")))


def cut_data_file(table: Table) -> Path:
    return cut(next(table.folder.glob("bucket-1/data-*")))


def scramble_data_file(table: Table) -> Path:
    path = next(table.folder.glob("bucket-1/data-*"))
    content = bytearray(path.read_bytes())
    content[30:200] = bytes(170)
    path.write_bytes(content)
    return path


def swap_data_files(table: Table) -> Path:
    first, second = sorted(table.folder.glob("bucket-1/data-*"), key=lambda path: path.stat().st_size)[::5][
        :2
    ]
    first.write_bytes(second.read_bytes())
    return first


def cut(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return path


def lose(path: Path) -> Path:
    path.unlink()
    return path


OF_THE_TABLE = [
    (cut_manifest, CorruptTable),
    (lose_manifest, CorruptTable),
    (cut_manifest_list, CorruptTable),
    (cut_snapshot, CorruptTable),
]
OF_A_BUCKET = [
    (lose_data_file, MissingFile),
    (cut_data_file, CorruptTable),
    (scramble_data_file, CorruptTable),
    (swap_data_files, CorruptTable),
]


@pytest.mark.parametrize(("damage", "error"), OF_THE_TABLE, ids=lambda value: value.__name__)
def test_damage_to_the_table_is_named_and_nothing_is_changed(
    table: Table, damage: Damage, error: type[CorruptTable]
) -> None:
    assert_named_and_untouched(table, damage, error, Selection())


@pytest.mark.parametrize(("damage", "error"), OF_A_BUCKET, ids=lambda value: value.__name__)
def test_damage_to_all_that_is_asked_for_is_named_and_nothing_is_changed(
    table: Table, damage: Damage, error: type[CorruptTable]
) -> None:
    said = assert_named_and_untouched(table, damage, error, Selection(buckets=frozenset({1})))
    assert "db.t: bucket-1" in said


def assert_named_and_untouched(
    table: Table, damage: Damage, error: type[CorruptTable], selection: Selection
) -> str:
    broken = damage(table)
    before = listing(table)

    with pytest.raises(error) as caught:
        run_inline(table, selection=selection)

    assert caught.value.path == str(broken)
    assert caught.value.exit_code == 1
    assert listing(table) == before
    assert journals(table) == set()
    return str(caught.value)


def test_disk_that_is_full_is_named_and_nothing_is_changed(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path, keys=3000)
    rows, snapshots = oracle.read(table), oracle.snapshots(table)

    outcome = start(table, file_size_limit=8000).wait()

    assert outcome.code == 1
    assert StorageError.__name__ in outcome.error
    assert "bucket-" in outcome.error
    assert oracle.snapshots(table) == snapshots
    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()


def test_spilling_to_a_full_disk_is_an_error(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path, commits=40, keys=4000)

    outcome = start(table, "--budget", "100000", file_size_limit=30_000).wait()

    assert outcome.code == 1
    assert StorageError.__name__ in outcome.error
    assert stray_files(oracle, table) == set()


def listing(table: Table) -> dict[str, int]:
    """Every file of the table and its size."""
    files = (path for path in table.folder.rglob("*") if path.is_file())
    return {str(path.relative_to(table.folder)): path.stat().st_size for path in files}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        case(["--table", "db.t", "--bucket", "5-3"], 2, id="bucket list that makes no sense"),
        case(["--table", "t"], 2, id="table without database"),
        case(["--table", "db.t", "--strategy", "maximal"], 2, id="strategy that does not exist"),
        case(["--table", "db.t", "--time-zone", "Mars/Olympus"], 2, id="time zone that does not exist"),
        case(["--table", "db.t", "--run-id", "a/b"], 2, id="run id that is not a word"),
        case(["--table", "db.t", "--task-memory", "lots"], 2, id="memory that is not a size"),
        case(["--table", "db.missing"], 2, id="table that does not exist"),
        case([], 2, id="no table at all"),
    ],
)
def test_command_line_says_one_sentence_and_ends_with_the_code(
    table: Table, arguments: list[str], code: int
) -> None:
    command = [LITHIFY, "compact", "--warehouse", str(table.warehouse), *arguments]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == code
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()
