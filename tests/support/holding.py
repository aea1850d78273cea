"""Holds processes at one of Lithify's fault points: `support.runs` and `support.operators.holds` use it.

The other side of the pipes is `lithify.faults`. Several processes may come to the point at once.
"""

from __future__ import annotations

import errno
import os
import select
from pathlib import Path
from time import monotonic, sleep

_PATIENCE = 240.0
_POLL_SECONDS = 0.02


class Hold:
    """One armed point."""

    def __init__(self, path: Path) -> None:
        self._reached = path.with_name(f"{path.name}.reached")
        self._go = path.with_name(f"{path.name}.go")
        self._others = 0

    def arm(self) -> None:
        """From now on processes are held here."""
        for pipe in (self._go, self._reached):
            os.mkfifo(pipe)
            pipe.chmod(0o666)  # a driver may be another user

    def disarm(self) -> None:
        """From now on processes pass."""
        self._reached.unlink(missing_ok=True)
        self._go.unlink(missing_ok=True)

    def reached(self, seconds: float = _PATIENCE) -> None:
        """Returns when a process is at the point.

        Raises:
            AssertionError: none has come in time.
        """
        if self._others:
            self._others -= 1
            return
        deadline = monotonic() + seconds
        while not self._is_reached(max(0.0, deadline - monotonic())):
            assert monotonic() < deadline, f"no process has reached {self._reached.stem} in {seconds:g} s"
            sleep(_POLL_SECONDS)

    def _is_reached(self, seconds: float) -> bool:
        """Whether a process comes; not if one is killed just as it wants to say so.

        Several that come at once are read together.
        """
        pipe = os.open(self._reached, os.O_RDONLY | os.O_NONBLOCK)
        try:
            poll = select.poll()
            poll.register(pipe, select.POLLIN)
            told = os.read(pipe, 64).count(b"reached") if poll.poll(seconds * 1000) else 0
            self._others += max(0, told - 1)
            return told > 0
        finally:
            os.close(pipe)

    def release(self, *, for_good: bool = True) -> None:
        """Lets all processes go on that are held: for good, or until one comes to the point again."""
        self._others = 0
        if for_good:
            self._reached.unlink()
        pipe = self._opened_go()
        if for_good:
            # Who comes late does not wait: it finds no pipe, or one that is open here.
            self._go.unlink()
        os.write(pipe, b"go")
        os.close(pipe)

    def _opened_go(self) -> int:
        deadline = monotonic() + _PATIENCE
        while True:
            try:
                return os.open(self._go, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO or monotonic() > deadline:
                    raise  # ENXIO: nobody waits there yet
                sleep(_POLL_SECONDS)
