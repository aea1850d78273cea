"""Deletion vectors: their bytes, their index files and manifests, and which rows a merge supersedes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pypaimon.filesystem.local_file_io import LocalFileIO
from pyroaring import BitMap

from lithify.columns.orders import SequenceField
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.functions import Deduplicate
from lithify.engine.rewrite.passes import merge_section
from lithify.engine.rewrite.records import RecordLayout, RowKinds
from lithify.engine.rewrite.row_positions import (
    PLACE_FIELD,
    ROW_PLACE,
)
from lithify.engine.rewrite.spec import MergeSpec
from lithify.errors import CorruptTable, MissingFile
from lithify.files.model import InputFile
from lithify.formats.paimon.access.file_access import storage_of
from lithify.formats.paimon.deletion_vectors.bitmaps import (
    DeletionVector,
    decode,
    deserialize,
    encode,
    serialize,
    stored_length,
)
from lithify.formats.paimon.deletion_vectors.index_files import (
    VectorIndex,
    VectorRange,
    located,
    read_vector,
    read_vectors,
    write_vectors,
)
from lithify.formats.paimon.deletion_vectors.maintaining import maintain
from lithify.formats.paimon.deletion_vectors.sharing import SharedVectorChange, rolled, without_files
from lithify.formats.paimon.manifests.entry_selection import EVERYTHING
from lithify.formats.paimon.manifests.index_manifests import decode_indexes, index_names, replaced
from lithify.formats.paimon.primary_key.merge_functions.superseding import Superseded, Superseding
from support.cases import case
from support.properties import examples
from support.rewriting.model import FanIn, ListRun, Row, SchemaRows

ROWS = 1 << 20
positions = st.one_of(
    st.sets(st.integers(0, ROWS - 1), max_size=40),
    st.builds(
        lambda start, count: set(range(start, start + count)), st.integers(0, 9000), st.integers(0, 9000)
    ),
)
PROPERTY = settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class TestBytes:
    @given(positions, st.booleans())
    @PROPERTY
    def test_what_is_written_is_read(self, rows: set[int], is_wide: bool) -> None:
        vector = DeletionVector(BitMap(rows), is_wide)
        stored, length = encode(vector)
        assert len(stored) == stored_length(length, is_wide=is_wide)
        for behind in (b"", b"more"):
            assert decode(stored + behind, length) == vector
        assert set(deserialize(serialize(vector.positions))) == rows

    def test_runs_are_stored_as_runs(self) -> None:
        assert len(serialize(BitMap(range(60_000)))) < 30

    @pytest.mark.parametrize("is_wide", [False, True])
    def test_no_other_bytes_are_taken_for_a_vector(self, is_wide: bool) -> None:
        stored, length = encode(DeletionVector(BitMap([1, 5, 70_000]), is_wide))
        for place in range(len(stored)):
            damaged = bytearray(stored)
            damaged[place] ^= 1
            with pytest.raises(ValueError, match="vector"):
                decode(bytes(damaged), length)
            with pytest.raises(ValueError, match="vector"):
                decode(stored[:place], length)
        with pytest.raises(ValueError, match="length"):
            decode(stored, length + 1)

    def test_positions_that_no_file_has_are_refused(self) -> None:
        data = struct.pack("<iqi", 1681511377, 1, 7) + serialize(BitMap([1]))
        stored = struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))
        with pytest.raises(ValueError, match="2\\^32"):
            decode(stored, len(data) + 8)


class TestIndexFiles:
    @given(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.tuples(positions, st.booleans())))
    @PROPERTY
    def test_every_vector_is_found_again(
        self, tmp_path: Path, drawn: dict[str, tuple[set[int], bool]]
    ) -> None:
        storage = storage_of(LocalFileIO(), (f"{tmp_path}",))
        vectors = {name: DeletionVector(BitMap(rows), is_wide) for name, (rows, is_wide) in drawn.items()}
        index = write_vectors(storage, f"{tmp_path}/index/index-1", vectors)
        assert index.size == (tmp_path / "index" / "index-1").stat().st_size
        for name, vector in vectors.items():
            assert read_vector(storage, located(f"{tmp_path}/index", index, name)) == vector
            assert index.ranges[name].cardinality == len(vector)

    def test_what_is_wrong_is_told_with_the_file(self, tmp_path: Path) -> None:
        storage = storage_of(LocalFileIO(), (f"{tmp_path}",))
        index = write_vectors(
            storage, f"{tmp_path}/index-1", {"a": DeletionVector(BitMap([7]), is_wide=False)}
        )
        there = located(f"{tmp_path}", index, "a")
        with pytest.raises(CorruptTable, match="does not have"):
            read_vector(storage, there, InputFile(f"{tmp_path}/a", 1, 7, 0, 0))
        assert read_vector(storage, there, InputFile(f"{tmp_path}/a", 1, 8, 0, 0)).positions == BitMap([7])
        for wrong in (replace(there, offset=0), replace(there, length=1 << 40), replace(there, offset=3)):
            with pytest.raises(CorruptTable):
                read_vector(storage, wrong)
        with pytest.raises(MissingFile):
            read_vector(storage, replace(there, path=f"{tmp_path}/index-2"))


OLD = {name: DeletionVector(BitMap([number]), is_wide=False) for number, name in enumerate("abc")}


class TestMaintaining:
    def test_nothing_is_written_if_nothing_changes(self, tmp_path: Path) -> None:
        storage = storage_of(LocalFileIO(), (f"{tmp_path}",))
        before = [write_vectors(storage, f"{tmp_path}/index-1", OLD)]
        change = maintain(storage, f"{tmp_path}/index-2", before, "abcd", {}, is_wide=False)
        assert (change.before, change.after, change.is_new) == ((before[0],), before[0], False)
        assert {path.name for path in tmp_path.iterdir()} == {"index-1"}

    def test_vectors_are_kept_changed_dropped_and_added(self, tmp_path: Path) -> None:
        storage = storage_of(LocalFileIO(), (f"{tmp_path}",))
        before = [write_vectors(storage, f"{tmp_path}/index-1", OLD)]
        superseded = {"b": BitMap([9]), "d": BitMap([4])}
        change = maintain(storage, f"{tmp_path}/index-2", before, "bcd", superseded, is_wide=True)
        (written,) = change.written
        found = {name: read_vector(storage, located(f"{tmp_path}", written, name)) for name in written.ranges}
        assert {name: set(vector.positions) for name, vector in found.items()} == {
            "b": {1, 9},
            "c": {2},
            "d": {4},
        }
        assert [found[name].is_wide for name in "bcd"] == [False, False, True]

    def test_a_bucket_whose_files_are_all_gone_has_no_index_file(self, tmp_path: Path) -> None:
        storage = storage_of(LocalFileIO(), (f"{tmp_path}",))
        before = [write_vectors(storage, f"{tmp_path}/index-1", OLD)]
        change = maintain(storage, f"{tmp_path}/index-2", before, "d", {}, is_wide=False)
        assert (change.after, change.is_new, change.written) == (None, True, ())
        assert change.removed == (before[0],)
        assert {path.name for path in tmp_path.iterdir()} == {"index-1"}


class TestSharing:
    """Index files of a partition without buckets, each with the vectors of several files."""

    @staticmethod
    def change(
        tmp_path: Path, before: Sequence[VectorIndex], rewritten: str, remaining: str, size: int = 1 << 20
    ) -> tuple[SharedVectorChange, list[dict[str, DeletionVector]]]:
        storage = storage_of(LocalFileIO(), (f"{tmp_path}",))
        names = (f"new-{number}" for number in count())
        found = without_files(storage, f"{tmp_path}", names, before, rewritten, remaining, size)
        written = [read_vectors(storage, f"{tmp_path}", index, [*index.ranges]) for index in found.written]
        return found, written

    @pytest.fixture
    def before(self, tmp_path: Path) -> list[VectorIndex]:
        storage = storage_of(LocalFileIO(), (f"{tmp_path}",))
        wide = {"d": DeletionVector(BitMap([7]), is_wide=True)}
        return [
            write_vectors(storage, f"{tmp_path}/index-1", OLD),
            write_vectors(storage, f"{tmp_path}/index-2", wide),
        ]

    @pytest.mark.parametrize(
        ("rewritten", "remaining", "removed", "kept"),
        [
            case("x", "abcd", [], [], id="none of its files has a vector"),
            case("a", "bcd", ["index-1"], [{"b", "c"}], id="others share the index file"),
            case("abc", "d", ["index-1"], [], id="nothing is left of it"),
            case("d", "abc", ["index-2"], [], id="a vector alone"),
            case("ad", "bc", ["index-1", "index-2"], [{"b", "c"}], id="two index files"),
            case("a", "bd", ["index-1"], [{"b"}], id="a vector of a file that is gone is dropped"),
        ],
    )
    def test_only_vectors_of_rewritten_files_go(
        self,
        tmp_path: Path,
        before: list[VectorIndex],
        rewritten: str,
        remaining: str,
        removed: list[str],
        kept: list[set[str]],
    ) -> None:
        change, written = self.change(tmp_path, before, rewritten, remaining)
        assert [index.name for index in change.removed] == removed
        assert [set(vectors) for vectors in written] == kept
        assert all(OLD[name] == vector for vectors in written for name, vector in vectors.items())

    def test_index_files_roll_at_their_size(self, tmp_path: Path) -> None:
        storage = storage_of(LocalFileIO(), (f"{tmp_path}",))
        many = {f"{n}": DeletionVector(BitMap(range(n, 1000, 3)), is_wide=n % 2 > 0) for n in range(9)}
        before = write_vectors(storage, f"{tmp_path}/index-1", many)
        _, written = self.change(tmp_path, [before], "0", "12345678", size=1500)
        assert len(written) > 2
        assert {name: found for vectors in written for name, found in vectors.items()} == {
            name: vector for name, vector in many.items() if name != "0"
        }
        assert [*rolled({}, 1)] == []


PLACES = [(b"p", number) for number in range(3)]


class TestIndexManifests:
    @staticmethod
    def index(name: str) -> VectorIndex:
        return VectorIndex(name, 9, {f"data-{name}": VectorRange(1, 5, 2), "more": VectorRange(7, 4, None)})

    def test_only_the_changed_buckets_get_other_vectors(self) -> None:
        first = replaced(None, (), [(place, self.index(f"{place[1]}")) for place in PLACES], "zstd")
        assert first is not None
        second = replaced(first, ["0", "1"], [(PLACES[1], self.index("new"))], "null")
        assert second is not None
        indexes = decode_indexes(second, EVERYTHING)
        assert indexes.vectors == {
            PLACES[1]: (self.index("new"),),
            PLACES[2]: (self.index("2"),),
        }
        assert indexes.types == {"DELETION_VECTORS"}
        assert index_names(second) == {"new", "2"}
        assert decode_indexes(second).vectors == {}

    def test_there_is_no_manifest_without_indexes(self) -> None:
        first = replaced(None, (), [(PLACES[0], self.index("a"))], "zstd")
        assert first is not None
        assert replaced(first, ["a"], (), "zstd") is None

    def test_a_bucket_may_have_several(self) -> None:
        first = replaced(None, (), [(PLACES[0], self.index(name)) for name in "ab"], "zstd")
        assert first is not None
        second = replaced(first, ["a"], [(PLACES[0], self.index("c"))], "zstd")
        assert second is not None
        assert decode_indexes(second, EVERYTHING).vectors == {PLACES[0]: (self.index("b"), self.index("c"))}

    def test_a_name_that_is_no_name_is_refused(self) -> None:
        content = replaced(None, (), [(PLACES[0], self.index("../a"))], "null")
        assert content is not None
        with pytest.raises(ValueError, match="no name"):
            decode_indexes(content, EVERYTHING)


SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("v", pa.string()),
        pa.field("_SEQUENCE_NUMBER", pa.int64(), nullable=False),
        pa.field("_VALUE_KIND", pa.int8(), nullable=False),
        PLACE_FIELD,
    ]
)
LAYOUT = RecordLayout(("k",), (SequenceField("_SEQUENCE_NUMBER"),), RowKinds("_VALUE_KIND", (1, 3)))


def row(key: int, value: str, sequence: int, kind: int, place: int) -> Row:
    return {"k": key, "v": value, "_SEQUENCE_NUMBER": sequence, "_VALUE_KIND": kind, ROW_PLACE: place}


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[list[Row]], int, int]:
    """Runs of level 0, of levels up to the output and above it; a key is in one run above level 0 at most."""
    level0, upper, known = draw(st.integers(1, 4)), draw(st.integers(0, 2)), draw(st.integers(1, 3))
    keys = st.integers(0, 25)
    runs: list[list[Row]] = []
    for number in range(level0):
        kinds = {key: draw(st.sampled_from([0, 2, 3])) for key in draw(st.sets(keys, max_size=12))}
        runs.append([row(key, f"{number}", 9 - number, kind, -1) for key, kind in sorted(kinds.items())])
    used: set[int] = set()
    for number in range(upper + known):
        mine = sorted(draw(st.sets(keys, max_size=15)) - used)
        used.update(mine)
        file = number - upper
        runs.append(
            [
                row(key, f"old {number}", 0, 0, -1 if file < 0 else (file << 40) + at)
                for at, key in enumerate(mine)
            ]
        )
    return runs, level0, level0 + upper


@given(trees(), st.booleans(), st.sampled_from([Budget(), FanIn(runs=2), FanIn(runs=3)]))
@PROPERTY
def test_a_merge_supersedes_what_it_finds(
    tmp_path: Path, tree: tuple[list[list[Row]], int, int], merges_known: bool, budget: Budget
) -> None:
    runs, upper, known = tree
    superseded = Superseded()
    function = Superseding(Deduplicate(), upper, known, merges_known=merges_known, superseded=superseded)
    spec = MergeSpec(LAYOUT, function, drop_retractions=True)
    sources = [ListRun(SchemaRows(SCHEMA), [*records], number) for number, records in enumerate(runs)]
    merged = [
        (each["k"], each["v"])
        for batch in merge_section(sources, spec, budget, tmp_path)
        for each in batch.to_pylist()
    ]
    of_level0 = {each["k"] for run in runs[:upper] for each in run}
    newest = {each["k"]: each for run in reversed(runs[:known]) for each in run}
    assert merged == [(key, newest[key]["v"]) for key in sorted(newest) if newest[key]["_VALUE_KIND"] != 3]
    found = {each[ROW_PLACE] for run in runs[known:] for each in run if each["k"] in of_level0}
    assert {(file << 40) + at for file, rows in superseded.rows.items() for at in rows} == found
