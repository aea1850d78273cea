"""Compacts a table of one large run and few new keys with both sides, and joins row groups of several sizes.

The first shows what copying saves in a compaction, the second from which size of a row group it pays: files
of many row groups are joined by copying and by decoding and encoding, and the results are read.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from against_java.page import ON_ONE_CORE, markdown
from against_java.race import best_line, copied_line, head, output_lines, race, rounds_line, scan
from against_java.table import LAYOUTS
from infrastructure.oracle.client import Oracle, Table
from lithify.engine.rewrite.budget import Budget
from lithify.files.parquet.copying.copier import RowGroupCopier
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.formats.protocol.tasks import Sizing
from support.runs import run_inline

ROWS = 2_000_000
_SHARE = 30
"""New keys are in one thirtieth of the key range, which is one or two of its row groups."""
_SIZING = Sizing(budget=Budget(32 << 20))
"""A small budget makes small row groups: a table of a few hundred MiB has as many as one of 10 GB."""
_GROUP_ROWS = (500, 2_000, 8_000, 32_000, 128_000)
_OPTIONS = {"bucket": "1", "write-buffer-size": "2 gb", "target-file-size": "1 gb"}


def compare(rows: int | None, repeats: int) -> str:
    """The figures, in Markdown."""
    with (
        tempfile.TemporaryDirectory(prefix="lithify-bench-") as folder,
        Oracle.start(heap="6g", jvm_args=ON_ONE_CORE) as oracle,
    ):
        table = _make(oracle, Path(folder) / "original", rows or ROWS)
        compacted = _compacted(oracle, table, Path(folder), repeats)
        (file,) = (file for file in oracle.files(table) if file.level > 0)
        return f"{compacted}\n\n{_joined(Path(file.path), Path(folder), repeats)}"


def _make(oracle: Oracle, warehouse: Path, rows: int) -> Table:
    """One run at the top level, written by us, and two of new keys at level 0."""
    table, layout = Table(warehouse, "shop.bench"), LAYOUTS["orders"]
    oracle.create_table(table, layout.columns, primary_key=["order_id"], options=_OPTIONS)
    print(f"writing {rows:,} rows", file=sys.stderr)
    oracle.generate(table, rows=rows, seed=1, columns=layout.values, key={"mode": "sequential"})
    oracle.generate(table, rows=1000, seed=2, columns=layout.values, key={"mode": "uniform", "range": rows})
    run_inline(table, sizing=_SIZING)
    key = {"mode": "uniform", "range": rows // _SHARE, "start": rows // 2}
    oracle.generate(
        table, rows=rows // 200, commits=2, seed=3, columns=layout.values, key=key, delete_ratio=0.05
    )
    return table


def _compacted(oracle: Oracle, table: Table, folder: Path, repeats: int) -> str:
    done = race(oracle, table, folder, full=True, repeats=repeats, sizing=_SIZING)
    java, ours, report = done.java, done.ours, done.report
    scan(oracle, java, ours)
    lines = [
        head(java, ours),
        best_line(f"rewriting, best of {repeats}", java.best, ours.best),
        rounds_line("rewriting, all rounds", java, ours),
        copied_line(report),
        *output_lines(java, ours),
    ]
    return f"{report.before.rows:,} rows become {report.after.rows:,} rows.\n\n{markdown(lines)}"


def _joined(file: Path, folder: Path, repeats: int) -> str:
    """Joins the rows of a file, in row groups of several sizes, in both ways."""
    rows = pq.read_table(file).slice(0, 1 << 20)
    lines = [
        (
            "rows of a row group",
            "bytes of one",
            "copied",
            "decoded and encoded",
            "copied result read in",
            "size",
        )
    ]
    lines += [_line(rows, count, folder, repeats) for count in _GROUP_ROWS]
    return f"{rows.num_rows:,} rows in one file:\n\n{markdown(lines)}"


def _line(rows: pa.Table, count: int, folder: Path, repeats: int) -> tuple[str, ...]:
    """The figures of row groups of `count` rows."""
    small, one, other = (folder / f"{name}.parquet" for name in ("small", "copied", "encoded"))
    _write(small, [rows.slice(start, count) for start in range(0, rows.num_rows, count)])
    copied = _best(lambda: _copy(small, one), repeats)
    encoded = _best(lambda: _write(other, pq.ParquetFile(small).iter_batches(1 << 17)), repeats)
    read, read_other = (_best(partial(pq.read_table, path), repeats) for path in (one, other))
    return (
        f"{count:,}",
        f"{one.stat().st_size * count // rows.num_rows >> 10:,} KiB",
        f"{copied:.3f} s",
        f"{encoded:.2f} s ({encoded / copied:.1f} times)",
        f"{read:.2f} s ({read / read_other:.2f})",
        f"{one.stat().st_size / other.stat().st_size:.2f}",
    )


def _write(path: Path, parts: Iterator[pa.RecordBatch] | list[pa.Table]) -> None:
    writer: pq.ParquetWriter | None = None
    for part in parts:
        table = pa.Table.from_batches([part]) if isinstance(part, pa.RecordBatch) else part
        writer = writer or pq.ParquetWriter(
            path, table.schema, compression="zstd", compression_level=1, write_page_index=True
        )
        writer.write_table(table, row_group_size=table.num_rows)
    if writer is not None:
        writer.close()


def _copy(source: Path, path: Path) -> None:
    with pa.OSFile(str(source)) as stream, pa.OSFile(str(path), "wb") as sink:
        opened = RowGroupSource(stream, str(source))
        copier = RowGroupCopier(sink, opened)
        copier.append(opened)
        copier.finish()


def _best(work: Callable[[], object], repeats: int) -> float:
    taken = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return min(taken)
