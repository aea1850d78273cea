"""What is kept between looks comes back as it was, or not at all; old things go when there are too many."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from lithify.columns.column_groups import with_columns
from lithify.engine.observe.cache import Damaged, pack, unpack
from lithify.engine.observe.cache_folder import ObservationCaches
from lithify.engine.observe.state import SnapshotMark, TableKey, TableState
from lithify.formats.protocol.model import SnapshotId
from support.cases import case
from unit.engine.observe.lake import LAYOUT, Group, Marks, counted, file, frame

MIB = 1 << 20
STATE = TableState(
    table=TableKey("uuid-1", 3, "/w/db.db/t"),
    newest=SnapshotMark(SnapshotId("7"), "manifest-list-7", 1_767_225_600_123),
    details=Marks(frozenset({(("eu", 2), "mark-1"), (("", 0), "mark-2")}), files=4),
    terms="some options",
    judged_millis=1_767_225_600_456,
)
EMPTY = TableState(TableKey("uuid-1", 0), None, Marks())
GROUPS: list[Group] = [("eu", 2), ("eu", 3), ("", 0)]


def files(*groups: Group, each: int = 3, size: int = 100) -> pa.Table:
    """Some files in each of some groups."""
    return frame(file(*group, f"data-{number}", size) for group in groups for number in range(each))


def figures(of: pa.Table) -> pa.Table:
    counts = counted(of)
    return with_columns(counts, detail=pa.array(["größer"] * len(counts), pa.string()))


def kept_in(folder: Path, limit: int = MIB) -> ObservationCaches:
    return ObservationCaches(folder / "kept", limit)


def keep(
    kept: ObservationCaches, key: str, state: TableState[Marks] = STATE, of: pa.Table | None = None
) -> None:
    """Keeps a table as a full look does."""
    there = files(*GROUPS) if of is None else of
    with closing(kept.begin(key, LAYOUT)) as table:
        table.put(there)
        table.save(state, figures(there))
        kept.keep(key, table)


def loaded(kept: ObservationCaches, key: str) -> object:
    """What is kept under a key, all files included."""
    table = kept.load(key, LAYOUT)
    if table is None:
        return None
    with closing(table):
        return same(table.state, table.files_in(table.figures))


def same(state: TableState[Marks], of: pa.Table) -> object:
    """What is loaded of a table of that state with these files."""
    return state, sorted(of.to_pylist(), key=lambda row: (row["region"], row["number"], row["name"]))


def is_kept(kept: ObservationCaches, key: str) -> bool:
    try:
        return loaded(kept, key) is not None
    except Damaged:
        return False


def only_file(folder: Path) -> Path:
    (path,) = (folder / "kept").rglob("*.kept")
    return path


class TestTables:
    @pytest.mark.parametrize("state", [case(STATE, id="with files"), case(EMPTY, id="without a snapshot")])
    def test_a_table_comes_back_as_it_was(self, state: TableState[Marks], tmp_path: Path) -> None:
        there = files() if state is EMPTY else files(*GROUPS)
        keep(kept_in(tmp_path), "some/key", state, there)

        table = kept_in(tmp_path).load("some/key", LAYOUT)

        assert table is not None
        with closing(table):
            assert table.state == state
            assert table.figures.equals(figures(there))
            assert table.files_in(table.figures).equals(there)
            assert table.files_in(table.figures).schema.equals(LAYOUT.files)
        assert kept_in(tmp_path).load("another", LAYOUT) is None

    def test_files_of_some_groups(self, tmp_path: Path) -> None:
        keep(kept_in(tmp_path), "key")
        table = kept_in(tmp_path).load("key", LAYOUT)
        assert table is not None
        with closing(table):
            some = files(GROUPS[1], ("unknown", 0))
            assert table.files_in(some).equals(files(GROUPS[1]))

    def test_groups_whose_values_run_into_each_other_are_apart(self, tmp_path: Path) -> None:
        alike: list[Group] = [("a", 11), ("a1", 1), ("", 1), ("1", 1)]
        keep(kept_in(tmp_path), "key", of=files(*alike))
        table = kept_in(tmp_path).load("key", LAYOUT)
        assert table is not None
        with closing(table):
            for group in alike:
                assert table.files_in(files(group)).equals(files(group))

    def test_a_change_of_some_groups(self, tmp_path: Path) -> None:
        keep(kept_in(tmp_path), "key")
        left = pa.concat_tables([files(GROUPS[0]), files(GROUPS[1], size=7), files(("new", 9))])
        table = kept_in(tmp_path).load("key", LAYOUT)
        assert table is not None
        with closing(table):
            table.put(files(GROUPS[1], ("new", 9), size=7), emptied=files(GROUPS[2]))
            table.put(files(("new", 9)))
            table.save(EMPTY, figures(left))
        table = kept_in(tmp_path).load("key", LAYOUT)
        assert table is not None
        with closing(table):
            assert (table.state, len(table.figures)) == (EMPTY, 3)
            assert (
                table.files_in(table.figures)
                .sort_by([("region", "ascending"), ("number", "ascending")])
                .equals(left.sort_by([("region", "ascending"), ("number", "ascending")]))
            )

    def test_what_is_not_saved_is_forgotten(self, tmp_path: Path) -> None:
        keep(kept_in(tmp_path), "key")
        table = kept_in(tmp_path).load("key", LAYOUT)
        assert table is not None
        with closing(table):
            table.put(files(*GROUPS, each=9))
        assert loaded(kept_in(tmp_path), "key") == same(STATE, files(*GROUPS))

    @pytest.mark.thorough
    def test_a_process_that_is_killed_while_it_writes_changes_nothing(self, tmp_path: Path) -> None:
        many = [("", number) for number in range(300)]
        keep(kept_in(tmp_path), "key", of=files(*many))
        before = only_file(tmp_path).read_bytes()
        ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
        assert ended.returncode == -signal.SIGKILL
        assert only_file(tmp_path).read_bytes() != before, "it had begun to write"
        assert loaded(kept_in(tmp_path), "key") == same(STATE, files(*many))

    def test_of_two_that_write_at_once_one_does(self, tmp_path: Path) -> None:
        keep(kept_in(tmp_path), "key")
        tables = [kept_in(tmp_path).load("key", LAYOUT), kept_in(tmp_path).load("key", LAYOUT)]
        first, second = (table for table in tables if table is not None)
        with closing(first), closing(second):
            first.put(files(GROUPS[0], size=7))
            with pytest.raises(Damaged):
                second.put(files(GROUPS[0], size=8))
        assert loaded(kept_in(tmp_path), "key") == same(STATE, files(*GROUPS))


KILLED = f"""
import os, signal, sys
sys.path[:0] = {[path for path in sys.path if path]!r}
from pathlib import Path
from unit.engine.observe.test_cache import GROUPS, LAYOUT, files, kept_in

table = kept_in(Path(sys.argv[1])).load("key", LAYOUT)
table._connection.execute("PRAGMA cache_size = 1")
table.put(files(*(("", number) for number in range(300)), each=40))
os.kill(os.getpid(), signal.SIGKILL)
"""


class TestDamage:
    @pytest.mark.parametrize(
        "damage",
        [
            case(lambda _: b"", id="empty"),
            case(lambda data: data[: len(data) // 2], id="cut off"),
            case(lambda data: data[:-100], id="a little cut off"),
            case(lambda data: bytes(len(data)), id="zeros, as after a crash of the machine"),
            case(lambda _: b"no database at all", id="no database"),
        ],
    )
    def test_what_cannot_be_read_is_as_good_as_none(
        self, damage: Callable[[bytes], bytes], tmp_path: Path
    ) -> None:
        kept = kept_in(tmp_path)
        keep(kept, "key")
        path = only_file(tmp_path)
        path.write_bytes(damage(path.read_bytes()))

        assert not is_kept(kept, "key")

        keep(kept, "key")
        assert is_kept(kept, "key")
        assert only_file(tmp_path) != path

    @pytest.mark.thorough
    def test_a_flipped_bit_is_noticed_or_does_not_matter(self, tmp_path: Path) -> None:
        kept = kept_in(tmp_path)
        keep(kept, "key")
        path = only_file(tmp_path)
        whole = path.read_bytes()
        rng, noticed = Random(1), 0
        for _ in range(300):
            data = bytearray(whole)
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            path.write_bytes(data)
            try:
                assert loaded(kept, "key") in (None, same(STATE, files(*GROUPS)))
            except Damaged:
                noticed += 1
        assert noticed

    @pytest.mark.parametrize(
        "changes",
        [
            case({"format": 1}, id="of an older release"),
            case({"boot": "another"}, id="from before the machine was started"),
            case({"newest": [1]}, id="a snapshot with few fields"),
            case({"layout": "another 1"}, id="of another format"),
            case({"details": {"marks": 7}}, id="details of another form"),
        ],
    )
    def test_a_state_of_another_form(self, changes: dict[str, object], tmp_path: Path) -> None:
        kept = kept_in(tmp_path)
        keep(kept, "key")
        change(only_file(tmp_path), changes)
        assert kept.load("key", LAYOUT) is None

    def test_the_change_of_a_state_is_what_these_tests_mean(self, tmp_path: Path) -> None:
        kept = kept_in(tmp_path)
        keep(kept, "key")
        change(only_file(tmp_path), {"terms": "other options"})
        table = kept.load("key", LAYOUT)
        assert table is not None
        with closing(table):
            assert table.state.terms == "other options"

    @pytest.mark.parametrize(
        "statement",
        [
            case("DELETE FROM files WHERE key = (SELECT min(key) FROM files)", id="a group is missing"),
            case(
                "UPDATE files SET content = (SELECT min(content) FROM files)",
                id="files of another group",
            ),
            case("UPDATE files SET content = substr(content, 1, 20)", id="files are cut off"),
        ],
    )
    def test_files_that_do_not_fit_the_figures(self, statement: str, tmp_path: Path) -> None:
        kept = kept_in(tmp_path)
        keep(kept, "key")
        assert is_kept(kept, "key")
        with closing(sqlite3.connect(only_file(tmp_path))) as database, database:
            database.execute(statement)
        assert not is_kept(kept, "key")


def change(path: Path, changes: dict[str, object]) -> None:
    """Changes fields of what is kept of a state."""
    with closing(sqlite3.connect(path)) as database, database:
        ((header,),) = database.execute("SELECT header FROM state")
        content = {**json.loads(unpack(header)), **changes}
        database.execute("UPDATE state SET header = ?", (pack(json.dumps(content).encode()),))


class TestFolder:
    def test_what_is_not_finished_is_not_seen(self, tmp_path: Path) -> None:
        kept = kept_in(tmp_path)
        keep(kept, "key")
        with closing(kept.begin("key", LAYOUT)) as table:
            table.save(EMPTY, figures(files()))
            assert loaded(kept, "key") == same(STATE, files(*GROUPS))
            kept.keep("key", table)
        assert loaded(kept, "key") == same(EMPTY, files())

    def test_nothing_is_left_of_what_was_kept_before(self, tmp_path: Path) -> None:
        kept = kept_in(tmp_path)
        for state in (STATE, EMPTY):
            kept.begin("key", LAYOUT).close()  # a process that was killed
            keep(kept, "key", state)
        assert [path.suffix for path in only_file(tmp_path).parent.iterdir()] == [".kept"]

    def test_what_is_abandoned_leaves_nothing_behind(self, tmp_path: Path) -> None:
        kept = kept_in(tmp_path)
        kept.abandon(kept.begin("key", LAYOUT))
        assert not [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]

    def test_where_nothing_can_be_written_a_table_is_in_memory(self, tmp_path: Path) -> None:
        kept = kept_in(tmp_path)
        (tmp_path / "kept").rmdir()
        with closing(kept.begin("key", LAYOUT)) as table:
            table.put(files(*GROUPS))
            table.save(STATE, figures(files(*GROUPS)))
            kept.keep("key", table)
            assert (table.path, len(table.files_in(table.figures))) == (None, 9)
        kept.use("key", 1.0)
        assert (kept.load("key", LAYOUT), kept.used_at("key")) == (None, None)

    def test_least_recently_used_go_first(self, tmp_path: Path) -> None:
        keep(kept_in(tmp_path), "a")
        size = only_file(tmp_path).stat().st_size
        kept = kept_in(tmp_path, limit=3 * size + size // 2)
        for age, key in enumerate("abc"):
            keep(kept, key)
            kept.use(key, 1000.0 + age)
        kept.use("a", 2000.0)

        # Another worker: one makes room only after it has written much since the last time.
        keep(kept_in(tmp_path, limit=3 * size + size // 2), "d")

        assert [key for key in "abcd" if is_kept(kept, key)] == ["a", "c", "d"]

    def test_what_older_releases_kept_goes_first(self, tmp_path: Path) -> None:
        kept = kept_in(tmp_path, limit=1)
        old = tmp_path / "kept" / "0123456789.kept"
        old.write_bytes(b"of format 1")
        os.utime(old, (1000, 1000))
        keep(kept, "key")
        assert not old.exists()
        assert is_kept(kept, "key")

    def test_a_table_that_is_too_large_alone_is_kept_all_the_same(self, tmp_path: Path) -> None:
        kept = kept_in(tmp_path, limit=1)
        keep(kept, "key")
        assert is_kept(kept, "key")

    def test_uses_are_noted(self, tmp_path: Path) -> None:
        kept = kept_in(tmp_path)
        keep(kept, "key")
        kept.use("key", 1_767_225_600.5)
        assert kept.used_at("key") == 1_767_225_600.5


def test_what_was_packed_comes_back() -> None:
    content = bytes(range(256)) * 40
    assert unpack(pack(content)) == content
    assert len(pack(content)) < len(content) // 4
