"""Holds the drivers of an operator at fault points, one point at a time.

The operator is started with `faults`; a point does nothing until a test arms it.
"""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from lithify.faults import POINTS
from support.operators.server import PATIENCE

_POLL_SECONDS = 0.02


class Holds:
    """The fault points of one operator's drivers; their pipes are in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder

    @property
    def faults(self) -> str:
        """What LITHIFY_FAULTS has to be for the operator."""
        return ";".join(f"{point}=hold:{self.folder / point}" for point in POINTS)

    @contextmanager
    def armed(self, point: str) -> Iterator[Hold]:
        """Holds drivers at a point; inside, `reached` and `release` step them on. Who is held at the end
        stays held: release it, or end it."""
        hold = Hold(self.folder / point)
        hold.arm()
        try:
            yield hold
        finally:
            hold.disarm()


class Hold:
    """One armed point."""

    def __init__(self, path: Path) -> None:
        self._reached = path.with_name(f"{path.name}.reached")
        self._go = path.with_name(f"{path.name}.go")

    def arm(self) -> None:
        """From now on processes are held here."""
        for pipe in (self._go, self._reached):
            os.mkfifo(pipe)
            pipe.chmod(0o666)  # a driver may be another user

    def disarm(self) -> None:
        """From now on processes pass."""
        self._reached.unlink(missing_ok=True)
        self._go.unlink(missing_ok=True)

    def reached(self, seconds: float = PATIENCE) -> None:
        """Returns when a process is at the point.

        Raises:
            AssertionError: none has come in time.
        """
        deadline = monotonic() + seconds
        while not self._is_reached(max(0.0, deadline - monotonic())):
            assert monotonic() < deadline, f"no process has reached {self._reached.stem} in {seconds:g} s"
            sleep(_POLL_SECONDS)

    def _is_reached(self, seconds: float) -> bool:
        """Whether a process comes; not if one is killed just as it wants to say so."""
        pipe = os.open(self._reached, os.O_RDONLY | os.O_NONBLOCK)
        try:
            poll = select.poll()
            poll.register(pipe, select.POLLIN)
            return bool(poll.poll(seconds * 1000)) and os.read(pipe, 64).startswith(b"reached")
        finally:
            os.close(pipe)

    def release(self, *, for_good: bool = True) -> None:
        """Lets the process that is held go on; for good, or until one comes to the point again."""
        if for_good:
            self._reached.unlink()
        deadline = monotonic() + PATIENCE
        while True:
            try:
                pipe = os.open(self._go, os.O_WRONLY | os.O_NONBLOCK)
                break
            except OSError as error:
                if error.errno != errno.ENXIO or monotonic() > deadline:
                    raise  # ENXIO: nobody waits there yet
                sleep(_POLL_SECONDS)
        os.write(pipe, b"go")
        os.close(pipe)
