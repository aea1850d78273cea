"""A process that is asked to stop while its main thread blocks, and that does not notice by itself.

`python -m support.stopping signal` waits for ever in one read. When it does, another of its threads gets
SIGTERM. For the interpreter that is the same as a signal that comes just before the read begins: its flag is
set, and no call is interrupted. `finalizer` gets the signal in a finalizer, which swallows what is raised.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from threading import Thread, get_ident, get_native_id
from time import sleep
from weakref import finalize

from lithify.engine.application.progress import DriveObserver
from lithify.engine.application.stopping import STOPPED, Stopped, StopSignal

_POLL_SECONDS = 0.01


def signalled_while_it_reads() -> None:
    """Returns if the read ends."""
    reader, _ = os.pipe()
    Thread(target=_signal_self, args=(get_native_id(), reader), daemon=True).start()
    os.read(reader, 1)


def _signal_self(main: int, reader: int) -> None:
    """Sends this thread the signal, once the kernel says that the main thread blocks in its read."""
    number = Path("/proc/thread-self/syscall").read_text().split()[0]  # the number of read, which asks here
    while Path(f"/proc/self/task/{main}/syscall").read_text().split()[:2] != [number, hex(reader)]:
        sleep(_POLL_SECONDS)
    signal.pthread_kill(get_ident(), signal.SIGTERM)


class _Object:
    """Something whose finalizer runs where its last reference goes."""


def signalled_in_a_finalizer(stop: StopSignal) -> None:
    """Returns if the work goes on to its commit."""
    observer = DriveObserver(lambda _: None, stop)
    last = _Object()
    finalize(last, signal.raise_signal, signal.SIGTERM)
    sys.unraisablehook = lambda _: None
    del last
    assert stop.requested
    observer.committing()


def main(kind: str) -> int:
    stop = StopSignal()
    try:
        with stop.listening():
            signalled_while_it_reads() if kind == "signal" else signalled_in_a_finalizer(stop)
    except Stopped:
        return STOPPED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
