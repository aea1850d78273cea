"""What is told by footers alone: deletes that nobody counted, dictionaries, and memory for reading."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithify.errors import CorruptTable, MissingFile, StorageError
from lithify.files.parquet.footers import FETCH_BYTES, Footers, HeldFiles
from lithify.files.reading import reading
from lithify.io.local_storage import LocalFileIO
from lithify.io.storage import Fetching, Storage
from lithify.io.storage_paths import FileAccess
from support.data_files import local_storage
from support.properties import examples

KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture
def footers() -> Footers:
    return Footers(local_storage())


def kinds_file(path: Path, groups: Sequence[Sequence[int]], *, statistics: bool) -> str:
    schema = pa.schema([("id", pa.int32()), ("_VALUE_KIND", pa.int8())])
    with pq.ParquetWriter(path, schema, write_statistics=statistics) as writer:
        for kinds in groups:
            writer.write_table(
                pa.table([pa.array(range(len(kinds)), pa.int32()), pa.array(kinds, pa.int8())], schema)
            )
    return str(path)


DELETES: dict[str, tuple[list[list[int]], bool]] = {
    "inserts": ([[0, 0], [0]], False),
    "updates": ([[0, 2], [2]], False),
    "a delete": ([[0, 0], [0, 3]], True),
    "a delete in the first row group only": ([[3], [0]], True),
    "an update's before": ([[0, 1]], True),
    "an update's before that the maximum hides": ([[1, 2]], True),
    "an update's before hidden by another row group": ([[0, 1], [2]], True),
    "only deletes": ([[3]], True),
    "no rows": ([], False),
}


class TestHiddenDeletes:
    @pytest.mark.parametrize("statistics", [True, False], ids=["with statistics", "without statistics"])
    @pytest.mark.parametrize(("groups", "holds"), DELETES.values(), ids=DELETES)
    def test_footers_tell_whether_a_file_may_hold_deletes(
        self, footers: Footers, groups: list[list[int]], holds: bool, statistics: bool, tmp_path: Path
    ) -> None:
        path = kinds_file(tmp_path / "f.parquet", groups, statistics=statistics)
        assert footers.holds_any(path, "_VALUE_KIND", (1, 3)) is holds


def text_file(path: Path, columns: dict[str, list[str]], *, dictionary: bool | list[str] = True) -> str:
    pq.write_table(pa.table(columns), path, use_dictionary=dictionary, compression="zstd")
    return str(path)


# What any writer without a check for repetitions, such as PyArrow, makes a dictionary of.
UNIQUE = [f"{number:012}" for number in range(20_000)]
RANDOM = [f"{number:016x}" for number in random.Random(7).sample(range(1 << 62), 20_000)]
REPEATED = ["red", "green"] * 10_000


VALUES: dict[str, tuple[list[str], bool]] = {
    "a few values": (REPEATED, True),
    "one value": (["x"] * 20_000, True),
    "no value twice": (UNIQUE, False),
    "no value twice, none like another": (RANDOM, False),
    "no value twice, in a small file": (UNIQUE[:3_000], False),
    "each value twice": (random.Random(7).sample(RANDOM[:3_000] * 2, 6_000), False),
    "so few that it does not matter": (UNIQUE[:20], True),
    "many values, each many times": (random.Random(7).choices(RANDOM[:500], k=20_000), True),
    "a dictionary that overflowed": ([f"{number:012}" for number in range(80_000)], False),
}


class TestDictionaries:
    @pytest.mark.parametrize(("values", "worth_it"), VALUES.values(), ids=VALUES)
    def test_are_used_where_values_repeat_themselves(
        self, footers: Footers, values: list[str], worth_it: bool, tmp_path: Path
    ) -> None:
        path = text_file(tmp_path / "f", {"a": values})
        assert footers.columns_with_dictionary([path]) == ({"a"} if worth_it else set())

    def test_columns_of_one_file(self, footers: Footers, tmp_path: Path) -> None:
        path = text_file(tmp_path / "f", {"a": REPEATED, "b": REPEATED}, dictionary=["a"])
        assert footers.columns_with_dictionary([path]) == {"a"}

    def test_every_file_must_have_it(self, footers: Footers, tmp_path: Path) -> None:
        one = text_file(tmp_path / "one", {"a": REPEATED, "b": REPEATED})
        other = text_file(tmp_path / "other", {"a": REPEATED, "b": REPEATED}, dictionary=["a"])
        assert footers.columns_with_dictionary([one, other]) == {"a"}

    def test_every_row_group_must_have_it(self, footers: Footers, tmp_path: Path) -> None:
        table = pa.table({"a": [*REPEATED, *UNIQUE]})
        pq.write_table(table, tmp_path / "f", row_group_size=20_000, use_dictionary=True)
        assert footers.columns_with_dictionary([str(tmp_path / "f")]) == frozenset()

    def test_a_file_without_the_column_does_not_count(self, footers: Footers, tmp_path: Path) -> None:
        one, other = (
            text_file(tmp_path / "one", {"a": REPEATED}),
            text_file(tmp_path / "other", {"b": REPEATED}),
        )
        assert footers.columns_with_dictionary([one, other]) == {"a", "b"}

    def test_no_files_have_no_columns_with_dictionary(self, footers: Footers) -> None:
        assert footers.columns_with_dictionary([]) == frozenset()


class TestOverhead:
    @settings(
        max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(
        rows=st.integers(1, 400),
        width=st.integers(0, 2_000),
        columns=st.integers(1, 4),
        distinct=st.integers(1, 400),
        groups=st.integers(1, 3),
    )
    def test_it_is_between_one_page_and_all_there_is(
        self, tmp_path: Path, rows: int, width: int, columns: int, distinct: int, groups: int
    ) -> None:
        texts = [f"{number % distinct:0{width}}" for number in range(rows)]
        table = pa.table({f"c{number}": texts for number in range(columns)})
        path = tmp_path / "f"
        pq.write_table(table, path, row_group_size=-(-rows // groups), compression="none")
        overhead = Footers(local_storage()).overhead(str(path))
        assert 0 < overhead <= 5 * path.stat().st_size

    def test_pages_bound_it_for_long_columns(self, footers: Footers, tmp_path: Path) -> None:
        texts = [f"{number:0100}" for number in range(100_000)]
        path = text_file(tmp_path / "f", {"a": texts}, dictionary=False)
        assert MIB <= footers.overhead(path) <= MIB + FETCH_BYTES

    def test_a_narrow_column_holds_a_page_of_rows(self, footers: Footers, tmp_path: Path) -> None:
        pq.write_table(
            pa.table({"a": pa.array(range(500_000), pa.int64())}), tmp_path / "f", use_dictionary=False
        )
        assert 8 * 20_000 <= footers.overhead(str(tmp_path / "f")) <= 8 * 20_000 + FETCH_BYTES + KIB

    def test_very_wide_rows_hold_a_hundred(self, footers: Footers, tmp_path: Path) -> None:
        texts = [f"{number:0100000}" for number in range(300)]
        path = text_file(tmp_path / "f", {"a": texts}, dictionary=False)
        assert 100 * 100_000 <= footers.overhead(path) <= 101 * 100_000 + FETCH_BYTES

    def test_columns_add_up(self, footers: Footers, tmp_path: Path) -> None:
        few = text_file(tmp_path / "few", {"a": UNIQUE}, dictionary=False)
        many = text_file(tmp_path / "many", {f"c{number}": UNIQUE for number in range(10)}, dictionary=False)
        assert footers.overhead(many) == pytest.approx(10 * footers.overhead(few), rel=0.01)

    def test_row_groups_of_very_many_columns_count_as_a_whole(self, footers: Footers, tmp_path: Path) -> None:
        texts = {f"c{number}": UNIQUE[:500] for number in range(100)}
        path = text_file(tmp_path / "f", texts, dictionary=False)
        assert footers.figures(path).is_read_whole
        assert footers.overhead(path) >= pa.table(texts).nbytes

    @pytest.mark.parametrize(
        ("columns", "values", "dictionary"),
        [
            pytest.param(5, UNIQUE[:500], False, id="few columns"),
            pytest.param(100, ["x" * 5_000] * 500, True, id="texts behind a dictionary"),
            pytest.param(100, UNIQUE * 3, False, id="many pages"),
        ],
    )
    def test_other_row_groups_are_read_in_pieces(
        self, footers: Footers, tmp_path: Path, columns: int, values: list[str], dictionary: bool
    ) -> None:
        texts = {f"c{number}": values for number in range(columns)}
        assert not footers.figures(text_file(tmp_path / "f", texts, dictionary=dictionary)).is_read_whole

    def test_a_dictionary_counts(self, footers: Footers, tmp_path: Path) -> None:
        path = text_file(tmp_path / "f", {"a": RANDOM * 2})
        assert footers.overhead(path) >= 20 * len(RANDOM)

    def test_the_largest_row_group_decides(self, footers: Footers, tmp_path: Path) -> None:
        schema = pa.schema([("a", pa.string())])
        with pq.ParquetWriter(tmp_path / "f", schema, use_dictionary=False, compression="zstd") as writer:
            for texts in (["x"], UNIQUE, ["y"]):
                writer.write_table(pa.table([texts], schema))
        whole = text_file(tmp_path / "whole", {"a": UNIQUE}, dictionary=False)
        assert footers.overhead(str(tmp_path / "f")) == pytest.approx(footers.overhead(whole), rel=0.1)

    def test_a_file_without_rows_needs_nothing(self, footers: Footers, tmp_path: Path) -> None:
        path = kinds_file(tmp_path / "f", [], statistics=True)
        assert footers.overhead(path) == 0
        assert footers.figures(path).bytes_per_row == 0

    def test_bytes_per_row(self, footers: Footers, tmp_path: Path) -> None:
        path = text_file(tmp_path / "f", {"a": UNIQUE}, dictionary=False)
        assert footers.figures(path).bytes_per_row == pytest.approx(16, abs=1)


class TestUnreadable:
    def test_a_missing_file_is_named(self, footers: Footers, tmp_path: Path) -> None:
        with pytest.raises(MissingFile) as caught:
            footers.of(str(tmp_path / "gone"))
        assert caught.value.path == str(tmp_path / "gone")

    @pytest.mark.parametrize(
        "content", [b"", b"PAR1", b"no parquet at all" * 10], ids=["empty", "magic", "foreign"]
    )
    def test_what_is_no_parquet(self, footers: Footers, content: bytes, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(content)
        with pytest.raises(CorruptTable) as caught:
            footers.of(str(tmp_path / "f"))
        assert caught.value.path == str(tmp_path / "f")

    def test_a_footer_that_is_cut_off(self, footers: Footers, tmp_path: Path) -> None:
        path = text_file(tmp_path / "f", {"a": ["x"]})
        Path(path).write_bytes(Path(path).read_bytes()[:-10])
        with pytest.raises(CorruptTable):
            footers.of(path)

    def test_a_refusal_of_the_file_system_is_no_corruption(self) -> None:
        with pytest.raises(StorageError) as caught, reading("f", "Parquet"):
            raise PermissionError(13, "Permission denied")
        assert caught.value.path == "f"

    def test_footers_are_read_once(self, footers: Footers, tmp_path: Path) -> None:
        path = text_file(tmp_path / "f", {"a": ["x"]})
        footer = footers.of(path)
        Path(path).unlink()
        assert footers.of(path) is footer


class Counting(Storage):
    """Counts how often files are opened."""

    opened = 0

    def open(self, path: str, size: int | None = None, fetching: Fetching | None = None) -> pa.NativeFile:
        self.opened += 1
        return super().open(path, size, fetching)


class TestKeptFooters:
    def test_small_footers_of_many_files_are_read_once(self, tmp_path: Path) -> None:
        storage = Counting(FileAccess(LocalFileIO(), is_local=True))
        footers = Footers(storage)
        paths = [kinds_file(tmp_path / f"{n}.parquet", [[0]], statistics=True) for n in range(200)]

        for path in [*paths, *paths]:
            assert footers.of(path).num_rows == 1

        assert storage.opened == 200


class TestHeldFiles:
    def test_small_file_is_read_once_with_its_footer(self, footers: Footers, tmp_path: Path) -> None:
        path = text_file(tmp_path / "f", {"a": ["x"] * 10})
        content = (tmp_path / "f").read_bytes()
        footers.of(path)
        (tmp_path / "f").unlink()

        taken = footers.take_file(path)

        assert taken is not None
        assert taken.read() == content
        assert footers.take_file(path) is None

    def test_large_file_is_not_held(self, footers: Footers, tmp_path: Path) -> None:
        texts = [random.Random(number).randbytes(16).hex() for number in range(20_000)]
        path = text_file(tmp_path / "f", {"a": texts}, dictionary=False)
        footers.of(path)

        assert footers.take_file(path) is None

    def test_small_file_whose_rows_are_not_read_next_is_not_held(
        self, footers: Footers, tmp_path: Path
    ) -> None:
        path = text_file(tmp_path / "f", {"a": ["x"] * 10})

        assert footers.of(path, is_read_next=False).num_rows == 10

        assert footers.take_file(path) is None

    @given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 12)), max_size=20))
    def test_held_bytes_are_bounded_and_the_newest_stay(self, files: list[tuple[str, int]]) -> None:
        held = HeldFiles(10)
        for path, size in files:
            held.hold(path, pa.py_buffer(bytes(size)))

        left = [data.size for data in map(held.take, "abc") if data is not None]

        assert sum(left) <= 10
        if files and files[-1][1] <= 10:
            assert files[-1][1] in left
