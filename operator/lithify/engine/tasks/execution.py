"""Runs the work of one task on an executor, and turns its outcome into a result.

Called by the tasks of adapters. A permanent failure (a missing or corrupt file, a full disk, a group that
nobody can commit any more) is returned as a `TaskFailure`, not raised, so that Spark does not retry; anything
else is raised and retried. Either way the files that the attempt has written are deleted.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from lithify.errors import (
    CorruptTable,
    NotAllowed,
    OutOfMemory,
    StorageError,
    TaskStopped,
    UnsupportedTable,
)
from lithify.faults import failpoint
from lithify.formats.protocol.results import TaskFailure, TaskOutputs, TaskResult


class WrittenFiles(Protocol):
    """The files that a task has written so far."""

    def delete(self) -> None:
        """Deletes all of them; suppresses errors, which would hide the original."""
        ...


Files = TypeVar("Files", bound=WrittenFiles)


def carry_out(
    write: Callable[[Files], TaskOutputs], files: Files, index: int, folder: str, attempt: int
) -> TaskResult:
    """Does the work, and deletes the new files if that fails.

    Args:
        write: does the work; returns the metadata of the new files.
        files: the files that it opens.
        index: number of the task.
        folder: where it writes, for messages.
        attempt: number of the try, from 0.
    """
    started, began = time.process_time(), time.monotonic()
    outputs = TaskOutputs()
    failure = None
    try:
        outputs = write(files)
        failpoint("file-written", attempt)
    except (CorruptTable, StorageError, OutOfMemory) as error:
        files.delete()
        failure = TaskFailure(type(error).__name__, error.path, error.problem)
    except TaskStopped as error:
        files.delete()
        failure = TaskFailure(type(error).__name__, error.path, "")
    except UnsupportedTable as error:
        files.delete()
        failure = TaskFailure(type(error).__name__, error.table, "; ".join(error.reasons))
    except NotAllowed as error:
        files.delete()
        failure = TaskFailure(type(error).__name__, error.catalog, error.problem)
    except MemoryError as error:
        files.delete()
        problem = f"merging takes more memory than there is ({error})"
        failure = TaskFailure(OutOfMemory.__name__, folder, problem)
    except BaseException:
        files.delete()
        raise
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    seconds, elapsed = time.process_time() - started, time.monotonic() - began
    return TaskResult(index, outputs, seconds, peak, attempt, failure, elapsed)
