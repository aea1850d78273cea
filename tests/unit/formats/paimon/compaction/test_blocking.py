"""A problem of one bucket is reported for that bucket; the plan of the others stays the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lithify.clock import SystemClock
from lithify.columns.column_groups import with_columns
from lithify.engine.run.blocks import error_of
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.formats.paimon.compaction.planning import BucketPlanner
from lithify.formats.paimon.manifests.entry_columns import NARROW
from lithify.formats.paimon.manifests.index_manifests import Indexes
from lithify.formats.paimon.manifests.view import View, by_bucket
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.primary_key.planning import plan_run
from lithify.formats.paimon.rows.binary_row import encode_row
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.orders_table import BUCKETS

BAD = BUCKETS[1]
Damage = Callable[[PaimonTable, pa.Table], pa.Table]


def null_bound(table: PaimonTable, files: pa.Table) -> pa.Table:
    types = table.schema.key_types
    return with_columns(files, max_key=[encode_row([None] * len(types), types)] * len(files))


def cut_bound(table: PaimonTable, files: pa.Table) -> pa.Table:
    del table
    return with_columns(files, min_key=pc.binary_slice(files["min_key"], 0, 9))


def upgraded(table: PaimonTable, files: pa.Table) -> pa.Table:
    """All files of the bucket in one level, although they overlap."""
    del table
    return with_columns(files, level=pa.array([4] * len(files), pa.int32()))


def with_others_beside(table: PaimonTable, files: pa.Table) -> pa.Table:
    del table
    beside = pa.array([["a.changelog"]] * len(files), pa.list_(pa.string()))
    return with_columns(files, extra_files=beside)


def of_a_lost_schema(table: PaimonTable, files: pa.Table) -> pa.Table:
    del table
    return with_columns(files, schema_id=[77] * len(files))


def damaged(table: PaimonTable, damage: Damage) -> View:
    view = table.view(Selection())
    assert view is not None
    frames = {bucket.path: view.files.slice(*view.spans[bucket]) for bucket in view.bucket_ids}
    frames[BAD] = damage(table, frames[BAD])
    files, spans = by_bucket(pa.concat_tables(frames.values()).select(NARROW.names), table.bucket_id)
    return replace(view, files=files, spans=spans)


DAMAGES = [
    case(null_bound, CorruptTable, "column order_id", id="a bound that is null"),
    case(cut_bound, CorruptTable, "bounds", id="a bound that is cut off"),
    case(upgraded, CorruptTable, "level 4", id="overlap in a level"),
    case(with_others_beside, UnsupportedTable, "beside it", id="a file with one beside it"),
    case(of_a_lost_schema, CorruptTable, "schema 77", id="a schema that is gone"),
]


@pytest.mark.parametrize(("damage", "error", "word"), DAMAGES)
def test_one_bucket_is_blocked_and_the_others_are_planned(
    made: TableAddress, damage: Damage, error: type[Exception], word: str
) -> None:
    table = open_table(made)
    view = damaged(table, damage)

    plan = plan_run(BucketPlanner(table, view, Strategy.FULL, SystemClock()))

    assert [str(unit.bucket) for unit in plan.units] == [path for path in BUCKETS if path != BAD]
    (block,) = plan.blocks
    assert block.group.path == block.told.group == BAD
    assert isinstance(block.error, error)
    assert word in block.told.problem
    assert "manifest" not in block.told.problem.split(":")[0]
    said = str(error_of(table.name, plan.blocks))
    assert [part for part in (table.name, BAD, word) if part not in said] == []
    assert block.told.fingerprint == view.fingerprint(block.group)


@pytest.mark.parametrize(("damage", "error", "word"), DAMAGES)
def test_the_same_files_are_not_tried_twice_and_others_are(
    made: TableAddress, damage: Damage, error: type[Exception], word: str
) -> None:
    del error, word
    table = open_table(made)
    view = damaged(table, damage)
    told = [block.told for block in plan_run(BucketPlanner(table, view, Strategy.FULL, SystemClock())).blocks]
    held = {each.group: each.fingerprint for each in told}

    again = plan_run(BucketPlanner(table, view, Strategy.FULL, SystemClock(), held))
    assert ([bucket.path for bucket in again.held], again.blocks) == ([BAD], ())

    other = plan_run(BucketPlanner(table, view, Strategy.FULL, SystemClock(), {BAD: "another one"}))
    assert (other.held, [block.told for block in other.blocks]) == ((), told)


def test_what_concerns_all_buckets_is_an_error_of_the_table(made: TableAddress) -> None:
    table = open_table(made)
    view = table.view(Selection())
    assert view is not None
    with pytest.raises(UnsupportedTable):
        BucketPlanner(
            table,
            replace(view, indexes=Indexes(frozenset({"DELETION_VECTORS"}), {})),
            Strategy.FULL,
            SystemClock(),
        )
