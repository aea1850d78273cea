"""How long PyArrow alone takes to read what a compaction reads and to write what it writes.

`compaction` and `iceberg` print it beside the figures of both sides: what uses PyArrow cannot be faster.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

_PAGE_BYTES = 256 << 10
_ROWS_PER_CHECK = 32_768
_DELTA = "DELTA_BINARY_PACKED"


def coding_seconds(inputs: Sequence[str], outputs: Sequence[str], repeats: int, level: int) -> float:
    """Processor time of decoding some files and encoding others with zstd, the best of several rounds.

    Columns are read as dictionaries, and get dictionaries, where the outputs have them.
    """
    written = [_read(file, _dictionaries(file)) for file in outputs]
    best = float("inf")
    for _ in range(repeats):
        begin = time.thread_time()
        for file in inputs:
            _read(file, _dictionaries(outputs[0]))
        for file, rows in zip(outputs, written, strict=True):
            _write(file, rows, level)
        best = min(best, time.thread_time() - begin)
    return best


def _read(file: str, dictionaries: Sequence[str]) -> pa.Table:
    having = {column.path_in_schema for column in _columns(file)}
    stored = pq.ParquetFile(file, read_dictionary=[name for name in dictionaries if name in having])
    return pa.concat_tables(
        stored.read_row_group(number, use_threads=False) for number in range(stored.num_row_groups)
    )


def _write(file: str, rows: pa.Table, level: int) -> None:
    sink = pa.BufferOutputStream()
    footer = pq.read_metadata(file)
    pq.write_table(
        rows,
        sink,
        row_group_size=footer.row_group(0).num_rows,
        compression="zstd",
        compression_level=level,
        use_dictionary=_dictionaries(file),
        column_encoding=dict.fromkeys(_with_encoding(file, _DELTA), _DELTA) or None,
        data_page_size=_PAGE_BYTES,
        write_batch_size=_ROWS_PER_CHECK,
        store_schema=False,
        store_decimal_as_integer=True,
        write_page_index=True,
    )


def _dictionaries(file: str) -> list[str]:
    """The columns that the file stores with dictionaries."""
    return [column.path_in_schema for column in _columns(file) if column.has_dictionary_page]


def _with_encoding(file: str, encoding: str) -> list[str]:
    return [column.path_in_schema for column in _columns(file) if encoding in column.encodings]


def _columns(file: str) -> Iterator[pq.ColumnChunkMetaData]:
    group = pq.read_metadata(file).row_group(0)
    return (group.column(number) for number in range(group.num_columns))
