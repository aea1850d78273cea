"""The request to stop an attempt: it ends the attempt at once, but not in the middle of a commit.

Signals of the process and the operator's marks on single runs of a shared driver end here. Used by everything
in this package that begins or commits work.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread, get_ident
from time import sleep

STOPPED = 128 + signal.SIGTERM
"""Exit code of a process that was asked to stop before it had committed anything."""
_AGAIN_SECONDS = 0.1


class Stopped(BaseException):
    """The attempt was asked to stop. Not an `Exception`, so that no handler of errors catches it."""


class StopSignal:
    """The request to stop. It ends an attempt at once, but a step that is being committed ends first.

    Attributes:
        requested: the current attempt is to end.
        is_final: the whole driver is to end.
    """

    def __init__(self) -> None:
        self.requested = False
        self.is_final = False
        self._is_shielded = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handles SIGTERM from here on, whatever the main thread does; must be entered there.

        Python runs handlers in the main thread, between two of its own instructions. A signal that comes just
        before a call that blocks, or that another thread gets, does not end that call. So a thread, which the
        interpreter tells of every signal, interrupts the main thread until the handler has run.
        """
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        waker = Thread(target=self._wake, args=(reader, get_ident()), name="stop", daemon=True)
        waker.start()
        before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        try:
            signal.signal(signal.SIGTERM, self.handle)
            yield
        finally:
            signal.set_wakeup_fd(before)
            os.close(writer)
            waker.join()
            os.close(reader)

    def _wake(self, reader: int, main: int) -> None:
        """Interrupts a thread while SIGTERM waits for its handler; returns when the pipe is closed."""
        while numbers := os.read(reader, 64):
            while signal.SIGTERM in numbers and not self.is_final:
                sleep(_AGAIN_SECONDS)  # the handler is usually about to run
                if not self.is_final:
                    signal.pthread_kill(main, signal.SIGTERM)

    def handle(self, *_: object) -> None:
        """The handler of a signal."""
        self.is_final = True
        self.end_attempt()

    def end_attempt(self) -> None:
        """Ends the attempt that is under way; of those that share a driver, the others go on."""
        is_first, self.requested = not self.requested, True
        if is_first and not self._is_shielded:
            raise Stopped

    def check(self) -> None:
        """Ends the attempt if it should have ended: what a handler raises in a finalizer is lost."""
        if self.requested and not self._is_shielded:
            raise Stopped

    def shield(self) -> None:
        """From here on, a stop request is deferred."""
        self._is_shielded = True

    def unshield(self) -> None:
        """Ends the attempt if a stop request was deferred."""
        self._is_shielded = False
        self.check()

    def renew(self) -> None:
        """Discards a request to end an attempt, before the next one begins in the same driver."""
        self.requested, self._is_shielded = self.is_final, False
        self.check()
