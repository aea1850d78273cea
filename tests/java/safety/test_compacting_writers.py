"""Tables with deletion vectors whose Java writers compact, too, and keep vectors in memory.

A writer that began before our commit is a commit that Java has prepared: it has the files and the vectors of
that time. The rows must be those that were written, whoever commits first.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from infrastructure.oracle.client import Oracle, OracleError, Table
from infrastructure.oracle.model import Row
from support.comparing.vectors import cardinality, unpaired
from support.races import step_at
from support.runs import run_inline
from support.tables import stray_files

pytestmark = pytest.mark.oracle

KEYS = 9000
COMPACTING = {"write-only": "false"}
LOOKUP = {"changelog-producer": "lookup"}


def rows(first: int, count: int, mark: int, kind: str = "+I") -> list[Row]:
    return [[kind, key, mark] for key in range(first, first + count)]


class Writer:
    """A Java writer that compacts, and the rows that the table must have."""

    def __init__(self, oracle: Oracle, table: Table) -> None:
        self.oracle = oracle
        self.table = table
        self.expected: dict[int, int] = {}

    def append(self, new: list[Row]) -> None:
        """Writes without compacting."""
        self._note(new)
        self.oracle.write(self.table, new)

    def write(self, new: list[Row]) -> None:
        """Writes and compacts."""
        self._note(new)
        self.oracle.write(self.table, new, options=COMPACTING)

    def begin(self, new: list[Row]) -> str:
        """Writes and compacts, and commits later."""
        self._note(new)
        return self.oracle.prepare(self.table, new, options=COMPACTING).token

    def commit(self, token: str, new: list[Row]) -> bool:
        """Commits what was begun; if that fails, the job begins again. Whether it succeeded at once."""
        try:
            self.oracle.commit_prepared(token)
        except OracleError:
            self.write(new)
            return False
        return True

    def check(self) -> None:
        """The table has the rows, once each, before and after Java compacts all."""
        self.write(rows(KEYS, 1, 0))
        for _ in range(2):
            found = self.oracle.read(self.table)
            assert len(found) == len(self.expected), "a row is missing, or there twice"
            assert {key: value for _, key, value in found} == self.expected
            self.oracle.compact(self.table, full=True)

    def _note(self, new: list[Row]) -> None:
        for kind, key, value in new:
            self.expected.pop(key, None)
            if kind == "+I":
                self.expected[key] = value


@pytest.fixture(params=[{}, LOOKUP], ids=["no changelog", "lookup"])
def writer(request: pytest.FixtureRequest, oracle: Oracle, tmp_path: Path) -> Writer:
    """Many rows at the top level, of which vectors delete some; nothing in level 0."""
    table = Table(tmp_path / "warehouse", "db.t")
    options = {"bucket": "1", "deletion-vectors.enabled": "true", **request.param}
    oracle.create_table(table, {"id": "INT NOT NULL", "v": "INT"}, ["id"], options=options)
    found = Writer(oracle, table)
    found.append(rows(0, KEYS, 0))
    oracle.manager_round(table, full=True, commit=True)
    found.write(rows(0, 50, 1, "-D"))
    assert cardinality(oracle, table) == 50
    return found


def test_a_writer_that_knows_what_we_compacted_cannot_commit(writer: Writer) -> None:
    new = rows(200, 20, 3)
    writer.append(rows(100, 20, 2))
    token = writer.begin(new)

    assert run_inline(writer.table).status == "Compacted"

    assert not writer.commit(token, new)
    writer.check()


@pytest.mark.parametrize("full", [False, True], ids=["minor", "full"])
def test_what_a_writer_may_delete_unnoticed_is_left_to_it(writer: Writer, full: bool) -> None:
    """With nothing in level 0, its commit would succeed, and delete rows of files that we have replaced."""
    new = rows(200, 20, 3)
    token = writer.begin(new)

    assert run_inline(writer.table, full=full).status == "NothingToDo"

    assert writer.commit(token, new)
    writer.check()


def test_what_a_writer_may_be_rewriting_is_left_to_it(oracle: Oracle, writer: Writer) -> None:
    """It began to rewrite the top level with level 0 empty; a minor compaction would delete rows there."""
    again = {"compaction.force-rewrite-all-files": "true"}
    token = oracle.manager_round(writer.table, full=True, commit=False, options=again).token
    assert token is not None
    writer.append(rows(700, 20, 5))

    assert run_inline(writer.table, full=False).status == "NothingToDo"

    oracle.commit_prepared(token)
    writer.check()


def test_a_rewrite_that_began_when_level_0_was_empty_cannot_be_committed(
    oracle: Oracle, writer: Writer
) -> None:
    again = {"compaction.force-rewrite-all-files": "true"}
    token = oracle.manager_round(writer.table, full=True, commit=False, options=again).token
    assert token is not None
    writer.append(rows(700, 20, 5))

    assert run_inline(writer.table).status == "Compacted"

    with pytest.raises(OracleError):
        oracle.commit_prepared(token)
    writer.check()


@pytest.mark.parametrize("point", ["tasks-done", "manifests-written"])
def test_a_writer_that_commits_first_wins(
    oracle: Oracle, writer: Writer, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    writer.append(rows(100, 20, 2))
    step_at(monkeypatch, point, lambda: writer.write(rows(110, 20, 3)))

    report = run_inline(writer.table)

    assert report.status == "NothingToDo"
    assert not unpaired(oracle, writer.table)
    writer.check()
    assert stray_files(oracle, writer.table) == set()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(6))
def test_whoever_commits_first_the_rows_are_those_that_were_written(writer: Writer, seed: int) -> None:
    random = Random(seed)
    for mark in range(4, 9):
        new = rows(random.randrange(0, 400), 60, mark, random.choice(["+I", "+I", "-D"]))
        if random.random() < 0.6:
            writer.append(rows(random.randrange(0, 400), 60, mark + 100))
        token = writer.begin(new)
        if random.random() < 0.8:
            run_inline(writer.table, full=random.random() < 0.5)
        writer.commit(token, new)
    writer.check()


def test_streams_get_each_change_once(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path / "warehouse", "db.t")
    options = {"bucket": "1", "deletion-vectors.enabled": "true", **LOOKUP}
    oracle.create_table(table, {"id": "INT NOT NULL", "v": "INT"}, ["id"], options=options)
    writer = Writer(oracle, table)
    for mark in range(4):
        writer.append(rows(mark * 10, 40, mark))
        new = rows(mark * 20, 20, mark + 100, "-D" if mark % 2 else "+I")
        token = writer.begin(new)
        run_inline(table, full=mark == 2)
        writer.commit(token, new)
    state: dict[int, int] = {}
    for changes in oracle.changelog(table, from_snapshot=1).values():
        for kind, key, value in changes:
            if kind in ("-U", "-D"):
                assert state.pop(key) == value
            else:
                assert key not in state
                state[key] = value
    assert state == {key: value for _, key, value in oracle.read(table)} == writer.expected
