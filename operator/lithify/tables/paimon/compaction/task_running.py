"""Runs the work of one task on an executor, and turns its outcome into a result.

Called by every kind of task. A permanent failure (a missing or corrupt file, a full disk) is returned as a
`TaskFailure`, not raised, so that Spark does not retry; anything else is raised and retried. Either way the
files that the attempt has written are deleted.
"""

from __future__ import annotations

import resource
import time
from typing import Protocol

from lithify.errors import CorruptTable, NotAllowed, OutOfMemory, StorageError, UnsupportedTable
from lithify.faults import reach
from lithify.tables.format import TaskFailure, TaskOutputs, TaskResult


class Work(Protocol):
    """What a task does."""

    def run(self) -> TaskOutputs:
        """Reads and writes; returns the metadata of the new files."""
        ...

    def delete_files(self) -> None:
        """Deletes all written files; suppresses errors, which would hide the original one."""
        ...


def carry_out(work: Work, index: int, folder: str, attempt: int) -> TaskResult:
    """Does the work, and cleans up after it if that fails.

    Args:
        work: the work.
        index: number of the task.
        folder: where it writes, for messages.
        attempt: number of the try, from 0.
    """
    started, began = time.process_time(), time.monotonic()
    outputs = TaskOutputs()
    failure = None
    try:
        outputs = work.run()
        reach("file-written", attempt)
    except (CorruptTable, StorageError, OutOfMemory) as error:
        work.delete_files()
        failure = TaskFailure(type(error).__name__, error.path, error.problem)
    except UnsupportedTable as error:
        work.delete_files()
        failure = TaskFailure(type(error).__name__, error.table, "; ".join(error.reasons))
    except NotAllowed as error:
        work.delete_files()
        failure = TaskFailure(type(error).__name__, error.catalog, error.problem)
    except MemoryError as error:
        work.delete_files()
        problem = f"merging takes more memory than there is ({error})"
        failure = TaskFailure(OutOfMemory.__name__, folder, problem)
    except BaseException:
        work.delete_files()
        raise
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    seconds, elapsed = time.process_time() - started, time.monotonic() - began
    return TaskResult(index, outputs, seconds, peak, attempt, failure, elapsed)
