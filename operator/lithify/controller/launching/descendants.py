"""The processes of this machine that belong to one driver: itself, Spark's JVM, and Python workers.

Used by `process`. Spark puts its Python workers into a process group of their own, and a JVM outlives a
killed driver, so neither group nor parent identify a driver's processes. All inherit its environment, which
holds a mark that is unique to the driver; a process that got a reused process id lacks that mark.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

MARK_VARIABLE = "LITHIFY_DRIVER"
"""The environment variable of a driver process that holds its uid."""
_PROC = Path("/proc")


def descendants(uid: str) -> list[int]:
    """Returns the ids of a driver's processes that have not ended (zombies have)."""
    pids = (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())
    return [pid for pid in pids if _is_marked(pid, uid)]


def send_to_descendants(uid: str, number: signal.Signals) -> None:
    """Sends a signal to all processes of a driver, also to those that they start concurrently."""
    reached: set[int] = set()
    while found := set(descendants(uid)) - reached:
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                process = os.pidfd_open(pid)
                try:
                    # Opened first: the environment is then that of the process that gets the signal.
                    if _is_marked(pid, uid):
                        signal.pidfd_send_signal(process, number)
                finally:
                    os.close(process)
        reached |= found


def _is_marked(pid: int, uid: str) -> bool:
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False  # it has ended, or is another user's
    return f"{MARK_VARIABLE}={uid}".encode() in environment.split(b"\0")
