"""A task in a process of its own, which prints by how many bytes its memory has grown: `python measured.py`.

The task comes pickled on standard input. The first task of the process rewrites one small file, so that
libraries are loaded and their pools are warm before memory is measured.
"""

from __future__ import annotations

import json
import pickle
import resource
import sys

import pyarrow as pa

from lithify.clock import SystemClock


def main() -> None:
    """Runs a small task, then the measured one."""
    pa.set_cpu_count(1)
    pa.set_memory_pool(pa.system_memory_pool())
    small, task = pickle.load(sys.stdin.buffer)  # by the test
    small.run(SystemClock())
    before = _peak()
    result = task.run(SystemClock())
    if result.failure is not None:
        raise result.failure.as_error()
    rows = sum(file.rows for file in result.outputs.data)
    print(json.dumps({"grown_by": _peak() - before, "rows": rows}))


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
