"""Which file indexes a table asks for, and where the writer of data files puts them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lithify.clock import SystemClock
from lithify.errors import InvalidOption, UnsupportedTable
from lithify.files.parquet.copying.copied_groups import CopiedGroup
from lithify.formats.paimon.data_files.new_files import NewFiles
from lithify.formats.paimon.data_files.writer import FileTarget, OpenDataFile
from lithify.formats.paimon.file_indexes.model import (
    NO_INDEXES,
    FileIndexOptions,
    IndexedColumn,
    IndexKind,
    IndexSettings,
)
from lithify.formats.paimon.options.table_options import read_options
from lithify.formats.paimon.support.file_indexes import index_refusals
from support.cases import case
from support.comparing.file_indexes import indexes_in
from support.data_files import CREATED, local_storage, open_file, table_of, target
from support.manifests import schema

PREFIX = "file-index."
BLOOM, BITMAP, BSI, RANGE = IndexKind


def read(**options: str) -> FileIndexOptions:
    named = {PREFIX + key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    return read_options(named).indexes


def indexed(column: str, kind: IndexKind, key: str | None = None, **settings: Any) -> IndexedColumn:
    return IndexedColumn(column, kind, IndexSettings(**settings), key)


class TestOptions:
    def test_nothing_is_indexed_unless_asked_for(self) -> None:
        assert read() == NO_INDEXES
        assert read(read__enabled="true", in_manifest_threshold="2 kb") == FileIndexOptions((), 2048)

    def test_columns_of_every_kind(self) -> None:
        found = read(
            bloom_filter__columns=" a ,b", bitmap__columns="a", bsi__columns="c", range_bitmap__columns="d,"
        )
        assert found.indexed == (
            indexed("a", BLOOM),
            indexed("b", BLOOM),
            indexed("a", BITMAP),
            indexed("c", BSI),
            indexed("d", RANGE),
        )
        assert found.columns == {"a", "b", "c", "d"}

    def test_options_of_one_index(self) -> None:
        found = read(
            bloom_filter__columns="a,b",
            bloom_filter__a__items="7",
            bloom_filter__a__fpp="0.5",
            bloom_filter__a__unknown="x",
            bitmap__columns="a",
            bitmap__a__version="1",
            bitmap__a__index_block_size="1 kb",
            range_bitmap__columns="a",
            range_bitmap__a__chunk_size="0 b",
        )
        assert found.indexed == (
            indexed("a", BLOOM, items=7, false_positives=0.5),
            indexed("b", BLOOM),
            indexed("a", BITMAP, version=1, block_size=1024),
            indexed("a", RANGE, chunk_size=0),
        )

    def test_options_of_map_keys_come_before_those_of_the_map(self) -> None:
        options = {
            "file-index.bloom-filter.columns": "m[a],m[b],m[]",
            "file-index.bloom-filter.m.items": "5",
            "file-index.bloom-filter.m.fpp": "0.5",
            "file-index.bloom-filter.m[b].items": "6",
        }
        assert read_options(options).indexes.indexed == (
            indexed("m", BLOOM, "a", items=5, false_positives=0.5),
            indexed("m", BLOOM, "b", items=6, false_positives=0.5),
            indexed("m", BLOOM, "", items=5, false_positives=0.5),
        )
        assert [each.name for each in read_options(options).indexes.indexed] == ["m[a]", "m[b]", "m[]"]

    def test_other_kinds_are_left_to_the_support_table(self) -> None:
        assert read(of_my_own__columns="a", of_my_own__a__items="5") == NO_INDEXES

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            case({"bitmap__columns": "a,,b"}, "bitmap.columns", id="an empty column"),
            case({"bitmap__columns": ""}, "bitmap.columns", id="no column"),
            case(
                {"bitmap__columns": "a", "bitmap__b__version": "1"}, "bitmap.b.version", id="another column"
            ),
            case({"bitmap__a__version": "1"}, "bitmap.a.version", id="no columns at all"),
            case({"bitmap__columns": "a", "bitmap__a__version": "3"}, "bitmap.a.version", id="a new version"),
            case(
                {"bloom_filter__columns": "a", "bloom_filter__a__fpp": "1"},
                "bloom-filter.a.fpp",
                id="nothing but false positives",
            ),
            case(
                {"bloom_filter__columns": "a", "bloom_filter__a__items": "0"},
                "bloom-filter.a.items",
                id="no items",
            ),
            case(
                {"bloom_filter__columns": "a", "bloom_filter__a__items": "2000000000"},
                "bloom-filter.a.items",
                id="a filter of a gigabyte",
            ),
            case({"in_manifest_threshold": "much"}, "in-manifest-threshold", id="no size"),
        ],
    )
    def test_values_that_make_no_sense(self, options: dict[str, str], named: str) -> None:
        with pytest.raises(InvalidOption) as caught:
            read(**options)
        assert caught.value.option == PREFIX + named


MAP = {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}
COLUMNS = [
    ("id", "INT NOT NULL"),
    ("text", "STRING"),
    ("wide", "DECIMAL(19, 0)"),
    ("flag", "BOOLEAN"),
    ("at", "TIMESTAMP(9)"),
    ("m", MAP),
    ("n", {**MAP, "key": "INT NOT NULL"}),
    ("list", {"type": "ARRAY", "element": "INT"}),
    ("data", "BYTES"),
]


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("id", {*IndexKind}),
        ("text", {BLOOM, BITMAP, RANGE}),
        ("wide", set()),
        ("flag", {BITMAP, RANGE}),
        ("at", {BLOOM, BITMAP, BSI}),
        ("m", set()),
        ("m[a]", {*IndexKind}),
        ("n[1]", set()),
        ("list", set()),
        ("id[a]", set()),
        ("data", {BLOOM}),
        ("other", set()),
    ],
)
def test_which_columns_can_have_which_indexes(name: str, kinds: set[IndexKind]) -> None:
    possible = set()
    for kind in IndexKind:
        options = read_options({f"{PREFIX}{kind}.columns": name}).indexes
        problems = [*index_refusals(schema(COLUMNS, ["id"]), options)]
        assert all(f"{PREFIX}{kind}.columns" in problem and name in problem for problem in problems)
        possible |= set() if problems else {kind}
    assert possible == kinds


TWO = schema([("id", "INT NOT NULL"), ("v", "STRING")], ["id"])
ROWS = [{"id": number, "v": f"v{number % 3}"} for number in range(100)]
FEW = {"file-index.bitmap.columns": "v"}


def to(folder: Path, options: dict[str, str]) -> FileTarget:
    return replace(target(folder, TWO, options), indexes=read_options(options).indexes)


def opened(folder: Path, options: dict[str, str]) -> OpenDataFile:
    place = to(folder, options)
    return OpenDataFile(place.name("writer", 0), place, local_storage(folder), lambda: CREATED)


class TestWriter:
    @pytest.mark.parametrize("more", [0, 1])
    def test_larger_indexes_are_beside_the_file(self, tmp_path: Path, more: int) -> None:
        whole = opened(tmp_path / "all", {**FEW, "file-index.in-manifest-threshold": "1 gb"})
        whole.write(table_of(TWO, ROWS))
        content = whole.close().embedded_index
        assert content is not None
        threshold = f"{len(content) - more}"
        file = opened(tmp_path, {**FEW, "file-index.in-manifest-threshold": threshold})
        for start in range(0, 100, 30):
            file.write(table_of(TWO, ROWS[start : start + 30]))

        meta = file.close()

        assert (meta.embedded_index is None) == bool(more)
        beside = tmp_path / f"{meta.name}.index"
        assert meta.extra_files == ((beside.name,) if more else ())
        assert (beside.read_bytes() if more else meta.embedded_index) == content
        assert indexes_in(content).keys() == {"v"}
        assert file_paths(tmp_path) == {meta.name, *meta.extra_files} | {"all"}

    def test_without_options_there_are_none(self, tmp_path: Path) -> None:
        file = open_file(tmp_path, TWO)
        file.write(table_of(TWO, ROWS))
        meta = file.close()
        assert (meta.extra_files, meta.embedded_index) == ((), None)

    def test_aborting_after_the_end_deletes_the_indexes_too(self, tmp_path: Path) -> None:
        file = opened(tmp_path, {**FEW, "file-index.in-manifest-threshold": "1"})
        file.write(table_of(TWO, ROWS))
        meta = file.close()
        assert file_paths(tmp_path) == {meta.name, *meta.extra_files}
        file.abort()
        assert file_paths(tmp_path) == set()

    def test_paths_name_everything_that_may_be_left(self, tmp_path: Path) -> None:
        assert to(tmp_path, FEW).paths("a") == [f"{tmp_path}/a", f"{tmp_path}/a.index"]
        assert to(tmp_path, {}).paths("a") == [f"{tmp_path}/a"]

    def test_files_of_a_task_that_fails_leave_no_index(self, tmp_path: Path) -> None:
        place = to(tmp_path, {**FEW, "file-index.in-manifest-threshold": "1"})
        files = NewFiles("w", local_storage(tmp_path), SystemClock())
        file = files.open_next(place)
        file.write(table_of(TWO, ROWS))
        meta = file.close()
        assert file_paths(tmp_path) == {meta.name, f"{meta.name}.index"}
        files.delete()
        assert file_paths(tmp_path) == set()

    def test_rows_that_are_read_back_are_indexed_once(self, tmp_path: Path) -> None:
        """A small rest is joined with the file before, whose indexes are then those of all rows."""
        large, rest = (opened(tmp_path / name, FEW) for name in ("a", "b"))
        large.write(table_of(TWO, ROWS[:60]))
        rest.write(table_of(TWO, ROWS[60:]))
        for rows in rest.read_back():
            large.write(rows)
        rest.abort()
        once = opened(tmp_path / "c", FEW)
        once.write(table_of(TWO, ROWS))
        assert large.close().embedded_index == once.close().embedded_index != None  # noqa: E711 (chained)

    def test_copied_rows_must_have_the_indexed_columns(self, tmp_path: Path) -> None:
        place = to(tmp_path, {"file-index.bitmap.columns": "v"})
        like = OpenDataFile.like(place)
        file = OpenDataFile("f.parquet", place, local_storage(tmp_path), lambda: CREATED, like=like)
        with pytest.raises(TypeError, match="indexes"):
            file.copy(CopiedGroup(like, 0, (table_of(TWO, ROWS[:1]),)))
        file.abort()

    def test_a_value_that_java_cannot_index(self, tmp_path: Path) -> None:
        file = opened(tmp_path, {**FEW, "file-index.bitmap.v.index-block-size": "20"})
        file.write(table_of(TWO, [{"id": 1, "v": "long enough not to fit"}]))
        with pytest.raises(UnsupportedTable, match="column v"):
            file.close()
        file.abort()
        assert file_paths(tmp_path) == set()


def file_paths(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
