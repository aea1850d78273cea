"""Kernel limits of a worker process: a hostile table can exhaust only the worker that reads it.

Called by `worker`, on itself, before it imports anything large. A thread that checks memory is not enough: a
single C call that holds the interpreter lock allocates faster. Limits cannot be raised again, except that on
processor time, which is extended before each question.
"""

from __future__ import annotations

import resource
import time
from math import ceil

MOST_OPEN_FILES = 1024


def limit_process(memory_bytes: int, file_bytes: int) -> None:
    """Imposes the limits that hold as long as the process lives.

    Memory is what the kernel counts as data (RLIMIT_DATA): heap, private mappings and the stacks of threads.
    The address space is not limited: libraries reserve more of it than they use.

    Args:
        memory_bytes: beyond it the kernel refuses allocations; libraries then raise MemoryError or abort.
        file_bytes: maximum size of a file.
    """
    _lower(resource.RLIMIT_DATA, memory_bytes)
    _lower(resource.RLIMIT_FSIZE, file_bytes)
    _lower(resource.RLIMIT_NOFILE, MOST_OPEN_FILES)
    _lower(resource.RLIMIT_CORE, 0)


def allow_processor(seconds: float) -> None:
    """Has the kernel end the process (SIGXCPU) after that much more processor time of all its threads."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (_smaller(soft, hard), hard))


def _lower(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    limit = _smaller(most, hard)
    resource.setrlimit(kind, (limit, limit))


def _smaller(wanted: int, hard: int) -> int:
    """The wanted limit, or the system's if that is lower."""
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
