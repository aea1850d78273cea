"""Spark's own reader of Parquet reads files that consist of copied row groups or joined pages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from infrastructure.oracle.client import Oracle
from support.copied_file import ROWS, copied_file

pytestmark = [pytest.mark.oracle, pytest.mark.spark]

READ = """
import json, sys
from pyspark.sql import SparkSession
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
rows = session.read.parquet(sys.argv[1])
found = rows.selectExpr("count(*)", "sum(id)", "sum(length(text))", "sum(size(tags))").first()
print(json.dumps([*found, rows.where("id = 2500").count(), rows.where("id > 2990").count()]))
"""


@pytest.mark.parametrize("is_joined", [False, True], ids=["row groups", "pages"])
def test_spark_reads_what_was_copied(oracle: Oracle, tmp_path: Path, *, is_joined: bool) -> None:
    path = str(copied_file(oracle, tmp_path, is_joined=is_joined))

    done = subprocess.run(
        [sys.executable, "-c", READ, path], capture_output=True, text=True, check=False, timeout=240
    )

    assert done.returncode == 0, done.stderr
    rows = pq.read_table(path)
    letters = pc.sum(pc.binary_length(rows["text"])).as_py()
    expected = [ROWS, ROWS * (ROWS - 1) // 2, letters, 2 * ROWS, 1, 9]
    assert json.loads(done.stdout.splitlines()[-1]) == expected
