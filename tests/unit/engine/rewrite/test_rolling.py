"""Files end near their target, rows stay as they are, and whatever fails leaves no open file behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.engine.rewrite.rolling import SMALL, Rolling, RollingWriter
from support.properties import examples

PROPERTY = settings(max_examples=examples(150), deadline=None)
GROUP_HEADER = 8


class Refused(Exception):
    """What a file says that cannot go on."""


@dataclass(frozen=True)
class Encoded:
    """Rows of another file: one text for all of them."""

    text: str
    bytes: int


@dataclass
class MemoryFile:
    """A file whose size is known exactly: each row is as long as its text, shrunk by a ratio."""

    ratio: float = 1.0
    refuses: str = ""
    groups: list[pa.Table] = field(default_factory=list)
    size: int = 0
    state: str = "open"

    def write(self, rows: pa.Table) -> None:
        if self.refuses == "write":
            raise Refused
        self.groups.append(rows)
        width = pc.sum(pc.binary_length(rows.column("text"))).as_py()
        self.size += GROUP_HEADER + int(width * self.ratio)

    def copy(self, rows: Encoded) -> None:
        if self.refuses == "copy":
            raise Refused
        self.groups.append(pa.Table.from_batches([batch([rows.text])]))
        self.size += rows.bytes

    def close(self) -> MemoryFile:
        if self.refuses == "close":
            raise Refused
        self.state = "closed"
        return self

    def read_back(self) -> Iterator[pa.Table]:
        if self.refuses == "read back":
            raise Refused
        self.state = "read back"
        yield from self.groups

    def abort(self) -> None:
        self.state = "aborted"

    @property
    def rows(self) -> list[dict[str, str]]:
        return [row for group in self.groups for row in group.to_pylist()]


class Folder:
    """Opens files and remembers them."""

    def __init__(self, ratio: float = 1.0, refuses: str = "", after: int = 0) -> None:
        self.files: list[MemoryFile] = []
        self._ratio, self._refuses, self._after = ratio, refuses, after

    def open(self) -> MemoryFile:
        refuses = self._refuses if len(self.files) >= self._after else ""
        if refuses == "open":
            raise Refused
        assert [file.state for file in self.files].count("open") <= 1
        self.files.append(MemoryFile(self._ratio, refuses))
        return self.files[-1]

    @property
    def states(self) -> list[str]:
        return [file.state for file in self.files]


def batch(texts: Sequence[str]) -> pa.RecordBatch:
    return pa.record_batch({"text": pa.array(texts, pa.string())})


def rows_of_width(width: int, count: int, per_batch: int = 100) -> list[pa.RecordBatch]:
    return [batch(["x" * width] * min(per_batch, count - start)) for start in range(0, count, per_batch)]


def roll(
    batches: Sequence[pa.RecordBatch], rolling: Rolling, folder: Folder | None = None
) -> list[MemoryFile]:
    return RollingWriter((folder or Folder()).open, rolling).write_all(batches)


def target(size: int, expected: float = 10.0, row_group: int = 1 << 20) -> Rolling:
    return Rolling(target_size=size, row_group_bytes=row_group, bytes_per_row=expected)


SIZES = {
    "rows as wide as expected": (10, 10.0, 1.0),
    "rows wider than expected": (100, 10.0, 1.0),
    "rows narrower than expected": (10, 100.0, 1.0),
    "expected to take nothing": (10, 0.0, 1.0),
    "well compressed": (100, 100.0, 0.05),
    "hardly a byte a row": (1, 10.0, 0.2),
    "very wide": (900, 900.0, 1.0),
}


class TestSizes:
    @pytest.mark.parametrize(("width", "expected", "ratio"), SIZES.values(), ids=SIZES)
    def test_files_end_near_the_target_once_the_widths_are_known(
        self, width: int, expected: float, ratio: float
    ) -> None:
        count = int(55_000 / (width * ratio))
        files = roll(rows_of_width(width, count), target(10_000, expected, row_group=4_000), Folder(ratio))
        assert sum(len(file.rows) for file in files) == count
        assert len(files) in (5, 6)
        for file in files[:-1]:
            assert 9_000 <= file.size <= 11_000
        assert files[-1].size <= 11_000

    def test_no_rows_make_no_file(self) -> None:
        folder = Folder()
        assert roll([], target(100), folder) == []
        assert roll([batch([])], target(100), folder) == []
        assert folder.files == []

    def test_fewer_rows_than_a_file_takes_make_one(self) -> None:
        (file,) = roll(rows_of_width(10, 50), target(10_000))
        assert len(file.groups) == 1
        assert file.state == "closed"

    def test_a_row_larger_than_the_target_has_a_file_of_its_own(self) -> None:
        files = roll([batch(["x" * 500] * 3)], target(100, expected=500.0))
        assert [len(file.rows) for file in files] == [1, 1, 1]

    def test_a_wide_row_among_narrow_ones(self) -> None:
        texts = ["x" * 10] * 50 + ["y" * 5_000] + ["z" * 10] * 50
        files = roll([batch(texts)], target(1_000))
        assert [row["text"] for file in files for row in file.rows] == texts
        assert sum(file.size > 1_100 for file in files) == 1

    @pytest.mark.parametrize("row_group", [1, 100, 1_000, 5_000], ids=str)
    def test_row_groups_are_bounded_by_bytes(self, row_group: int) -> None:
        batches = rows_of_width(20, 2_000, per_batch=10)
        (file,) = roll(batches, target(1 << 30, expected=20.0, row_group=row_group))
        assert max(group.nbytes for group in file.groups) <= row_group + batches[0].nbytes
        assert len(file.groups) <= 2_000 * 24 / row_group + 1 or row_group < batches[0].nbytes

    @pytest.mark.parametrize("expected", [0.1, 1.0, 20.0, 1_000.0], ids=str)
    def test_a_file_that_the_row_group_made_full_gets_no_crumbs(self, expected: float) -> None:
        files = roll(rows_of_width(20, 5_000), target(10_000, expected, row_group=12_000))
        groups = [group.num_rows for file in files[:-1] for group in file.groups]
        assert min(groups) >= 10


class TestRest:
    """What would be left over as a small file goes into the file before it, where other rows follow."""

    @pytest.mark.parametrize(
        ("count", "sizes"),
        [
            pytest.param(0, [], id="nothing"),
            pytest.param(300, [300], id="there is no file before it"),
            pytest.param(1_000, [1_000], id="no rest"),
            pytest.param(1_300, [1_300], id="a rest below 70 % is taken along"),
            pytest.param(1_900, [1_000, 900], id="a larger rest has its own file"),
            pytest.param(2_300, [1_000, 1_300], id="only the last file takes it"),
        ],
    )
    @pytest.mark.parametrize("row_group", [1_000, 1 << 20], ids=["small row groups", "large row groups"])
    def test_small_rests_join_the_file_before(self, count: int, sizes: list[int], row_group: int) -> None:
        rolling = Rolling(10_000, row_group, 10.0, absorbs_rest=True)
        batches = rows_of_width(10, count)
        files = roll(batches, rolling)
        assert [round(len(file.rows), -2) for file in files] == sizes
        assert [row for file in files for row in file.rows] == [r for b in batches for r in b.to_pylist()]
        assert {file.state for file in files} <= {"closed"}

    def test_the_file_of_the_rest_is_deleted(self) -> None:
        folder = Folder()
        roll(rows_of_width(10, 1_300), Rolling(10_000, 1 << 20, 10.0, absorbs_rest=True), folder)
        assert folder.states == ["closed", "aborted"]

    def test_without_rows_to_follow_the_rest_is_a_file(self) -> None:
        files = roll(rows_of_width(10, 1_300), target(10_000))
        assert [round(len(file.rows), -2) for file in files] == [1_000, 300]


def roll_known(
    given: Sequence[pa.RecordBatch | Encoded],
    rolling: Rolling,
    wrong: float = 1.0,
    folder: Folder | None = None,
) -> list[MemoryFile]:
    """Rolls where the writer knows how much is to come, or believes in some multiple of that."""
    sizes = [each.bytes if isinstance(each, Encoded) else width(each) for each in given]
    left = [float(sum(sizes))]

    def rows() -> Iterator[pa.RecordBatch | Encoded]:
        for each, size in zip(given, sizes, strict=True):
            left[0] -= size
            yield each

    writer = RollingWriter((folder or Folder()).open, rolling, lambda: left[0] * wrong)
    return writer.write_all(rows())


def width(rows: pa.RecordBatch) -> int:
    return int(pc.sum(pc.binary_length(rows.column("text"))).as_py())


class TestKnownRest:
    """Where it is known how much is to come, a file takes a small rest before it is full."""

    @pytest.mark.parametrize(
        ("count", "sizes"),
        [
            pytest.param(300, [300], id="less than a file"),
            pytest.param(1_000, [1_000], id="no rest"),
            pytest.param(1_300, [1_300], id="a rest below 70 % is taken along"),
            pytest.param(1_900, [1_000, 900], id="a larger rest has its own file"),
            pytest.param(2_300, [1_000, 1_300], id="only the last file takes it"),
        ],
    )
    @pytest.mark.parametrize("row_group", [1_000, 1 << 20], ids=["small row groups", "large row groups"])
    def test_nothing_is_written_twice(self, count: int, sizes: list[int], row_group: int) -> None:
        folder = Folder()
        batches = rows_of_width(10, count)
        files = roll_known(batches, Rolling(10_000, row_group, 10.0, absorbs_rest=True), folder=folder)
        assert [round(len(file.rows), -2) for file in files] == sizes
        assert [row for file in files for row in file.rows] == [r for b in batches for r in b.to_pylist()]
        assert {*folder.states} == {"closed"}

    @pytest.mark.parametrize(
        ("sizes", "files"),
        [
            ([400, 400, 400, 400, 400], [1200, 800]),
            ([980, 500], [1480]),
            ([700, 900], [1600]),
            ([1000, 800], [1000, 800]),
            ([900, 300, 900, 300], [900, 1500]),
        ],
        ids=["even", "a small rest", "one file", "two", "the last takes the rest"],
    )
    def test_encoded_rows_are_rolled_by_their_known_sizes(self, sizes: list[int], files: list[int]) -> None:
        folder = Folder()
        encoded = [Encoded(str(number), size) for number, size in enumerate(sizes)]
        found = roll_known(encoded, Rolling(1_000, 1 << 20, 10.0, absorbs_rest=True), folder=folder)
        assert [row["text"] for file in found for row in file.rows] == [each.text for each in encoded]
        assert [file.size for file in found] == files
        assert {*folder.states} == {"closed"}

    @pytest.mark.parametrize("wrong", [0.0, 0.1, 3.0, 100.0])
    @pytest.mark.parametrize("count", [1_300, 2_300, 5_100])
    def test_a_wrong_estimate_makes_no_small_file(self, count: int, wrong: float) -> None:
        files = roll_known(rows_of_width(10, count), Rolling(10_000, 1_000, 10.0, absorbs_rest=True), wrong)
        assert sum(len(file.rows) for file in files) == count
        assert all(10_000 * SMALL <= file.size <= 10_000 * (1 + 2 * SMALL) + 1_000 for file in files)

    def test_where_the_rest_is_not_taken_along_files_end_at_the_target(self) -> None:
        files = roll_known(rows_of_width(10, 1_300), target(10_000))
        assert [round(len(file.rows), -2) for file in files] == [1_000, 300]


class TestFailures:
    def test_of_the_rows_aborts_the_open_file(self) -> None:
        def broken() -> Iterator[pa.RecordBatch]:
            yield from rows_of_width(10, 350)
            raise Refused

        folder = Folder()
        with pytest.raises(Refused):
            RollingWriter(folder.open, target(1_000, row_group=300)).write_all(broken())
        assert folder.states[0] == "closed"
        assert "open" not in folder.states
        assert folder.states[-1] == "aborted"

    def test_of_reading_the_rest_back_aborts_both_files(self) -> None:
        folder = Folder(refuses="read back", after=1)
        with pytest.raises(Refused):
            roll(rows_of_width(10, 1_300), Rolling(10_000, 1 << 20, 10.0, absorbs_rest=True), folder)
        assert folder.states == ["aborted", "aborted"]

    @pytest.mark.parametrize(
        ("refuses", "states"),
        [
            pytest.param("write", ["aborted", "aborted"], id="write"),
            pytest.param("close", ["closed", "aborted", "aborted"], id="close"),
            pytest.param("open", ["aborted"], id="open"),
        ],
    )
    def test_of_a_file_leaves_none_open(self, refuses: str, states: list[str]) -> None:
        folder = Folder(refuses=refuses, after=1)
        with pytest.raises(Refused):
            roll(rows_of_width(10, 1_000), target(1_000, row_group=300), folder)
        assert folder.states == states

    def test_an_interrupt_aborts_too(self) -> None:
        def interrupted() -> Iterator[pa.RecordBatch]:
            yield from rows_of_width(10, 50)
            raise KeyboardInterrupt

        folder = Folder()
        with pytest.raises(KeyboardInterrupt):
            RollingWriter(folder.open, target(1_000, row_group=100)).write_all(interrupted())
        assert folder.states == ["aborted"]


@PROPERTY
@given(
    texts=st.lists(st.integers(0, 60).map(lambda width: "x" * width), max_size=60),
    per_batch=st.integers(1, 20),
    size=st.integers(1, 500),
    expected=st.floats(0, 1_000),
    row_group=st.integers(1, 2_000),
    ratio=st.sampled_from([0.01, 0.5, 1.0, 3.0]),
    absorbs=st.booleans(),
)
def test_rows_are_neither_lost_nor_moved(
    texts: list[str],
    per_batch: int,
    size: int,
    expected: float,
    row_group: int,
    ratio: float,
    absorbs: bool,
) -> None:
    numbered = [f"{number}:{text}" for number, text in enumerate(texts)]
    batches = [batch(numbered[start : start + per_batch]) for start in range(0, len(texts), per_batch)]
    folder = Folder(ratio)
    files = roll(batches, Rolling(size, row_group, expected, absorbs), folder)
    assert files == [file for file in folder.files if file.state == "closed"]
    assert {file.state for file in folder.files if file not in files} <= {"aborted"}
    if absorbs and len(files) > 1:
        assert all(file.size >= size * SMALL for file in files)
    assert [row["text"] for file in files for row in file.rows] == numbered
    assert all(group.num_rows for file in files for group in file.groups)


@pytest.mark.parametrize("unit", [500, 1_000, 7_777])
def test_units_are_no_larger_than_asked_for(unit: int) -> None:
    """Once the first one told how long rows are."""
    rolling = Rolling(target_size=10_000, row_group_bytes=1 << 20, bytes_per_row=10.0, unit_size=unit)
    files = roll(rows_of_width(10, 5_000), rolling)
    sizes = [sum(len(row["text"]) for row in group.to_pylist()) for file in files for group in file.groups]
    assert max(sizes) <= unit + 10
    assert sum(sizes) == 50_000
    assert all(len(file.groups) > 1 for file in files[:-1])


class TestEncodedRows:
    """They are added as they are, between the rows around them."""

    def test_order_is_kept(self) -> None:
        (file,) = roll([batch(["a"]), Encoded("b", 50), batch(["c"]), batch(["d"])], target(1_000))
        assert [row["text"] for row in file.rows] == ["a", "b", "c", "d"]

    @pytest.mark.parametrize(
        ("sizes", "files"),
        [
            ([400, 400, 400, 400, 400], [1200, 800]),
            ([980, 980], [980, 980]),
            ([700, 290], [990]),
            ([700, 900], [700, 900]),
            ([600, 900], [1500]),
            ([5000, 10], [5000, 10]),
        ],
        ids=[
            "near the target",
            "full ones",
            "nearer with more",
            "nearer without",
            "small files grow",
            "large",
        ],
    )
    def test_files_end_near_the_target(self, sizes: list[int], files: list[int]) -> None:
        encoded = [Encoded(str(number), size) for number, size in enumerate(sizes)]
        found = roll(encoded, target(1_000))
        assert [row["text"] for file in found for row in file.rows] == [each.text for each in encoded]
        assert [file.size for file in found] == files

    def test_files_are_aborted_if_copying_fails(self) -> None:
        folder = Folder(refuses="copy")
        with pytest.raises(Refused):
            roll([batch(["a"]), Encoded("b", 50)], target(1_000), folder)
        assert folder.states == ["aborted"]
