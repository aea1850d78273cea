"""The last values of many columns at once are those found group by group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.engine.rewrite import last_values
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.last_values import LastValues
from lithify.engine.rewrite.records import RecordLayout
from support.properties import examples

KINDS = st.sampled_from([pa.int64(), pa.string(), pa.bool_(), pa.dictionary(pa.int32(), pa.string())])
TEXTS = st.none() | st.sampled_from("xyz")


@st.composite
def columns(draw: st.DrawFn, rows: int) -> dict[str, pa.Array]:
    """Columns of several types with any nulls, which are slices of longer arrays."""
    made = {}
    for number in range(draw(st.integers(1, 4))):
        kind, skipped = draw(KINDS), draw(st.integers(0, 9))
        texts = draw(st.lists(TEXTS, min_size=rows + skipped, max_size=rows + skipped))
        values: Sequence[object] = texts
        if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
            values = [None if text is None else "xyz".index(text) for text in texts]
        if pa.types.is_boolean(kind):
            values = [None if value is None else bool(value) for value in values]
        plain = pa.string() if pa.types.is_dictionary(kind) else kind
        whole = pa.array(values, plain)
        made[f"c{number}"] = (whole.dictionary_encode() if plain != kind else whole).slice(skipped)
    return made


def groups_of(sizes: Sequence[int], order: Sequence[int], values: dict[str, pa.Array]) -> Groups:
    """Groups of these sizes; their records are at the places in `order`, oldest first."""
    starts = np.cumsum(sizes) - sizes
    runs = np.zeros(len(order), dtype=np.int64)
    rows = pa.RecordBatch.from_pydict(values)
    return Groups(rows, RecordLayout(()), runs, np.array(order, dtype=np.int64), starts, rises=True)


@pytest.mark.parametrize("matrix", [1, 1 << 20], ids=["a column at a time", "all columns at once"])
@settings(max_examples=examples(150), deadline=None)
@given(data=st.data(), sizes=st.lists(st.integers(1, 5), min_size=1, max_size=12))
def test_every_column_has_its_last_values(data: st.DataObject, sizes: list[int], matrix: int) -> None:
    order = data.draw(st.permutations(range(sum(sizes))))
    values = data.draw(columns(sum(sizes)))
    groups = groups_of(sizes, order, values)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(last_values, "_MATRIX_BYTES", matrix)
        last = LastValues(groups)
        found = dict(last.columns([*values]))
        sources = last.sources([*values])
    ends = np.cumsum(sizes)
    members = [order[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    assert last.newest.tolist() == [group[-1] for group in members]
    for name, column in values.items():
        expected = [
            next((column[row].as_py() for row in reversed(group) if column[row].is_valid), None)
            for group in members
        ]
        result = found.get(name, column.take(pa.array(last.newest)))
        result.validate(full=True)
        assert result.type == column.type
        assert result.to_pylist() == expected
        for group in members:
            rows = [row for row in group if column[row].is_valid]
            if len(group) > 1 and rows and column.null_count:
                assert sources[rows[-1]]


def test_columns_without_mixed_nulls_are_left_to_the_newest_record() -> None:
    values = {"full": pa.array([1, 2, 3]), "empty": pa.nulls(3, pa.int64()), "mixed": pa.array([1, None, 3])}
    assert [name for name, _ in LastValues(groups_of([2, 1], [0, 1, 2], values)).columns([*values])] == [
        "mixed"
    ]
