"""Spark's own reader of Parquet reads files that consist of copied row groups or joined pages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from infrastructure.oracle.client import Oracle, Table
from support.copying import copying_from
from support.joining import joining_from
from support.runs import run_inline

pytestmark = [pytest.mark.oracle, pytest.mark.spark]

READ = """
import json, sys
from pyspark.sql import SparkSession
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
rows = session.read.parquet(sys.argv[1])
found = rows.selectExpr("count(*)", "sum(id)", "sum(length(text))", "sum(size(tags))").first()
print(json.dumps([*found, rows.where("id = 2500").count(), rows.where("id > 2990").count()]))
"""
ROWS = 3_000
SMALL_GROUPS = {"parquet.block.size": "50000", "parquet.page.size": "5000"}


@pytest.mark.parametrize("is_joined", [False, True], ids=["row groups", "pages"])
def test_spark_reads_what_was_copied(oracle: Oracle, tmp_path: Path, *, is_joined: bool) -> None:
    table = Table(tmp_path, "db.t")
    options = {"parquet.page.size": "5000"} if is_joined else SMALL_GROUPS
    columns = {"id": "BIGINT", "text": "STRING", "tags": "ARRAY<INT>"}
    oracle.create_table(table, columns, options=options)
    tags = {"kind": "nested", "items": 2, "of": {"kind": "low", "values": 9}}
    values = {"id": {"kind": "sequential"}, "text": {"kind": "random", "nulls": 0.1}, "tags": tags}
    oracle.generate(table, rows=ROWS, commits=5, seed=1, columns=values)
    with joining_from() if is_joined else copying_from(1):
        report = run_inline(table, full=False)
    assert report.copied_bytes > (0.5 if is_joined else 0.8) * report.before.bytes
    (file,) = oracle.files(table)
    path = file.path.removeprefix("file:")

    done = subprocess.run(
        [sys.executable, "-c", READ, path], capture_output=True, text=True, check=False, timeout=240
    )

    assert done.returncode == 0, done.stderr
    rows = pq.read_table(path)
    letters = pc.sum(pc.binary_length(rows["text"])).as_py()
    expected = [ROWS, ROWS * (ROWS - 1) // 2, letters, 2 * ROWS, 1, 9]
    assert json.loads(done.stdout.splitlines()[-1]) == expected
