"""Partitions that are judged in parts, for each column, add up to what planning decides for all files."""

from __future__ import annotations

import struct
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.clock import epoch_millis
from lithify.columns.column_groups import integers, with_columns
from lithify.formats.iceberg.observing.cached_files import FILES
from lithify.formats.iceberg.observing.judging import PartitionJudge, clustered_by, judged_files
from lithify.formats.iceberg.planning.clustering import ClusterColumn
from lithify.formats.iceberg.planning.options import PlanningOptions
from lithify.formats.iceberg.planning.plan import plan_rewrites
from lithify.formats.iceberg.planning.statistics import group_statistics
from support.properties import examples

OPTIONS = PlanningOptions(
    target_size=100, min_size=75, max_size=180, max_group_size=400, min_input_files=3, overlap_threshold=3
)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SIZES = st.integers(1, 200)
RANGE = st.one_of(st.none(), st.tuples(st.integers(0, 30), st.integers(0, 10)))
ROWS = st.lists(st.tuples(st.integers(0, 3), SIZES, RANGE, RANGE), min_size=1, max_size=40)


def files_of(rows: list[tuple[int, int, tuple[int, int] | None, tuple[int, int] | None]]) -> pa.Table:
    """Data files of some partitions with ranges of two columns."""
    count = len(rows)
    values = {field.name: pa.nulls(count, field.type) for field in FILES}
    for name in ("offset", "content", "rows", "sequence", "millis", "everywhere"):
        values[name] = pa.array([1 if name == "rows" else 0] * count, FILES.field(name).type)
    values["group"] = values["partition"] = pa.array([f"p{row[0]}" for row in rows])
    values["path"] = pa.array([f"file-{number}" for number in range(count)])
    values["is_vector"] = pa.array([False] * count)
    values["size"] = pa.array([row[1] for row in rows], pa.int64())
    for column in (0, 1):
        ranges = [row[2 + column] for row in rows]
        values[f"lower_{column}"] = bounds(None if each is None else each[0] for each in ranges)
        values[f"upper_{column}"] = bounds(None if each is None else sum(each) for each in ranges)
    return pa.table([values[name] for name in FILES.names], schema=FILES)


def bounds(values: object) -> pa.Array:
    packed = [None if each is None else struct.pack("<q", each) for each in values]  # type: ignore[attr-defined]
    return pa.array(packed, pa.binary())


@settings(max_examples=examples(200))
@given(rows=ROWS, is_sorted=st.booleans())
def test_figures_of_parts_are_those_of_a_plan_for_all_files(
    rows: list[tuple[int, int, tuple[int, int] | None, tuple[int, int] | None]], is_sorted: bool
) -> None:
    columns = (ClusterColumn(1, "long", is_sorted), *([] if is_sorted else [ClusterColumn(2, "long")]))
    judge, files = PartitionJudge(OPTIONS, columns, NOW), files_of(rows)
    names = sorted({f"p{row[0]}" for row in rows})
    groups = np.array([names.index(f"p{row[0]}") for row in rows])

    parts = [judge.figures(files.filter(pa.array(groups == number))) for number in range(len(names))]
    figures = pa.concat_tables(parts)

    stored = {
        f"{side}_bounds.{each.id}": files[f"{side}_{each.id - 1}"]
        for each in columns
        for side in ("lower", "upper")
    }
    planned = plan_rewrites(
        with_columns(files, **stored), judged_files(files, groups).figures, OPTIONS, columns
    )
    chosen = clustered_by(figures, columns)
    assert (None if planned.clustering is None else planned.clustering.column) == (
        None if chosen is None else columns[chosen]
    )
    suffix = "" if chosen is None else f"_{chosen}"
    wanted = group_statistics(planned)
    for name in ("due_files", "due_bytes", "files_crowded"):
        assert integers(figures[f"{name}{suffix}"]).tolist() == integers(wanted[name]).tolist()
    assert integers(figures["small_files"]).tolist() == integers(wanted["small_files"]).tolist()


def test_groups_are_judged_again_when_small_files_have_waited_long_enough() -> None:
    now = epoch_millis(NOW)
    files = files_of([(0, 1, None, None), (0, 1, None, None), (1, 1, None, None)])
    times = pa.array([now - 4_000, now - 6_000, now - 9_000], pa.int64())
    files = with_columns(files.drop_columns(["millis"]), millis=times).select(FILES.names)
    judge = PartitionJudge(replace(OPTIONS, small_millis=5_000), (), NOW)

    figures = judge.figures(files)

    assert integers(figures["due_files"]).tolist() == [2, 0]
    assert figures["valid_until"].to_pylist() == [now + 1_000, None]
    assert PartitionJudge(OPTIONS, (), NOW).figures(files)["valid_until"].null_count == 2
