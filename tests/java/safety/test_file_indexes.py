"""Files with indexes are never left over and never lost: crashes, clean-up, and a run that is too late."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.errors import AttemptFenced
from support.opened_files import opened_files
from support.races import step_at
from support.runs import clean_up, run_inline, start
from support.tables import data_files, make_plain, stray_files

pytestmark = pytest.mark.oracle

INDEXED = {"file-index.bitmap.columns": "v", "file-index.bitmap.v.version": "1"}


@pytest.fixture
def table(oracle: Oracle, tmp_path: Path) -> Table:
    return make_plain(oracle, tmp_path / "warehouse", **INDEXED)


def beside(table: Table) -> set[str]:
    return {name for name in data_files(table) if name.endswith(".index")}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("point", ["file-written", "tasks-done", "manifests-written"])
def test_what_a_killed_run_leaves_goes_in_time(oracle: Oracle, table: Table, point: str) -> None:
    before, files = oracle.read(table), beside(table)
    assert files
    start(table, faults={point: "kill"}).wait()
    assert beside(table) > files, "it has written indexes"

    clean_up(table, 24.1, 25.2)

    assert stray_files(oracle, table) == set()
    assert oracle.read(table) == before


def test_indexes_of_a_committed_run_stay(oracle: Oracle, table: Table) -> None:
    start(table, faults={"snapshot-written": "kill"}).wait()
    (file,) = oracle.files(table)
    assert set(file.extra_files) <= beside(table)
    assert file.extra_files

    clean_up(table, 24.1)

    assert set(file.extra_files) <= beside(table)
    asked = [{"column": "v", "op": "equal", "literal": "nothing"}]
    assert oracle.file_index_rows(table, asked) == [{file.name: 0}]  # type: ignore[arg-type]


def test_a_run_whose_index_was_deleted_commits_nothing(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers could not read the table."""
    before, files = oracle.read(table), beside(table)

    def delete() -> None:
        for name in beside(table) - files:
            next(table.folder.rglob(name)).unlink()

    step_at(monkeypatch, "tasks-done", delete)
    with pytest.raises(AttemptFenced):
        run_inline(table)
    assert oracle.read(table) == before


def test_indexes_of_files_are_never_read(oracle: Oracle, table: Table) -> None:
    """A full compaction makes new ones from rows. The kernel reports each file that is opened."""
    before, files = oracle.read(table), beside(table)
    assert files
    for name in files:
        next(table.folder.rglob(name)).write_bytes(b"garbage")
    with opened_files({path.parent for path in table.folder.rglob("*.index")}) as opened:
        assert run_inline(table, full=True).status == "Compacted"
    assert not files & opened
    assert opened, "data files were"
    assert oracle.read(table) == before
