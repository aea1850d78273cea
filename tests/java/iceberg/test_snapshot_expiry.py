"""Snapshots of tables that Spark made expire: the same snapshots and files go as with Java."""

from __future__ import annotations

import pytest

from infrastructure.iceberg.tables import SparkTable
from support.iceberg_expiry import answers, expire_both, space_out

ALL_BUT_ONE = {"history.expire.max-snapshot-age-ms": "1"}


def kept(table: SparkTable) -> set[str]:
    return {name for name in answers(table) if name.startswith("snapshot")}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_old_snapshots_go_with_their_files(sql_table: SparkTable, version: int) -> None:
    table = sql_table.create(version, properties=ALL_BUT_ONE).append_many(3, 20)
    if version > 1:
        table.delete("id % 10 = 3")
    table.spark.rewrite(table.name, {"rewrite-all": "true"})
    space_out(table)
    before = answers(table)

    both = expire_both(table)

    assert both.by_short_cut <= both.gone == both.by_java
    assert both.done.figures["snapshots"] == len(before) - 2
    after = answers(table)
    assert after == {name: before[name] for name in after}
