"""Decodes ORC files with PyArrow, which damaged ones may end: run in another process (`isolated_reading`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow.dataset import OrcFileFormat

from lithify.files.orc.zstd_streams import CheckedFile


def decoded(source: pa.NativeFile, arguments: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """Reads the columns `names` in batches of `rows` rows, without read-ahead or threads.

    The chunks of `streams`, if any, are checked.
    """
    if arguments["streams"]:
        checked = CheckedFile(source, arguments["streams"], arguments["block_size"])
        source = pa.PythonFile(checked, mode="r")
    batches: Iterator[pa.RecordBatch] = (
        OrcFileFormat()
        .make_fragment(source)
        .to_batches(
            columns=arguments["names"],
            batch_size=arguments["rows"],
            batch_readahead=0,
            fragment_readahead=0,
            use_threads=False,
        )
    )
    return batches
