"""Minor units turn equality deletes into positions: rows stay the same, and so do data files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.expressions import LessThan

from lithify.clock import Clock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner, Progress
from lithify.errors import CommitConflict
from lithify.formats.iceberg.commit.changes import GroupChange, Start
from lithify.formats.iceberg.compaction.groups import IcebergGroup
from lithify.formats.iceberg.compaction.minor_units import MinorUnit
from lithify.formats.iceberg.maintenance.rollback_plan import undone_commit
from lithify.formats.iceberg.manifests.delete_index import is_shared
from lithify.formats.iceberg.model import Content, DataFile, DeleteFile, Partition
from lithify.formats.iceberg.planning.options import EQUALITY_FILES
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.results import TaskResult
from lithify.formats.protocol.tasks import Sizing, Task
from lithify.formats.registry import open_table
from support.cases import case
from support.iceberg_commits import (
    CLOCK,
    Group,
    commit,
    delete_by_vectors,
    delete_equal,
    delete_positions,
    plan,
    view_of,
    write_data,
)
from support.iceberg_tables import NAME, Lakehouse, rows, with_fields
from support.properties import examples

KEEPING = {
    "min-file-size-bytes": "0",
    "delete-ratio-threshold": "1",
    "lithify.equality-delete-file-threshold": "1",
}
"""No file is rewritten, and one equality delete file is enough."""
IDS = pa.schema([pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})])


@dataclass
class Play:
    """A table, and which of its rows are live: ids by data file, in the order of its rows."""

    lakehouse: Lakehouse
    version: int = 2
    live: dict[str, list[int | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lakehouse.table(properties={"format-version": "2"})

    def append(self, *ids: int) -> None:
        self.lakehouse.catalog().load_table(NAME).append(rows(*ids))
        self.live |= {path: [*ids] for path in self.paths if path not in self.live}

    def upgrade(self) -> None:
        """To version 3, which pyiceberg reads but does not write."""
        table = self.lakehouse.catalog().load_table(NAME)
        with_fields(table, {"format-version": 3, "next-row-id": 0})

    def delete_equal(self, *ids: int) -> None:
        delete_equal(self.lakehouse.address(), pa.table([[*ids]], schema=IDS))
        for path, found in self.live.items():
            self.live[path] = [None if each in ids else each for each in found]

    def delete(self, number: int, *positions: int, by_vector: bool = False, names_file: bool = True) -> None:
        """Others delete rows of a data file."""
        path = [*self.live][number]
        if by_vector:
            delete_by_vectors(self.lakehouse.address(), {path: positions})
        else:
            delete_positions(self.lakehouse.address(), {path: positions}, names_file=names_file)
        self.live[path] = [None if at in positions else each for at, each in enumerate(self.live[path])]

    def delete_in_several(self, positions: Mapping[int, int]) -> None:
        """Others delete a row of each of several data files, by their numbers, in one delete file."""
        paths = {[*self.live][number]: at for number, at in positions.items()}
        delete_positions(self.lakehouse.address(), {path: [at] for path, at in paths.items()})
        for path, gone in paths.items():
            self.live[path] = [None if at == gone else each for at, each in enumerate(self.live[path])]

    def having(self, numbers: Iterable[int], position: int) -> set[int]:
        """Those of some data files whose row at a position is live."""
        live = [*self.live.values()]
        return {number for number in numbers if live[number][position] is not None}

    def remove(self, *ids: int) -> None:
        """Others remove the data files with some rows."""
        planned = plan(self.lakehouse.address())
        gone = planned.of(*ids)
        commit(planned, GroupChange(Group("g"), gone, ()))
        self.live = {path: ids for path, ids in self.live.items() if path not in {each.path for each in gone}}

    def drop_below(self, least: int) -> None:
        """Others remove the data files with smaller ids, and leave their deletes as they are."""
        self.lakehouse.catalog().load_table(NAME).delete(LessThan("id", least))
        self.live = {path: ids for path, ids in self.live.items() if path in self.paths}

    @property
    def delete_paths(self) -> set[str]:
        """Locations of delete files and of Puffin files."""
        return {*view_of(open_iceberg_table(self.lakehouse.address())).deletes["file_path"].to_pylist()}

    @property
    def paths(self) -> list[str]:
        """The live data files."""
        found: list[str] = view_of(open_iceberg_table(self.lakehouse.address())).data["file_path"].to_pylist()
        return found

    @property
    def deletes(self) -> list[tuple[int, int]]:
        """Kind and number of rows of each delete file."""
        view = view_of(open_iceberg_table(self.lakehouse.address()))
        return sorted(
            zip(view.deletes["content"].to_pylist(), view.deletes["record_count"].to_pylist(), strict=True)
        )

    @property
    def equality(self) -> list[int]:
        return [count for kind, count in self.deletes if kind == Content.EQUALITY_DELETES]

    @property
    def shared(self) -> int:
        """Number of position delete files about several data files."""
        view = view_of(open_iceberg_table(self.lakehouse.address()))
        return int(is_shared(view.deletes).sum())

    @property
    def operation(self) -> str:
        head = open_iceberg_table(self.lakehouse.address()).head()
        assert head is not None
        return head.summary["operation"]

    def run(self, act: Callable[[], object] = lambda: None, **overrides: str) -> Report:
        address = self.lakehouse.address(overrides={**KEEPING, **overrides})
        return compact(Request(address, Selection(), max_rounds=1), Beside(act), CLOCK)

    def stray_files(self) -> set[str]:
        """Vectors of tasks that the newest snapshot does not name."""
        table = open_iceberg_table(self.lakehouse.address())
        named = {*view_of(table).deletes["file_path"].to_pylist()}
        folder = Path(table.metadata.data_folder.removeprefix("file://"))
        return {str(each) for each in folder.rglob("*-0000?.puffin")} - {
            each.removeprefix("file://") for each in named
        }

    def assert_rows(self) -> None:
        """pyiceberg, which does not apply equality deletes, reads the rows that are live."""
        found = self.lakehouse.catalog().load_table(NAME).scan().to_arrow()["id"].to_pylist()
        assert sorted(found) == sorted(each for ids in self.live.values() for each in ids if each is not None)


class Beside(InlineRunner):
    """Others act when tasks are done, before the commit."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act

    def run(self, tasks: Sequence[Task], clock: Clock, progress: Progress) -> list[TaskResult]:
        """Runs all tasks, then lets the others act."""
        found = super().run(tasks, clock, progress)
        if tasks:
            self._act()
        return found


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Three files of two rows each: 0 and 1, 2 and 3, 4 and 5."""
    found = Play(Lakehouse(tmp_path))
    for number in range(3):
        found.append(2 * number, 2 * number + 1)
    return found


STEP = st.one_of(
    st.tuples(st.just("append"), st.lists(st.integers(0, 9), min_size=4, max_size=6)),
    st.tuples(st.just("delete_equal"), st.lists(st.integers(0, 9), min_size=1, max_size=3)),
    st.tuples(st.just("delete"), st.integers(0, 2), st.booleans()),
    st.tuples(st.just("delete_in_several"), st.integers(0, 2), st.integers(0, 1)),
)


@settings(max_examples=examples(6))
@given(steps=st.lists(STEP, min_size=2, max_size=6), version=st.sampled_from([2, 3]))
def test_rows_are_the_same_and_no_equality_delete_is_left(
    steps: Sequence[tuple[object, ...]], version: int
) -> None:
    """Each row is deleted by position once at most: a file with as many deletes as rows is rewritten."""
    with tempfile.TemporaryDirectory() as folder:
        play = Play(Lakehouse(Path(folder)))
        play.append(0, 1, 2, 3)
        for name, *values in steps:
            if name == "delete":
                for number in play.having({int(values[0]) % len(play.live)}, 0):
                    play.delete(number, 0, names_file=bool(values[1]))
            elif name == "delete_in_several":
                if numbers := play.having({int(values[0]) % len(play.live), 0}, int(values[1])):
                    play.delete_in_several(dict.fromkeys(numbers, int(values[1])))
            else:
                getattr(play, str(name))(*values[0])
        play.delete_equal(4, 9)
        if version > 2:
            play.upgrade()
        before = play.paths
        report = play.run(**{"lithify.shared-position-delete-file-threshold": "1"})
        assert report.status == "Compacted"
        assert play.paths == before
        assert (play.equality, play.shared) == ([], 0)
        play.assert_rows()


@pytest.mark.parametrize("version", [2, 3])
def test_newer_rows_with_a_deleted_key_stay(play: Play, version: int) -> None:
    play.delete_equal(1, 2)
    play.append(1, 6)
    play.delete_equal(6)
    if version > 2:
        play.upgrade()
    play.run()
    assert play.deletes == [(Content.POSITION_DELETES, 1)] * 3
    assert play.operation == "overwrite", "else rewrites that others began before miss them"
    play.assert_rows()


@pytest.mark.parametrize("version", [2, 3])
def test_positions_of_older_delete_files_are_taken_over(play: Play, version: int) -> None:
    play.append(6, 7, 8)
    play.delete(3, 0)
    play.delete_equal(7)
    if version > 2:
        play.upgrade()
    play.run()
    assert play.deletes == [(Content.POSITION_DELETES, 2)]
    play.assert_rows()


@pytest.mark.parametrize("version", [2, 3])
def test_position_delete_files_of_a_data_file_become_one(play: Play, version: int) -> None:
    play.append(6, 7, 8)
    for position in (0, 1):
        play.delete(3, position)
    play.delete(1, 0)
    if version > 2:
        play.upgrade()
    assert play.run().status == "NothingToDo", "two files are not enough"
    play.run(**{"lithify.position-delete-file-threshold": "2"})
    assert play.deletes == [(Content.POSITION_DELETES, 1), (Content.POSITION_DELETES, 2)]
    assert play.operation == "replace"
    play.assert_rows()


SHARED = {"lithify.shared-position-delete-file-threshold": "2"}


@pytest.mark.parametrize("version", [2, 3])
def test_position_delete_files_about_several_data_files_become_one_for_each(play: Play, version: int) -> None:
    play.append(6, 7, 8)
    play.delete(3, 1)
    play.delete_in_several({0: 0, 3: 0})
    play.append(9, 10)
    play.delete_in_several({3: 0, 2: 1})
    if version > 2:
        play.upgrade()
    report = play.run(**SHARED)
    assert [group.trigger for group in report.groups] == ["SharedPositionFiles"]
    assert play.deletes == [(Content.POSITION_DELETES, count) for count in (1, 1, 2)]
    assert play.operation == "replace"
    assert play.run(**SHARED).status == "NothingToDo"
    play.assert_rows()


@pytest.mark.parametrize("version", [2, 3])
def test_shared_position_files_go_with_equality_deletes_of_their_partition(play: Play, version: int) -> None:
    for _ in range(2):
        play.delete_in_several({0: 0, 1: 0})
    play.delete_equal(1, 4)
    if version > 2:
        play.upgrade()
    play.run(**SHARED)
    assert play.deletes == [(Content.POSITION_DELETES, count) for count in (1, 1, 2)]
    assert play.operation == "overwrite"
    play.assert_rows()


@pytest.mark.parametrize(
    ("act", "left"),
    [
        case(lambda play: play.append(6, 7), 0, id="rows"),
        case(lambda play: play.delete_in_several({1: 1, 2: 1}), 1, id="shared position deletes"),
        case(lambda play: play.delete(0, 1), 0, id="position deletes"),
        case(lambda play: play.run(**SHARED), 0, id="another minor run"),
    ],
)
def test_what_others_commit_beside_the_division_holds(
    play: Play, act: Callable[[Play], object], left: int
) -> None:
    for _ in range(2):
        play.delete_in_several({0: 0, 1: 0})
    play.run(lambda: act(play), **SHARED)
    assert play.shared == left
    play.assert_rows()


def test_shared_position_files_stay_while_a_file_that_is_rewritten_needs_them(play: Play) -> None:
    """They go with the run after: new files have the number of the planned snapshot."""
    play.delete(2, 0)
    for _ in range(2):
        play.delete_in_several({0: 0, 1: 0})
    report = play.run(**SHARED, **{"delete-ratio-threshold": "0.5"})
    assert [group.trigger for group in report.groups] == ["DeletedRows", "SharedPositionFiles"]
    play.assert_rows()
    play.run(**{"lithify.shared-position-delete-file-threshold": "1"})
    assert play.shared == 0
    play.assert_rows()


def test_a_file_that_others_add_with_an_old_number_keeps_its_deletes(play: Play) -> None:
    """Such as rewrites of others that began before: its rows are not in the new delete files."""
    for _ in range(2):
        play.delete_in_several({0: 0, 1: 0})

    def add() -> None:
        planned = plan(play.lakehouse.address())
        old = replace(planned, start=replace(planned.start, sequence=1))
        new = write_data(planned.table, rows(8, 9), planned.files[0].partition)
        commit(old, GroupChange(Group("g"), (), (new,)))

    play.run(add, **SHARED)
    assert play.shared == 2


def test_equality_deletes_without_matching_rows_go_without_a_new_file(play: Play) -> None:
    play.delete_equal(77)
    assert play.run().status == "Compacted"
    assert play.deletes == []
    play.assert_rows()


MOVING = {"lithify.dead-vector-bytes-threshold": "1"}


def test_vectors_move_together_out_of_half_dead_puffin_files(play: Play) -> None:
    for number in range(6):
        play.append(number + 10, number + 20)
    play.upgrade()
    paths = [*play.live]
    delete_by_vectors(play.lakehouse.address(), {path: [0] for path in paths})
    play.live = {path: [None, *ids[1:]] for path, ids in play.live.items()}
    assert play.run(**MOVING).status == "NothingToDo", "all vectors are live"
    play.remove(*range(10, 16), 5)
    play.delete_equal(99)
    before = play.delete_paths

    report = play.run(**MOVING, **{EQUALITY_FILES: "2"})

    assert [group.trigger for group in report.groups] == ["DeadVectors"]
    assert play.operation == "replace"
    assert play.equality == [1], "equality deletes of its data files are left alone"
    assert play.deletes == [(Content.POSITION_DELETES, 1)] * 2 + [(Content.EQUALITY_DELETES, 1)]
    moved = play.delete_paths - before
    assert len(moved) == 1
    assert len(play.delete_paths) == 2
    assert play.run(**MOVING, **{EQUALITY_FILES: "2"}).status == "NothingToDo"


DANGLING = {"lithify.dangling-delete-threshold": "3"}


def with_dangling(play: Play) -> Play:
    """Deletes of each kind that apply to no data file any more, and one of each that applies to some."""
    play.delete_equal(0)
    play.delete(0, 1)
    play.delete_in_several({0: 1, 1: 0})
    play.append(6, 7, 8)
    play.drop_below(6)
    play.delete_equal(8)
    play.delete(0, 0)
    play.delete(0, 0, names_file=False)
    return play


def test_deletes_that_apply_to_no_data_file_are_dropped_without_tasks(play: Play) -> None:
    planned = with_dangling(play).deletes
    assert len(planned) == 6
    tasks = list[object]()
    options = {EQUALITY_FILES: "9", "lithify.equality-delete-interval-ms": "-1"}

    report = play.run(lambda: tasks.append(None), **DANGLING, **options)

    assert [group.trigger for group in report.groups] == ["DanglingDeletes"]
    assert (tasks, report.tasks, play.operation) == ([], 0, "replace")
    assert play.deletes == [(1, 1), (1, 1), (2, 1)], "what may apply to a data file stays"
    assert play.run(**DANGLING, **options).status == "NothingToDo"


def test_few_dangling_deletes_wait_for_other_work(play: Play) -> None:
    with_dangling(play)
    few = {"lithify.dangling-delete-threshold": "4", "lithify.equality-delete-interval-ms": "-1"}
    assert play.run(**few, **{EQUALITY_FILES: "9"}).status == "NothingToDo"
    report = play.run(**few)
    assert [group.trigger for group in report.groups] == ["EqualityDeletes"]
    assert {kind for kind, _ in play.deletes} == {Content.POSITION_DELETES}
    play.assert_rows()


def test_dangling_deletes_of_a_table_without_data_go(play: Play) -> None:
    play.delete_equal(0)
    play.delete(0, 1)
    play.delete_in_several({0: 1, 1: 0})
    play.drop_below(6)
    assert play.run(**DANGLING).status == "Compacted"
    assert play.deletes == []


def test_deletes_that_dangled_and_are_needed_again_stay(play: Play) -> None:
    """Others may add data with an old number: the commit looks again."""
    for each in (0, 2, 4):
        play.delete_equal(each)
    play.drop_below(6)
    table = open_table(play.lakehouse.address(overrides={**KEEPING, **DANGLING}))
    view = table.pin_view(Selection())
    assert view is not None
    found = table.plan(view, Selection(), CLOCK)
    planned = plan(play.lakehouse.address())
    old = replace(planned, start=replace(planned.start, sequence=1))
    commit(old, GroupChange(Group("g"), (), (write_data(planned.table, rows(8), Partition(0)),)))
    step = table.begin(found, table.tasks_of(found, Sizing()), "run", 0, CLOCK)
    assert step.tasks == []
    step.finish([], [])
    assert step.commit(0).snapshot is None
    step.clean()
    assert play.equality == [1, 1, 1]


def test_a_unit_reads_its_deletes_and_the_share_of_columns_that_are_keys() -> None:
    def delete(path: str, ids: tuple[int, ...] = (), referenced: str | None = None) -> DeleteFile:
        kind = Content.EQUALITY_DELETES if ids else Content.POSITION_DELETES
        return DeleteFile(path, 10, 1, kind, "parquet", 2, Partition(0), ids, referenced)

    by_key, shared = delete("e", (1,)), delete("p")
    kept = (
        DataFile("a", 1000, 1, "parquet", 1, Partition(0), deletes=(by_key, shared, delete("o", (), "a"))),
        DataFile("b", 500, 1, "parquet", 1, Partition(0), deletes=(shared,)),
    )
    start = Start(1, 1, 0, 0, 2)
    unit = MinorUnit(IcebergGroup("all", ""), (), None, 0, "", "", start, kept=kept, columns=4)
    assert unit.read_bytes == 1000 // 4 + 30
    assert unit.weight_of(kept[0]) - unit.weight_of(kept[1]) == 1000 // 4 + 10


def test_late_vectors_are_united_with_new_ones(play: Play) -> None:
    play.upgrade()
    play.delete_equal(1, 2)
    play.run(lambda: play.delete(0, 0, by_vector=True))
    assert play.deletes == [(Content.POSITION_DELETES, 1), (Content.POSITION_DELETES, 2)]
    play.assert_rows()
    assert play.stray_files() == set()


@pytest.mark.parametrize(
    ("act", "left"),
    [
        case(lambda play: play.delete_equal(3), [1], id="equality deletes"),
        case(lambda play: play.delete(0, 0), [], id="position deletes"),
        case(lambda play: play.append(1, 2), [], id="rows with a deleted key"),
    ],
)
def test_what_others_commit_beside_a_minor_run_holds(
    play: Play, act: Callable[[Play], object], left: list[int]
) -> None:
    play.delete_equal(1, 2)
    assert play.run(lambda: act(play)).status == "Compacted"
    assert play.equality == left
    if left:
        play.run()
    play.assert_rows()


def test_a_unit_whose_data_file_others_remove_is_in_conflict(play: Play) -> None:
    play.delete_equal(1, 2)

    with pytest.raises(CommitConflict):
        play.run(lambda: play.remove(2))
    assert play.equality == [2]


def test_rewrites_are_committed_first_and_equality_deletes_go_with_what_is_kept(play: Play) -> None:
    play.delete(0, 0)
    play.delete_equal(1, 2)
    report = play.run(**{"delete-ratio-threshold": "0.5"})
    assert [group.trigger for group in report.groups] == ["DeletedRows", "EqualityDeletes"]
    assert (report.commits, play.equality, play.operation) == (2, [], "overwrite")
    play.assert_rows()


def test_nothing_is_kept_where_a_file_that_needs_the_same_deletes_cannot_be_rewritten(play: Play) -> None:
    play.delete(0, 0)
    play.delete_equal(1, 2)
    table = open_table(play.lakehouse.address(overrides={**KEEPING, "delete-ratio-threshold": "0.5"}))
    view = table.pin_view(Selection())
    assert view is not None
    found = table.plan(view, Selection(), CLOCK)
    (unit,) = found.units
    assert found.remaining is not None
    held = Selection(held={unit.group.path: unit.group.path.rpartition("/")[2]})
    found = table.plan(view, held, CLOCK)
    assert ([*found.units], found.remaining) == ([], None)


@pytest.fixture
def evolved(tmp_path: Path) -> Lakehouse:
    """A table whose partition field was removed, with a file of each time and a delete for both."""
    lakehouse = Lakehouse(tmp_path)
    lakehouse.named_files(lambda number: [number, number + 10], properties={"format-version": "2"})
    with lakehouse.catalog().load_table(NAME).update_spec() as update:
        update.remove_field("name")
    lakehouse.catalog().load_table(NAME).append(rows(100, 101))
    spec = open_iceberg_table(lakehouse.address()).metadata.spec_id
    delete_equal(lakehouse.address(), pa.table([[100]], schema=IDS), Partition(spec))
    return lakehouse


def test_nothing_is_kept_where_files_of_older_specs_need_the_same_deletes(evolved: Lakehouse) -> None:
    address = evolved.address(overrides={"delete-ratio-threshold": "1", EQUALITY_FILES: "1"})
    table = open_table(address)
    view = table.pin_view(Selection())
    assert view is not None
    (unit,) = table.plan(view, Selection(), CLOCK).units
    assert unit.group.path.startswith("older-specs/")
    held = Selection(held={unit.group.path: unit.group.path.rpartition("/")[2]})

    found = table.plan(view, held, CLOCK)

    assert ([*found.units], found.remaining) == ([], None)


def test_a_unit_with_nothing_left_to_do_commits_nothing(play: Play) -> None:
    play.delete_equal(77)
    others = list[Report]()
    report = play.run(lambda: others.append(play.run()))
    assert [each.commits for each in others] == [1]
    assert (report.status, report.commits, report.skipped) == ("NothingToDo", 0, {})


def test_minor_snapshots_are_compactions_that_a_rollback_may_undo(play: Play) -> None:
    play.delete_equal(1)
    play.run()
    head = open_iceberg_table(play.lakehouse.address()).head()
    assert head is not None
    assert play.operation == "overwrite"
    assert undone_commit(head).is_compaction
