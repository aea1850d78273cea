"""What a format's readers share: errors that name the file, and batches of the wanted size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

from lithify.errors import CorruptTable, MissingFile, OutOfMemory, StorageError
from lithify.rewriting.offsets import MOST_BYTES


@contextmanager
def reading(path: str, kind: str) -> Iterator[None]:
    """Names the file when it cannot be read as what it is said to be, for example `Parquet`."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    except MemoryError as error:
        raise OutOfMemory(path, f"reading it takes more memory than there is ({error})") from error
    except (pa.ArrowException, OSError, EOFError, LookupError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise StorageError(path, error.strerror or str(error)) from error
        raise CorruptTable(path, f"it cannot be read as {kind} ({error})") from error


def gathered(batches: Iterable[pa.RecordBatch], enough: int) -> Iterator[pa.RecordBatch]:
    """Puts batches together until they have so many bytes; those that have are left as they are."""
    pending: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if pending and size + batch.nbytes > MOST_BYTES:
            yield pa.concat_batches(pending)
            pending, size = [], 0
        pending.append(batch)
        size += batch.nbytes
        if size >= enough:
            yield pa.concat_batches(pending) if len(pending) > 1 else batch
            pending, size = [], 0
    if pending:
        yield pa.concat_batches(pending)


def told_by_bounds(least: int, largest: int, values: Collection[int]) -> bool | None:
    """Whether a column has any of some values, where its least and largest value tell; else None."""
    if least in values or largest in values:
        return True
    return None if any(least < value < largest for value in values) else False


def has_any(batches: Iterable[pa.RecordBatch], values: Collection[int]) -> bool:
    """Whether the only column of some batches has any of some values."""
    return any(
        pc.any(pc.is_in(batch.column(0), pa.array(values, batch.column(0).type))).as_py() for batch in batches
    )
