"""A problem of one bucket is reported for that bucket; the plan of the others stays the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest

from lithify.clock import SystemClock
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.job.blocks import error_of
from lithify.planning.merge_tree.policy import Strategy
from lithify.tables.format import Selection, TableAddress
from lithify.tables.paimon.catalog.opening import open_table
from lithify.tables.paimon.metadata.binary_row import encode_row
from lithify.tables.paimon.metadata.entry_columns import NARROW
from lithify.tables.paimon.metadata.view import View, by_bucket
from lithify.tables.paimon.primary_key.planning import plan_run
from lithify.tables.paimon.table import PaimonTable
from support.cases import case
from unit.job.orders import BUCKETS

BAD = BUCKETS[1]
Damage = Callable[[PaimonTable, pl.DataFrame], pl.DataFrame]


def null_bound(table: PaimonTable, files: pl.DataFrame) -> pl.DataFrame:
    types = table.schema.key_types
    return files.with_columns(max_key=pl.lit(encode_row([None] * len(types), types)))


def cut_bound(table: PaimonTable, files: pl.DataFrame) -> pl.DataFrame:
    del table
    return files.with_columns(pl.col("min_key").bin.slice(0, 9))


def upgraded(table: PaimonTable, files: pl.DataFrame) -> pl.DataFrame:
    """All files of the bucket in one level, although they overlap."""
    del table
    return files.with_columns(level=pl.lit(4, pl.Int32))


def indexed(table: PaimonTable, files: pl.DataFrame) -> pl.DataFrame:
    del table
    return files.with_columns(embedded_index=pl.lit(b"index"))


def of_a_lost_schema(table: PaimonTable, files: pl.DataFrame) -> pl.DataFrame:
    del table
    return files.with_columns(schema_id=pl.lit(77, pl.Int64))


def damaged(table: PaimonTable, damage: Damage) -> View:
    view = table.view(Selection())
    assert view is not None
    frames = {bucket.path: view.files.slice(*view.spans[bucket]) for bucket in view.bucket_ids}
    frames[BAD] = damage(table, frames[BAD])
    files, spans = by_bucket(pl.concat(frames.values()).select(NARROW.names()), table.bucket_id)
    return replace(view, files=files, spans=spans)


DAMAGES = [
    case(null_bound, CorruptTable, "column order_id", id="a bound that is null"),
    case(cut_bound, CorruptTable, "bounds", id="a bound that is cut off"),
    case(upgraded, CorruptTable, "level 4", id="overlap in a level"),
    case(indexed, UnsupportedTable, "file index", id="a file that would lose its index"),
    case(of_a_lost_schema, CorruptTable, "schema 77", id="a schema that is gone"),
]


@pytest.mark.parametrize(("damage", "error", "word"), DAMAGES)
def test_one_bucket_is_blocked_and_the_others_are_planned(
    made: TableAddress, damage: Damage, error: type[Exception], word: str
) -> None:
    table = open_table(made)
    view = damaged(table, damage)

    plan = plan_run(table, view, Strategy.FULL, SystemClock())

    assert [str(unit.bucket) for unit in plan.units] == [path for path in BUCKETS if path != BAD]
    (block,) = plan.blocks
    assert block.bucket.path == block.told.bucket == BAD
    assert isinstance(block.error, error)
    assert word in block.told.problem
    assert "manifest" not in block.told.problem.split(":")[0]
    said = str(error_of(table.name, plan.blocks))
    assert [part for part in (table.name, BAD, word) if part not in said] == []
    assert block.told.fingerprint == view.fingerprint(block.bucket)


@pytest.mark.parametrize(("damage", "error", "word"), DAMAGES)
def test_the_same_files_are_not_tried_twice_and_others_are(
    made: TableAddress, damage: Damage, error: type[Exception], word: str
) -> None:
    del error, word
    table = open_table(made)
    view = damaged(table, damage)
    blocked = plan_run(table, view, Strategy.FULL, SystemClock()).blocked
    held = {each.bucket: each.fingerprint for each in blocked}

    again = plan_run(table, view, Strategy.FULL, SystemClock(), held)
    assert ([bucket.path for bucket in again.held], again.blocks) == ([BAD], ())

    other = plan_run(table, view, Strategy.FULL, SystemClock(), {BAD: "another one"})
    assert (other.held, other.blocked) == ((), blocked)


def test_what_concerns_all_buckets_is_an_error_of_the_table(made: TableAddress) -> None:
    table = open_table(made)
    view = table.view(Selection())
    assert view is not None
    with pytest.raises(UnsupportedTable):
        plan_run(
            table,
            replace(view, index_types=frozenset({"DELETION_VECTORS"})),
            Strategy.FULL,
            SystemClock(),
        )
