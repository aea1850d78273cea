"""An append table whose only file consists of copied row groups or of joined pages, for other readers."""

from __future__ import annotations

from pathlib import Path

from infrastructure.oracle.client import Oracle, Table
from support.copying import copying_from
from support.joining import joining_from
from support.runs import run_inline

ROWS = 3_000
"""Number of rows; `id` counts them."""
_SMALL_GROUPS = {"parquet.block.size": "50000", "parquet.page.size": "5000"}


def copied_file(oracle: Oracle, folder: Path, *, is_joined: bool) -> Path:
    """The file, with the columns `id` (BIGINT), `text` (STRING, some null) and `tags` (two INTs each)."""
    table = Table(folder, "db.t")
    options = {"parquet.page.size": "5000"} if is_joined else _SMALL_GROUPS
    columns = {"id": "BIGINT", "text": "STRING", "tags": "ARRAY<INT>"}
    oracle.create_table(table, columns, options=options)
    tags = {"kind": "nested", "items": 2, "of": {"kind": "low", "values": 9}}
    values = {"id": {"kind": "sequential"}, "text": {"kind": "random", "nulls": 0.1}, "tags": tags}
    oracle.generate(table, rows=ROWS, commits=5, seed=1, columns=values)
    with joining_from() if is_joined else copying_from(1):
        report = run_inline(table, full=False)
    assert report.copied_bytes > (0.5 if is_joined else 0.8) * report.before.bytes
    (file,) = oracle.files(table)
    return Path(file.path.removeprefix("file:"))
