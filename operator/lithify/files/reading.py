"""Shared by the readers of all formats: errors that name the file, and batches of a requested size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.offsets import MOST_BYTES
from lithify.errors import CorruptTable, MissingFile, OutOfMemory, StorageError


@contextmanager
def reading(path: str, kind: str) -> Iterator[None]:
    """Turns errors into ones that name the file and its expected format, for example `Parquet`.

    Raises:
        MissingFile: the file does not exist.
        OutOfMemory: reading takes more memory than there is.
        StorageError: the file system refuses.
        CorruptTable: the file is not of the format, or is damaged.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    except MemoryError as error:
        raise OutOfMemory(path, f"reading it takes more memory than there is ({error})") from error
    except (pa.ArrowException, OSError, EOFError, LookupError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise StorageError(path, error.strerror or str(error)) from error
        raise CorruptTable(path, f"it cannot be read as {kind} ({error})") from error


def gathered(batches: Iterable[pa.RecordBatch], enough: int) -> Iterator[pa.RecordBatch]:
    """Combines small batches up to a number of bytes; larger ones pass unchanged."""
    pending: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        bytes_held = batch.nbytes
        if pending and size + bytes_held > MOST_BYTES:
            yield pa.concat_batches(pending)
            pending, size = [], 0
        pending.append(batch)
        size += bytes_held
        if size >= enough:
            yield pa.concat_batches(pending) if len(pending) > 1 else batch
            pending, size = [], 0
    if pending:
        yield pa.concat_batches(pending)


def told_by_bounds(least: int, largest: int, values: Collection[int]) -> bool | None:
    """Whether a column has any of the values, if its minimum and maximum decide that; else None."""
    if least in values or largest in values:
        return True
    return None if any(least < value < largest for value in values) else False


def has_any(batches: Iterable[pa.RecordBatch], values: Collection[int]) -> bool:
    """Whether the single column of the batches has any of the values."""
    return any(
        pc.any(pc.is_in(batch.column(0), pa.array(values, batch.column(0).type))).as_py() for batch in batches
    )
