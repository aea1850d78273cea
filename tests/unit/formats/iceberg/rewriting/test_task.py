"""The task that rewrites data files: which rows it writes, where, and with which lineage."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lithify.columns.orders import SortStrategy
from lithify.engine.rewrite.budget import Budget
from lithify.errors import CorruptTable, MissingFile
from lithify.formats.iceberg.data_files.schema import LAST_UPDATED, LINEAGE, ROW_ID, Schema, parse_schema
from lithify.formats.iceberg.data_files.stored import parse_name_mapping
from lithify.formats.iceberg.model import DataFile, Partition
from lithify.formats.iceberg.rewriting.destinations import Destination
from lithify.formats.iceberg.rewriting.ordering import CurveOrder, SortOrder
from lithify.formats.iceberg.table.partition_paths import PartitionField, PartitionSpec
from lithify.formats.iceberg.table.row_orders import OrderField
from support.iceberg_files import (
    Files,
    rewritten,
    rows_of,
    run,
    schema_json,
    schema_of,
    task_of,
    with_deletes,
)

SCHEMA = schema_of(("id", "long"), ("text", "string"))
TINY = Budget(4 << 20)
_AS_JAVA_WRITES = {"compression": "zstd", "use_dictionary": False, "write_page_index": True}


def _ids(rows: Sequence[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path, SCHEMA)


def _some(files: Files, *ids: int, **more: Any) -> DataFile:
    return files.data({"id": ids, "text": [f"t{number}" for number in ids]}, **more)


def test_rows_keep_the_order_of_the_files(files: Files) -> None:
    inputs = [_some(files, 3, 1), _some(files, 2), _some(files, 9, 8)]

    assert rewritten(files, inputs) == [{"id": each, "text": f"t{each}"} for each in (3, 1, 2, 9, 8)]


def test_new_files_have_field_ids_and_say_what_they_are(files: Files) -> None:
    (new,) = run(task_of(files, [_some(files, 1, 2)], sort_order_id=4)).data

    schema = pq.ParquetFile(new.path).schema_arrow
    assert [field.metadata[b"PARQUET:field_id"] for field in schema] == [b"1", b"2"]
    assert (new.rows, new.size, new.partition) == (2, Path(new.path).stat().st_size, Partition(0))
    assert (new.split_offsets, new.sort_order_id, new.format) == ((4,), 4, "parquet")
    assert Path(new.path).parent == files.folder / "data"


def test_task_can_be_pickled(files: Files) -> None:
    task = task_of(files, [_some(files, 1)], order=SortOrder((OrderField(1),), SCHEMA))

    assert rows_of(run(pickle.loads(pickle.dumps(task))).data) == [{"id": 1, "text": "t1"}]


def test_input_sizes_name_data_and_delete_files(files: Files) -> None:
    file = _some(files, 1, 2)
    vector = files.vector(file, [0])

    task = task_of(files, [with_deletes(file, vector)])

    assert task.input_sizes == {file.path: file.size, vector.path: vector.size}


def test_deletes_of_all_kinds_are_left_out(files: Files) -> None:
    file = _some(files, *range(10))
    deletes = [
        files.vector(file, [0, 1]),
        files.vector(file, [1, 2]),
        files.positions([(file, 4)]),
        files.positions([(file, 5)]),
        files.equality({"id": [7]}, [1]),
        files.equality({"text": ["t8"]}, [2]),
    ]

    assert _ids(rewritten(files, [with_deletes(file, *deletes)])) == [3, 6, 9]


def test_files_all_of_whose_rows_are_deleted_leave_no_file(files: Files) -> None:
    file = _some(files, 1, 2)

    assert run(task_of(files, [with_deletes(file, files.vector(file, [0, 1]))])).data == ()


@pytest.mark.parametrize("first", [None, 100])
def test_lineage_is_inherited_where_it_is_not_stored(files: Files, first: int | None) -> None:
    file = _some(files, 7, 8, 9, first_row_id=first, sequence=5)

    rows = rewritten(files, [with_deletes(file, files.vector(file, [1]))], has_lineage=True)

    expected = [(None, None)] * 2 if first is None else [(100, 5), (102, 5)]
    assert [tuple(row[field.name] for field in LINEAGE) for row in rows] == expected


def test_stored_lineage_stays_and_its_gaps_are_inherited(files: Files) -> None:
    stored = {"_row_id": [4, None, 6], "_last_updated_sequence_number": [2, None, None]}
    rows = {"id": [1, 2, 3], "text": ["a", "b", "c"], **stored}
    file = files.data(rows, more=LINEAGE, first_row_id=50, sequence=3)
    older = _some(files, 9)

    found = rewritten(files, [file, older], has_lineage=True)

    assert [row["_row_id"] for row in found] == [4, 51, 6, None]
    assert [row["_last_updated_sequence_number"] for row in found] == [2, 3, 3, None]


def test_lineage_is_inherited_by_rows_that_lack_all_columns_of_the_table(tmp_path: Path) -> None:
    schema = parse_schema(
        {"schema-id": 1, "fields": [{"id": 9, "name": "new", "required": False, "type": "string"}]}
    )
    files = Files(tmp_path, schema)
    file = files.data({"id": [1, 2, 3]}, schema=schema_of(("id", "int")), first_row_id=10, sequence=4)

    rows = rewritten(files, [with_deletes(file, files.vector(file, [0]))], has_lineage=True)

    assert [tuple(row.values()) for row in rows] == [(None, 11, 4), (None, 12, 4)]


def test_lineage_columns_have_the_reserved_ids(files: Files) -> None:
    (new,) = run(task_of(files, [_some(files, 1)], has_lineage=True)).data

    schema = pq.ParquetFile(new.path).schema_arrow
    ids = [int(field.metadata[b"PARQUET:field_id"]) for field in schema]
    assert ids == [1, 2, ROW_ID, LAST_UPDATED]


def test_files_of_older_schemas_are_read_in_the_current_one(tmp_path: Path) -> None:
    old = schema_of(("id", "int"), ("gone", "string"), ("f", "float"), ("d", "decimal(5, 2)"))
    new = parse_schema(
        {
            "schema-id": 1,
            "fields": [
                {"id": 4, "name": "d", "required": False, "type": "decimal(12, 2)"},
                {"id": 1, "name": "number", "required": False, "type": "long"},
                {"id": 3, "name": "f", "required": False, "type": "double"},
                {"id": 9, "name": "gone", "required": False, "type": "string", "initial-default": "new"},
                {"id": 10, "name": "more", "required": False, "type": "date"},
            ],
        }
    )
    files = Files(tmp_path, new)
    file = files.data(
        {"id": [1, None], "gone": ["x", "y"], "f": [0.5, 1.5], "d": [Decimal("1.20"), None]}, schema=old
    )

    assert rewritten(files, [file]) == [
        {"d": Decimal("1.20"), "number": 1, "f": 0.5, "gone": "new", "more": None},
        {"d": None, "number": None, "f": 1.5, "gone": "new", "more": None},
    ]


def test_rows_of_older_specs_are_divided_by_the_current_spec(files: Files) -> None:
    inputs = [_some(files, *range(50)), _some(files, *range(50, 100))]
    fields = (PartitionField(1, "id_trunc", "truncate[40]"), PartitionField(2, "one", "truncate[2]"))

    written = run(task_of(files, inputs, spec=PartitionSpec(3, fields), budget=TINY)).data

    found: dict[tuple[Any, ...], list[int]] = {}
    for file in written:
        assert file.partition.spec_id == 3
        found.setdefault(file.partition.values, []).extend(_ids(rows_of([file])))
        folder = Path(file.path).parent.relative_to(files.folder / "data")
        number, text = file.partition.values
        assert str(folder) == f"id_trunc={number}/one={text}"
    expected: dict[tuple[Any, ...], list[int]] = {}
    for number in range(100):
        expected.setdefault((number // 40 * 40, f"t{number}"[:2]), []).append(number)
    assert found == expected


def test_rows_of_both_zeros_go_to_files_of_their_own(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("id", "long"), ("v", "double")))
    values = [0.0, -0.0, float("nan"), None] * 25
    inputs = [files.data({"id": [*range(100)], "v": values}) for _ in range(3)]
    spec = PartitionSpec(3, (PartitionField(2, "v", "identity"),))

    written = run(task_of(files, inputs, spec=spec, budget=TINY)).data

    found = {str(file.partition.values[0]): {str(row["v"]) for row in rows_of([file])} for file in written}
    assert found == {text: {text} for text in ("-0.0", "0.0", "nan", "None")}
    assert len(written) == 4


def test_known_partition_names_the_folder(files: Files) -> None:
    spec = PartitionSpec(1, (PartitionField(2, "text", "identity"), PartitionField(1, "day", "day")))
    partition = Partition(1, ("a/b c", date(2024, 5, 1)))

    (new,) = run(task_of(files, [_some(files, 1)], spec=spec, destination=Destination(partition))).data

    assert new.partition == partition
    assert Path(new.path).parent == files.folder / "data" / "text=a%2Fb+c" / "day=2024-05-01"


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (OrderField(1), [None, 1, 2, 3]),
        (OrderField(1, ascending=False), [None, 3, 2, 1]),
        (OrderField(1, nulls_first=False), [1, 2, 3, None]),
        (OrderField(1, ascending=False, nulls_first=False), [3, 2, 1, None]),
        (OrderField(2, ascending=False), [1, 3, 2, None]),
        (OrderField(1, transform="bucket[1]"), [3, None, 1, 2]),
    ],
)
def test_rows_are_sorted_as_the_order_says(files: Files, field: OrderField, expected: list[int]) -> None:
    first = files.data({"id": [3, None], "text": ["b\0", "a"]})
    second = files.data({"id": [1, 2], "text": ["b\0\0", "b"]})

    found = rewritten(files, [first, second], order=SortOrder((field,), SCHEMA))

    if field.transform == "bucket[1]":
        assert _ids(found) == [None, 3, 1, 2]
    else:
        assert _ids(found) == expected


@pytest.mark.thorough
def test_sort_that_does_not_fit_into_memory_goes_through_disk(tmp_path: Path) -> None:
    files = Files(tmp_path, SCHEMA)
    rng = np.random.default_rng(1)
    numbers = rng.permutation(200_000)
    inputs = [
        files.data({"id": part, "text": [f"{number:060}" for number in part]})
        for part in np.array_split(numbers, 4)
    ]

    found = rewritten(files, inputs, order=SortOrder((OrderField(2, ascending=False),), SCHEMA), budget=TINY)

    assert _ids(found) == list(range(199_999, -1, -1))


@pytest.mark.parametrize("strategy", [SortStrategy.ZORDER, SortStrategy.HILBERT])
def test_curves_keep_all_rows(files: Files, strategy: SortStrategy) -> None:
    order = CurveOrder((1, 2), strategy, SCHEMA)

    found = rewritten(files, [_some(files, 5, 4, 3), _some(files, 2, 1)], order=order)

    assert sorted(_ids(found)) == [1, 2, 3, 4, 5]


def test_files_roll_at_the_target_size(files: Files) -> None:
    rng = np.random.default_rng(1)
    inputs = [_random(files, rng, 50_000, compression="none", use_dictionary=False) for _ in range(8)]
    size = sum(file.size for file in inputs)
    properties = {
        "write.target-file-size-bytes": str(size // 4),
        "write.parquet.compression-codec": "uncompressed",
    }

    written = run(task_of(files, inputs, properties=properties)).data

    assert len(written) == 4
    assert all(abs(file.size - size / 4) < size / 16 for file in written)


def _random(files: Files, rng: np.random.Generator, rows: int, **more: Any) -> DataFile:
    ids = rng.integers(0, 1 << 60, rows)
    return files.data({"id": ids, "text": [f"{number:020}" for number in ids]}, **more)


def test_name_mapping_gives_ids_to_files_without(files: Files) -> None:
    plain = files.data(pa.table({"TEXT": ["a"], "other": [5], "key": [1]}))
    mapping = parse_name_mapping(
        '[{"field-id": 1, "names": ["id", "key"]}, {"field-id": 2, "names": ["TEXT"]}]'
    )

    assert rewritten(files, [plain], mapping=mapping) == [{"id": 1, "text": "a"}]


def test_files_without_ids_and_mapping_are_read_by_position(files: Files) -> None:
    plain = files.data(pa.table({"x": [1], "y": ["a"]}))

    assert rewritten(files, [plain]) == [{"id": 1, "text": "a"}]


def test_identity_partitions_that_files_lack_come_from_the_partition(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("id", "long"), ("text", "string"), ("day", "date")))
    spec = PartitionSpec(2, (PartitionField(3, "day", "identity"),))
    partition = Partition(2, (date(2024, 1, 2),))
    file = files.data({"id": [1], "text": ["a"]}, schema=SCHEMA, partition=partition)

    found = rewritten(files, [file], spec=spec, specs=(spec,), destination=Destination(partition))

    assert found == [{"id": 1, "text": "a", "day": date(2024, 1, 2)}]


def test_null_in_a_required_column_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("id", "long", {"required": True}), ("text", "string")))
    file = files.data({"id": [1, None], "text": ["a", "b"]}, schema=SCHEMA)

    with pytest.raises(CorruptTable):
        run(task_of(files, [file]))

    assert not [*(files.folder / "data").glob("*")]


def test_missing_data_file_is_told_by_name(files: Files) -> None:
    file = _some(files, 1)
    Path(file.path).unlink()

    with pytest.raises(MissingFile) as failure:
        run(task_of(files, [file]))

    assert failure.value.path == file.path


def test_file_with_another_number_of_rows_is_corrupt(files: Files) -> None:
    file = _some(files, 1)
    wrong = DataFile(file.path, file.size, 2, "parquet", 1, Partition(0))

    with pytest.raises(CorruptTable):
        run(task_of(files, [wrong]))


@pytest.mark.thorough
@pytest.mark.sampled(2)
@pytest.mark.parametrize("has_lineage", [False, True])
@pytest.mark.parametrize("deletes", [False, True])
def test_large_row_groups_are_copied_unless_rows_of_their_file_are_deleted(
    files: Files, *, has_lineage: bool, deletes: bool
) -> None:
    rng = np.random.default_rng(1)
    inputs = [_random(files, rng, 700_000, compression="zstd", first_row_id=at) for at in (0, 1 << 40)]
    assert all(file.size > 8 << 20 for file in inputs)
    expected = [row for file in inputs for row in pq.read_table(file.path).to_pylist()]
    if deletes:
        inputs[0] = with_deletes(inputs[0], files.vector(inputs[0], [3]))
        del expected[3]

    outputs = run(task_of(files, inputs, has_lineage=has_lineage))

    found = rows_of(outputs.data)
    assert [{"id": row["id"], "text": row["text"]} for row in found] == expected
    assert (outputs.copied_bytes > inputs[0].size * 1.5) is not deletes
    if has_lineage:
        numbers = [*range(700_000), *range(1 << 40, (1 << 40) + 700_000)]
        assert [row["_row_id"] for row in found] == (numbers[:3] + numbers[4:] if deletes else numbers)
        assert {row["_last_updated_sequence_number"] for row in found} == {1}


@pytest.mark.thorough
@pytest.mark.parametrize("both", [False, True])
def test_row_groups_are_copied_whatever_their_files_say_of_nulls(tmp_path: Path, *, both: bool) -> None:
    """Spark's files require columns in which a query has no nulls, although the table does not."""
    files = Files(tmp_path, SCHEMA)
    strict = schema_of(("id", "long", {"required": True}), ("text", "string"))
    rng = np.random.default_rng(1)
    first = _random(files, rng, 700_000, compression="zstd", schema=strict)
    second = _random(files, rng, 700_000, compression="zstd", schema=strict if both else SCHEMA)
    null = files.data({"id": [None], "text": ["x"]})

    outputs = run(task_of(files, [first, second] if both else [first, second, null]))

    (new,) = outputs.data
    assert outputs.copied_bytes > (first.size if both else 0.5 * second.size)
    assert pq.read_schema(new.path).field("id").nullable is not both
    found = pq.read_table(new.path).column("id").to_pylist()
    expected = [
        each for file in (first, second) for each in pq.read_table(file.path).column("id").to_pylist()
    ]
    assert found == (expected if both else [*expected, None])


@pytest.mark.thorough
@pytest.mark.parametrize("has_lineage", [False, True])
def test_pages_of_small_files_are_joined(files: Files, *, has_lineage: bool) -> None:
    rng = np.random.default_rng(1)
    inputs = [
        _random(files, rng, 60_000, first_row_id=number * 60_000, **_AS_JAVA_WRITES) for number in range(5)
    ]
    expected = [row for file in inputs for row in pq.read_table(file.path).to_pylist()]

    outputs = run(task_of(files, inputs, has_lineage=has_lineage))

    found = rows_of(outputs.data)
    assert outputs.copied_bytes > inputs[0].size
    assert [{"id": row["id"], "text": row["text"]} for row in found] == expected
    assert not has_lineage or [row["_row_id"] for row in found] == [*range(300_000)]


def test_columns_that_equality_deletes_name_may_be_gone(tmp_path: Path) -> None:
    old = schema_json(("id", "long"), ("code", "int"))
    current = {"schema-id": 1, "fields": [old["fields"][0]]}
    schema: Schema = parse_schema(current, [old])
    files = Files(tmp_path, schema)
    file = files.data({"id": [1, 2], "code": [10, 20]}, schema=parse_schema(old))
    delete = files.equality({"code": [20]}, [2], schema=parse_schema(old))

    assert rewritten(files, [with_deletes(file, delete)]) == [{"id": 1}]
