"""How long PyArrow alone takes to read what a compaction reads and to write what it writes.

`compaction` prints it beside the figures of both sides: a compaction that uses PyArrow cannot be faster.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from infrastructure.oracle.model import DataFile

_PAGE_BYTES = 256 << 10
_ROWS_PER_CHECK = 32_768


def coding_seconds(inputs: Sequence[DataFile], outputs: Sequence[DataFile], repeats: int) -> float:
    """Processor time of decoding some files and encoding others, the best of several rounds.

    Columns are read as dictionaries, and get dictionaries, where the outputs have them.
    """
    written = [_read(file, _dictionaries(file)) for file in outputs]
    best = float("inf")
    for _ in range(repeats):
        begin = time.thread_time()
        for file in inputs:
            _read(file, _dictionaries(outputs[0]))
        for file, rows in zip(outputs, written, strict=True):
            _write(file, rows)
        best = min(best, time.thread_time() - begin)
    return best


def _read(file: DataFile, dictionaries: Sequence[str]) -> pa.Table:
    stored = pq.ParquetFile(file.path, read_dictionary=dictionaries)
    return pa.concat_tables(
        stored.read_row_group(number, use_threads=False) for number in range(stored.num_row_groups)
    )


def _write(file: DataFile, rows: pa.Table) -> None:
    sink = pa.BufferOutputStream()
    footer = pq.read_metadata(file.path)
    pq.write_table(
        rows,
        sink,
        row_group_size=footer.row_group(0).num_rows,
        compression="zstd",
        compression_level=1,
        use_dictionary=_dictionaries(file),
        data_page_size=_PAGE_BYTES,
        write_batch_size=_ROWS_PER_CHECK,
        store_schema=False,
        store_decimal_as_integer=True,
        write_page_index=True,
    )


def _dictionaries(file: DataFile) -> list[str]:
    """The columns that the file stores with dictionaries."""
    group = pq.read_metadata(file.path).row_group(0)
    columns = (group.column(number) for number in range(group.num_columns))
    return [column.path_in_schema for column in columns if column.has_dictionary_page]
