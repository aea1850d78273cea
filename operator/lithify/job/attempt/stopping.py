"""The request to stop an attempt: it ends the attempt at once, but not in the middle of a commit.

Signals of the process and the operator's marks on single runs of a shared driver end here. Used by everything
in this package that begins or commits work.
"""

from __future__ import annotations

import signal

STOPPED = 128 + signal.SIGTERM
"""Exit code of a process that was asked to stop before it had committed anything."""


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

    def handle(self, *_: object) -> None:
        """The handler of a signal."""
        self.is_final = True
        self.end_attempt()

    def end_attempt(self) -> None:
        """Ends the attempt that is under way; of those that share a driver, the others go on."""
        is_first, self.requested = not self.requested, True
        if is_first and not self._is_shielded:
            raise Stopped

    def shield(self) -> None:
        """From here on, a stop request is deferred."""
        self._is_shielded = True

    def unshield(self) -> None:
        """Ends the attempt if a stop request was deferred."""
        was_shielded, self._is_shielded = self._is_shielded, False
        if was_shielded and self.requested:
            raise Stopped

    def renew(self) -> None:
        """Forgets that an attempt was to end, before the next one begins in the same driver."""
        self.requested, self._is_shielded = self.is_final, False
        if self.requested:
            raise Stopped
