"""Row groups that a task copies: the same rows and metadata as when everything is merged."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from lithify.clock import SystemClock
from lithify.columns.key_range import EVERYTHING, KeyRange
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.changelog import ChangelogSpec
from lithify.engine.rewrite.functions import Deduplicate
from lithify.files.parquet.copying.footers import METADATA, ROW_GROUPS, STATISTICS
from lithify.files.parquet.structs import (
    Struct,
    binary,
    struct,
    structs,
)
from lithify.formats.paimon.data_files.expired_rows import ExpiredRows
from lithify.formats.paimon.deletion_vectors.bitmaps import DeletionVector
from lithify.formats.paimon.deletion_vectors.index_files import located, write_vectors
from lithify.formats.paimon.manifests.entries import APPEND_SOURCE, FileMeta
from lithify.formats.paimon.primary_key import copying
from lithify.formats.paimon.primary_key.merge_functions.first_row import FirstRow
from lithify.formats.paimon.primary_key.merge_specs import merge_spec
from lithify.formats.paimon.primary_key.merge_task import MergeTask
from lithify.formats.paimon.primary_key.previous_records import KINDS, TopLevelRecords
from lithify.formats.paimon.schema.schema import Schema
from lithify.formats.protocol.results import TaskResult
from support.data_files import Rows, input_file, local_storage, read, target, write
from support.manifests import schema
from support.parquet_files import by, with_footer
from support.properties import examples

COLUMNS: list[tuple[str, Any]] = [
    ("id", "INT NOT NULL"),
    ("part", "INT NOT NULL"),
    ("name", "STRING"),
    ("ratio", "DOUBLE"),
    ("at", "TIMESTAMP(6)"),
    ("tags", {"type": "ARRAY", "element": "INT"}),
]
SCHEMA = schema(COLUMNS, ["id"])
TWO_KEYS = schema(COLUMNS, ["id", "part"])
OLD, NEW = 1_000, 2_000
"""First sequence numbers of the large run and of the others."""


@pytest.fixture(autouse=True)
def _small_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "SMALLEST_COPIED", 1)
    monkeypatch.setattr(copying, "_MOST_OTHERS", 1e9)


def row(key: int, part: int = 0, sequence: int = OLD, kind: int = 0) -> dict[str, Any]:
    return {
        "id": key,
        "part": part,
        "name": f"n{key % 3}" if key % 5 else None,
        "ratio": [float("nan"), -0.0, key / 3, None][key % 4],
        "at": None,
        "tags": [key] * (key % 3),
        "_SEQUENCE_NUMBER": sequence + key,
        "_VALUE_KIND": kind,
    }


def task_of(
    folder: Path,
    large: Sequence[Sequence[Rows]],
    others: Sequence[Rows],
    keyed: Schema = SCHEMA,
    options: dict[str, str] | None = None,
) -> MergeTask:
    """A task of one section: a large run of files with row groups, and other runs of one file each."""
    runs = []
    for number, rows in enumerate(others):
        meta = write(folder / f"new-{number}", keyed, [rows], options)
        runs.append((input_file(folder / f"new-{number}", meta, run=number),))
    files = []
    for number, groups in enumerate(large):
        meta = write(folder / f"old-{number}", keyed, groups, options)
        files.append(replace(input_file(folder / f"old-{number}", meta, run=len(others)), is_copyable=True))
    return MergeTask(
        index=0,
        prefix="12345678-1234-1234-1234",
        sections=((*runs, tuple(files)),),
        keys=EVERYTHING,
        is_last=True,
        spec=merge_spec(keyed, (), Deduplicate(), drop_deletes=True),
        schemas={keyed.id: keyed},
        target=target(folder / "out", keyed, options),
        storage=local_storage(folder),
        budget=Budget(16 << 20),
    )


def without_copies(task: MergeTask) -> MergeTask:
    sections = tuple(
        tuple(tuple(replace(file, is_copyable=False) for file in run) for run in section)
        for section in task.sections
    )
    return replace(task, sections=sections)


def run(task: MergeTask, attempt: int = 0) -> TaskResult:
    result = task.run(SystemClock(UTC), attempt_id=attempt)
    assert result.failure is None, result.failure
    return result


def rows_of(task: MergeTask, result: TaskResult) -> list[str]:
    """The rows of a result as texts: NaN is not equal to itself."""
    files = [input_file(Path(task.target.folder), file) for file in result.outputs.data]
    return [str(each) for each in read(files, [task.target.schema])]


def described(file: FileMeta) -> FileMeta:
    """The metadata of a file without what two files of the same rows may differ in."""
    return replace(file, name="", size=0, created_millis=0)


def assert_same(task: MergeTask) -> TaskResult:
    copied, merged = run(task), run(without_copies(task), attempt=1)
    assert merged.outputs.copied_bytes == 0
    assert rows_of(task, copied) == rows_of(task, merged)
    assert [*map(described, copied.outputs.data)] == [*map(described, merged.outputs.data)]
    return copied


def groups(starts: Sequence[int], count: int = 10, step: int = 2) -> list[list[dict[str, Any]]]:
    """Row groups of even keys."""
    return [[row(key) for key in range(start, start + count * step, step)] for start in starts]


HUNDRED = groups(range(0, 100, 20))
"""Row groups with the keys 0 to 18, 20 to 38 and so on."""


@pytest.mark.parametrize(
    ("keys", "copied"),
    [
        ([[]], 5),
        ([[21]], 4),
        ([[20]], 4),
        ([[38]], 4),
        ([[1, 99]], 3),
        ([[19]], 4),
        ([[-5]], 4),
        ([[200]], 4),
        ([[21, 23], [25]], 4),
        ([[1, 21, 41, 61, 81]], 0),
        ([[19, 39, 59]], 2),
    ],
    ids=[
        *("no other run", "between keys", "at the first key", "at the last key", "at both ends"),
        *("between row groups", "before all", "after all", "several runs", "everywhere", "gaps"),
    ],
)
def test_row_groups_without_other_keys_are_copied(tmp_path: Path, keys: list[list[int]], copied: int) -> None:
    others = [[row(key, sequence=NEW) for key in each] for each in keys if each]
    task = task_of(tmp_path, [HUNDRED], others)
    result = assert_same(task)
    (file,) = result.outputs.data
    (old,) = (file for file in task.inputs if file.is_copyable)
    sizes = pq.read_metadata(old.path)
    chunks = [[sizes.row_group(n).column(c) for c in range(sizes.num_columns)] for n in range(5)]
    per_group = {sum(chunk.total_compressed_size for chunk in each) for each in chunks}
    assert copied * min(per_group) <= result.outputs.copied_bytes <= copied * max(per_group)
    assert file.rows == 50 + sum(key % 2 or not 0 <= key < 100 for each in keys for key in each)


def test_deletes_remove_rows_of_row_groups_that_are_merged(tmp_path: Path) -> None:
    deletes = [row(key, sequence=NEW, kind=3) for key in (22, 24, 77)]
    result = assert_same(task_of(tmp_path, [HUNDRED], [deletes]))
    assert result.outputs.data[0].rows == 48
    assert result.outputs.copied_bytes > 0


@pytest.mark.parametrize(
    "options", [{}, {"parquet.bloom.filter.enabled": "true"}, {"data-file.thin-mode": "true"}]
)
def test_files_of_several_layouts(tmp_path: Path, options: dict[str, str]) -> None:
    task = task_of(tmp_path, [HUNDRED[:2], HUNDRED[2:]], [[row(21, sequence=NEW)]], options=options)
    assert assert_same(task).outputs.copied_bytes > 0


def test_files_roll_at_the_target_size(tmp_path: Path) -> None:
    task = task_of(tmp_path, [HUNDRED], [[row(21, sequence=NEW)]])
    small = replace(task, target=target(tmp_path / "out", SCHEMA, {"target-file-size": "1 kb"}))
    copied, merged = run(small), run(without_copies(small), attempt=1)
    assert len(copied.outputs.data) > 1
    assert copied.outputs.copied_bytes > 0
    assert rows_of(small, copied) == rows_of(small, merged)


@pytest.mark.parametrize(
    "keys",
    [KeyRange((21,), None), KeyRange(None, (60,)), KeyRange((20,), (58,)), KeyRange((38,), (59,))],
)
def test_a_task_copies_only_what_is_in_its_range(tmp_path: Path, keys: KeyRange) -> None:
    task = replace(task_of(tmp_path, [HUNDRED], [[row(45, sequence=NEW)]]), keys=keys)
    part = tuple(tuple(replace(file, is_inside=False) for file in run) for run in task.sections[0])
    assert_same(replace(task, sections=(part,)))


def written_by_another(task: MergeTask, **options: Any) -> MergeTask:
    """The task whose large run was written with other options of Parquet."""
    for file in task.inputs:
        if file.is_copyable:
            pq.write_table(pq.read_table(file.path), file.path, store_schema=False, **options)
    return task


def of_writer(task: MergeTask, writer: str) -> MergeTask:
    """The task whose large run has the name of another writer."""
    for file in (Path(file.path) for file in task.inputs if file.is_copyable):
        file.write_bytes(with_footer(file.read_bytes(), change=by(writer)))
    return task


def expiring(task: MergeTask) -> MergeTask:
    return replace(task, expired=ExpiredRows("id", "INT", -1_000))


def logging(task: MergeTask) -> MergeTask:
    """The task, of a table whose full compactions write the changelog."""
    top = len(task.sections[0]) - 1
    spec = replace(task.spec, changelog=ChangelogSpec(TopLevelRecords(top), KINDS))
    return replace(task, spec=spec, changelog=replace(task.target, source=APPEND_SOURCE))


def marked(task: MergeTask, *, of: int, rows: Sequence[int]) -> MergeTask:
    """The task of which one file of the large run has a deletion vector."""
    *others, large = task.sections[0]
    name, vector = Path(large[of].path).name, DeletionVector(BitMap(rows), is_wide=False)
    folder = f"{task.target.folder}-index"
    index = write_vectors(task.storage, f"{folder}/index-{of}", {name: vector})
    file = replace(large[of], vector=located(folder, index, name))
    return replace(task, sections=((*others, (*large[:of], file, *large[of + 1 :])),))


UNFIT = {
    "another codec": lambda task: written_by_another(task, compression="snappy"),
    "other names of lists": lambda task: written_by_another(
        task, compression="zstd", use_compliant_nested_type=False
    ),
    "no statistics": lambda task: written_by_another(task, compression="zstd", write_statistics=False),
    "a writer that hides NaN": lambda task: of_writer(task, "parquet-rs version 55.0.0"),
    "a writer that readers distrust": lambda task: of_writer(task, "parquet-mr version 1.8.1"),
    "rows that expire": expiring,
    "filters are wanted": lambda task: replace(
        task, target=target(Path(task.target.folder), SCHEMA, {"parquet.bloom.filter.enabled": "true"})
    ),
    "other files are written": lambda task: replace(
        task, target=target(Path(task.target.folder), SCHEMA, {"file.format": "orc"})
    ),
    "changes are logged": logging,
    "files only change level": lambda task: replace(task, rewrites=False),
    "all files have deleted rows": partial(marked, of=0, rows=[0, 7, 49]),
    "keys are looked up": lambda task: replace(
        task, known=task.sections[0][:1], spec=replace(task.spec, function=FirstRow())
    ),
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_does_not_fit_is_merged(tmp_path: Path, name: str) -> None:
    task = UNFIT[name](task_of(tmp_path, [HUNDRED], [[row(21, sequence=NEW)]]))
    if name != "keys are looked up":
        assert assert_same(task).outputs.copied_bytes == 0
    else:
        assert run(task).outputs.copied_bytes == 0


def test_changes_are_those_of_all_rows(tmp_path: Path) -> None:
    task = logging(task_of(tmp_path, [HUNDRED], [[row(21, sequence=NEW), row(40, sequence=NEW)]]))
    (changes,) = run(task).outputs.changelog
    assert changes.rows == 3  # an insert, and both values of an update


@pytest.mark.parametrize("of", [0, 1])
def test_only_files_without_deleted_rows_are_copied(tmp_path: Path, of: int) -> None:
    task = task_of(tmp_path, [HUNDRED[:2], HUNDRED[2:]], [[row(81, sequence=NEW)]])
    result = assert_same(marked(task, of=of, rows=[1, 12]))
    assert result.outputs.copied_bytes > 0
    assert sum(file.rows for file in result.outputs.data) == 51 - 2


@pytest.mark.parametrize("kind", ["TIMESTAMP(9)", "VARIANT", {"type": "ARRAY", "element": "TIMESTAMP(9)"}])
def test_tables_with_columns_without_statistics_are_not_copied(kind: Any) -> None:
    assert copying.may_copy(SCHEMA)
    assert not copying.may_copy(schema([*COLUMNS, ("more", kind)], ["id"]))


@pytest.mark.parametrize("kind", ["DOUBLE", "BINARY(3)", "DECIMAL(20, 0)", "TIMESTAMP(9)", "BOOLEAN"])
def test_keys_with_another_order_in_statistics_are_not_copied(kind: str) -> None:
    assert not copying.may_copy(schema([("id", f"{kind} NOT NULL"), ("v", "INT")], ["id"]))


def test_uncounted_deletes_in_a_row_group_are_merged_away(tmp_path: Path) -> None:
    large = [HUNDRED[0], [row(20, kind=3), *HUNDRED[1][1:]], *HUNDRED[2:]]
    result = assert_same(task_of(tmp_path, [large], [[row(81, sequence=NEW)]]))
    assert result.outputs.data[0].rows == 50
    assert result.outputs.data[0].delete_rows == 0


def test_an_unsorted_row_group_is_found(tmp_path: Path) -> None:
    large = [HUNDRED[0], [HUNDRED[1][0], *HUNDRED[1][:0:-1]], *HUNDRED[2:]]
    result = task_of(tmp_path, [large], [[row(81, sequence=NEW)]]).run(SystemClock(UTC))
    assert result.failure is not None
    assert result.failure.kind == "CorruptTable"


def with_bounds(task: MergeTask, group: int, low: int, high: int, width: int = 4) -> MergeTask:
    """The task whose large file has other bounds of `id` in a row group."""

    def changed(fields: Struct) -> Struct:
        row_groups = [dict(each) for each in fields[ROW_GROUPS].structs]
        chunks = row_groups[group][1].structs
        metadata = chunks[number][METADATA].struct
        bounds = {6: binary(low.to_bytes(width, "little")), 5: binary(high.to_bytes(width, "little"))}
        statistics = struct({**metadata[STATISTICS].struct, **bounds})
        chunks[number] = {**chunks[number], METADATA: struct({**metadata, STATISTICS: statistics})}
        row_groups[group][1] = structs(chunks)
        return {**fields, ROW_GROUPS: structs(row_groups)}

    *runs, (file,) = task.sections[0]
    path = Path(file.path)
    number = pq.read_schema(path).names.index("id")
    path.write_bytes(with_footer(path.read_bytes(), change=changed))
    return replace(task, sections=((*runs, (replace(file, size=path.stat().st_size),)),))


def test_a_run_that_is_not_sorted_is_found_although_each_of_its_row_groups_is(tmp_path: Path) -> None:
    """The bounds of the first row group hide that its last keys are among those of the next one."""
    large = [[*HUNDRED[0], row(27)], *HUNDRED[1:]]
    task = task_of(tmp_path, [large], [[row(1, sequence=NEW)]], options={"metadata.stats-mode": "none"})
    task = with_bounds(task, 0, 0, 18)
    for each in (task, without_copies(task)):
        result = each.run(SystemClock(UTC))
        assert result.failure is not None
        assert result.failure.kind == "CorruptTable"
        assert result.failure.path == task.sections[0][-1][0].path


def test_a_run_whose_bounds_cannot_be_read_is_merged(tmp_path: Path) -> None:
    task = with_bounds(task_of(tmp_path, [HUNDRED], [[row(21, sequence=NEW)]]), 3, 0, 0, width=0)
    assert assert_same(task).outputs.copied_bytes == 0


@st.composite
def sections(draw: st.DrawFn) -> tuple[list[list[Rows]], list[Rows], Schema, KeyRange]:
    """A large run in files and row groups, and other runs; keys of one or of two columns."""
    keyed = draw(st.sampled_from([SCHEMA, TWO_KEYS]))
    parts = st.just(0) if keyed is SCHEMA else st.integers(0, 3)
    keys = st.lists(st.tuples(st.integers(0, 60), parts), min_size=1, max_size=60, unique=True).map(sorted)
    large: list[list[Rows]] = [[]]
    for key, part in draw(keys):
        large[-1] = large[-1] or [[]]
        large[-1][-1] = [*large[-1][-1], row(key, part)]
        step = draw(st.integers(0, 9))
        if step == 0:
            large.append([])
        elif step < 3:
            large[-1].append([])
    files = [[group for group in file if group] for file in large]
    others = [
        [
            row(key, part, NEW + 100 * number, draw(st.sampled_from([0, 0, 0, 3])))
            for key, part in draw(keys)[:6]
        ]
        for number in range(draw(st.integers(0, 2)))
    ]
    bounds = sorted(draw(st.lists(st.integers(-1, 61), min_size=2, max_size=2)))
    whole = draw(st.booleans())
    ends = [(bound,) if keyed is SCHEMA else (bound, 1) for bound in bounds]
    return [file for file in files if file], others, keyed, EVERYTHING if whole else KeyRange(*ends)


@given(drawn=sections())
@settings(max_examples=examples(60), deadline=None)
def test_copying_never_changes_rows(drawn: tuple[list[list[Rows]], list[Rows], Schema, KeyRange]) -> None:
    large, others, keyed, keys = drawn
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(copying, "SMALLEST_COPIED", 1)
        patched.setattr(copying, "_MOST_OTHERS", 1e9)
        task = replace(task_of(Path(folder), large, others, keyed), keys=keys)
        parts = tuple(
            tuple(replace(file, is_inside=keys == EVERYTHING) for file in run) for run in task.sections[0]
        )
        assert_same(replace(task, sections=(parts,)))
