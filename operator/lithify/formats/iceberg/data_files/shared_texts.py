"""Text columns that repeat little in each file, but have the same texts in all of them.

Called by `reader` for the files of a task. Small files hide repetitions: of 5,000 texts, a file of 5,000 rows
has 3,000. What such files share tells that reading dictionaries and uniting them takes less than decoding all
texts and looking for repeated ones again. Reads one batch of two files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lithify.files.types import Field
from lithify.formats.iceberg.model import DataFile

LONG_CODES = 1.0
"""Ratio of code bits to those of all-distinct values above which no text is repeated in a file."""
_FEWEST_FILES = 4
"""Files of a task; with fewer, a shared text is not repeated often."""
_SHARED = 0.75
"""Ratio of the different texts of two files to the sum of those of each, below which files share texts: 0.5
if all are the same, 1 if none is."""

Batches = Callable[[DataFile, Sequence[Field]], Iterator[pa.RecordBatch]]
"""Reads columns of a file with dictionaries."""


def shared_texts(files: Sequence[DataFile], columns: Sequence[Field], batches: Batches) -> frozenset[str]:
    """The names of the columns of which the first and the last file share texts.

    Args:
        files: the files of a task, all with dictionaries for the columns.
        columns: columns of texts.
        batches: reads them.

    Raises:
        MissingFile: a file does not exist.
        CorruptTable: it cannot be read.
    """
    if len(files) < _FEWEST_FILES or not columns:
        return frozenset()
    one, other = (next(batches(file, columns), None) for file in (files[0], files[-1]))
    if one is None or other is None:
        return frozenset()
    return frozenset(
        field.name for number, field in enumerate(columns) if _share(one.column(number), other.column(number))
    )


def _share(one: pa.DictionaryArray, other: pa.DictionaryArray) -> bool:
    """Whether two columns have many texts in common, by their dictionaries."""
    texts = pa.chunked_array([one.dictionary, other.dictionary])
    return int(pc.count_distinct(texts).as_py()) <= _SHARED * len(texts)
